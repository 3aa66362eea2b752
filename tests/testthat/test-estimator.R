gear <- function() column_categorical_with_identity("gear", num_buckets = 6)

estimators <- function(model_dir = "/runs/m") {
  list(
    linear_regressor(numbers(), model_dir = model_dir),
    linear_classifier(numbers(), model_dir = model_dir, n_classes = 3),
    dnn_regressor(c(8, 4), numbers(), model_dir = model_dir),
    dnn_classifier(8, numbers(), model_dir = model_dir),
    dnn_linear_combined_regressor(model_dir, linear_feature_columns = gear()),
    dnn_linear_combined_classifier(
      model_dir,
      dnn_feature_columns = numbers(),
      dnn_hidden_units = 4
    ),
    baseline_regressor(model_dir),
    baseline_classifier(model_dir)
  )
}

test_that("every estimator has its kind, its classes, its directory and its configuration", {
  for (model in estimators()) {
    expect_s3_class(
      model,
      c(paste0("tfdistribute_", model$kind, "_estimator"), "tfdistribute_estimator")
    )
    expect_identical(model_dir(model), "/runs/m")
    expect_true("config" %in% names(model))
  }
})

test_that("estimators have the arguments of tfestimators first, in their order", {
  first <- list(
    linear_regressor = c(
      "feature_columns",
      "model_dir",
      "label_dimension",
      "weight_column",
      "optimizer",
      "config",
      "partitioner"
    ),
    linear_classifier = c(
      "feature_columns",
      "model_dir",
      "n_classes",
      "weight_column",
      "label_vocabulary",
      "optimizer",
      "config",
      "partitioner"
    ),
    dnn_regressor = c(
      "hidden_units",
      "feature_columns",
      "model_dir",
      "label_dimension",
      "weight_column",
      "optimizer",
      "activation_fn",
      "dropout",
      "input_layer_partitioner",
      "config"
    ),
    dnn_classifier = c(
      "hidden_units",
      "feature_columns",
      "model_dir",
      "n_classes",
      "weight_column",
      "label_vocabulary",
      "optimizer",
      "activation_fn",
      "dropout",
      "input_layer_partitioner",
      "config"
    ),
    dnn_linear_combined_regressor = c(
      "model_dir",
      "linear_feature_columns",
      "linear_optimizer",
      "dnn_feature_columns",
      "dnn_optimizer",
      "dnn_hidden_units",
      "dnn_activation_fn",
      "dnn_dropout",
      "label_dimension",
      "weight_column",
      "input_layer_partitioner",
      "config"
    ),
    dnn_linear_combined_classifier = c(
      "model_dir",
      "linear_feature_columns",
      "linear_optimizer",
      "dnn_feature_columns",
      "dnn_optimizer",
      "dnn_hidden_units",
      "dnn_activation_fn",
      "dnn_dropout",
      "n_classes",
      "weight_column",
      "label_vocabulary",
      "input_layer_partitioner",
      "config"
    )
  )
  for (name in names(first)) {
    arguments <- names(formals(get(name)))
    expect_identical(utils::head(arguments, length(first[[name]])), first[[name]])
  }
})

test_that("a directory is chosen once, when the estimator is made", {
  model <- baseline_regressor()
  expect_match(model_dir(model), "tfdistribute-model-", fixed = TRUE)
  expect_identical(model_dir(model), model_dir(model))
  expect_false(model_dir(baseline_regressor()) == model_dir(model))
  expect_false(dir.exists(model_dir(model)))
})

test_that("the directory may stand in the configuration", {
  config <- run_config(model_dir = "/runs/c")
  expect_identical(model_dir(baseline_regressor(config = config)), "/runs/c")
  expect_identical(model_dir(baseline_regressor("/runs/c/", config = config)), "/runs/c/")
  expect_error(
    baseline_regressor("/runs/d", config = config),
    class = "tfdistribute_argument_error"
  )
})

test_that("the directory does not follow the working directory", {
  withr::local_dir(withr::local_tempdir())
  here <- getwd()
  model <- baseline_regressor("runs/m")
  from_config <- baseline_regressor(config = run_config(model_dir = "runs/c"))
  started <- linear_regressor(numbers(), warm_start_from = "runs/m")
  withr::local_dir(withr::local_tempdir())
  expect_identical(model_dir(model), file.path(here, "runs/m"))
  expect_identical(model_dir(from_config), file.path(here, "runs/c"))
  expect_identical(started$warm_start_from$ckpt_to_initialize_from, file.path(here, "runs/m"))
  expect_identical(model_dir(baseline_regressor("gs://bucket/m")), "gs://bucket/m")
})

test_that("estimators are plain values that can be saved", {
  file <- withr::local_tempfile()
  saveRDS(estimators(), file)
  expect_identical(readRDS(file), estimators())
})

test_that("a weight column may be a column of numbers", {
  expect_identical(baseline_regressor(weight_column = column_numeric("w"))$weight_column, "w")
})

test_that("the names of classes may be a factor", {
  model <- baseline_classifier(n_classes = 3, label_vocabulary = iris$Species)
  expect_identical(model$label_vocabulary, levels(iris$Species))
})

test_that("estimators print what they are", {
  # A long path breaks the line.
  hide <- function(lines) {
    text <- paste(lines, collapse = "\n")
    strsplit(gsub("(model_dir +)\\S+\\s+[(]temp", "\\1<path> (temp", text), "\n")[[1]]
  }
  expect_snapshot(transform = hide, {
    linear_regressor(numbers(), label_dimension = 2, weight_column = "w")
    dnn_classifier(
      c(64, 32),
      feature_columns(column_numeric("wt"), column_indicator(gear())),
      model_dir = "/runs/cars",
      n_classes = 3,
      label_vocabulary = c("a", "b", "c"),
      optimizer = list("adam", learning_rate = 0.01),
      activation_fn = function(x) x,
      dropout = 0.1,
      batch_norm = TRUE,
      config = run_config(strategy_mirrored(devices = 2))
    )
    dnn_linear_combined_regressor(linear_feature_columns = gear())
    baseline_regressor()
  })
})

test_that("what no data could make right is refused by name", {
  expect_snapshot(error = TRUE, {
    linear_regressor(NULL)
    linear_regressor("wt")
    dnn_regressor(c(8, 0), numbers())
    dnn_regressor(1.5, numbers())
    dnn_regressor(8, numbers(), activation_fn = "rulu")
    dnn_regressor(8, numbers(), optimizer = "adamm")
    dnn_regressor(8, numbers(), config = list())
    dnn_regressor(8, numbers(), input_layer_partitioner = function(shape) shape)
    linear_regressor(numbers(), loss_reduction = "mean")
    linear_regressor(numbers(), label_dimension = 0)
    linear_classifier(numbers(), n_classes = 1)
    linear_regressor(feature_columns(column_numeric("a b")), model_dir = "")
  })
})

test_that("boosted trees take tfestimators' arguments, of which one has no meaning", {
  withr::local_options(rlib_message_verbosity = "verbose")
  expect_snapshot({
    boosted_trees_regressor(numbers(), 1, "/m", n_trees = 50, max_depth = 3)
    boosted_trees_classifier(numbers(), 1, "/m", 3, class_weights = c(a = 1, b = 2, c = 0.5))
  })
  expect_null(boosted_trees_regressor()$feature_columns)
  expect_snapshot(error = TRUE, {
    boosted_trees_regressor(n_trees = 0)
    boosted_trees_classifier(class_weights = c(1, 2))
    train(boosted_trees_regressor(), mpg ~ ., data = mtcars, epochs = 5)
  })
})

test_that("Python reads every estimator and column that R describes", {
  skip_if_no_tensorflow("smoke")
  listed <- column_categorical_with_vocabulary_list("cyl", vocabulary_list = c(4, 6, 8))
  columns <- feature_columns(
    column_numeric("wt", normalizer_fn = function(x) x),
    column_bucketized(column_numeric("hp"), boundaries = 100),
    column_indicator(column_crossed(list("gear", "carb"), hash_bucket_size = 20)),
    column_embedding(listed, 2, initializer = list("truncated_normal", stddev = 0.1)),
    column_indicator(column_categorical_with_identity("am", num_buckets = 2)),
    column_indicator(column_categorical_weighted(
      column_categorical_with_identity("vs", num_buckets = 2),
      "qsec"
    ))
  )
  cars <- transform(
    mtcars,
    cyl = as.integer(cyl),
    gear = as.integer(gear),
    carb = as.integer(carb),
    am = as.integer(am),
    vs = as.integer(vs)
  )
  dnn_optimizer <- list(
    "adam",
    learning_rate = list("cosine_decay", initial_learning_rate = 0.1, decay_steps = 9)
  )
  model <- dnn_linear_combined_regressor(
    linear_feature_columns = feature_columns(column_numeric("gr\u00f6\u00dfe"), listed),
    dnn_feature_columns = columns,
    dnn_hidden_units = 4,
    dnn_optimizer = dnn_optimizer,
    dnn_activation_fn = "tanh",
    weight_column = "disp"
  )
  cars[["gr\u00f6\u00dfe"]] <- cars$drat
  train(model, input_fn(mpg ~ ., cars, batch_size = 16))
  expect_identical(evaluate(model, input_fn(mpg ~ ., cars))$global_step, 2)
  expect_true("linear/linear_model/gru00f6u00dfe/weights" %in% variable_names(model))
})

test_that("a classifier names its predictions as the factor it was trained on", {
  skip_if_no_tensorflow()
  model <- linear_classifier(column_numeric("Petal.Length"), n_classes = 3)
  train(model, input_fn(Species ~ Petal.Length, iris, batch_size = 50, epochs = 5))
  predicted <- predict(model, input_fn(~Petal.Length, iris[c(1, 150), ]))
  expect_true(all(predicted$classes %in% levels(iris$Species)))
  expect_error(
    train(
      linear_classifier(column_numeric("Petal.Length")),
      input_fn(Species ~ Petal.Length, iris)
    ),
    class = "tfdistribute_model_error"
  )
})

test_that("coef() names the weights of a linear model as lm() does", {
  columns <- feature_columns(
    column_numeric("wt"),
    column_numeric("xy", shape = 2),
    column_indicator(column_categorical_with_vocabulary_list("cut", vocabulary_list = c("a", "b"))),
    column_bucketized(column_numeric("age"), boundaries = c(18, 65)),
    column_categorical_with_identity("gear", num_buckets = 2)
  )
  values <- list(
    bias_weights = array(0.5, 1),
    `wt/weights` = matrix(1),
    `xy/weights` = matrix(2:3),
    `cut_indicator/weights` = matrix(4:5),
    `age_bucketized/weights` = matrix(6:8),
    `gear/weights` = matrix(9:10)
  )
  local_answers(
    model_facts = function(arguments) list(),
    variable_value = function(arguments) {
      # An error of Python is one of coef().
      expect_identical(arguments$verb, "coef")
      values[[sub("linear/linear_model/", "", arguments$name)]]
    }
  )
  expect_identical(
    coef(linear_regressor(columns)),
    c(
      `(Intercept)` = 0.5,
      wt = 1,
      xy1 = 2,
      xy2 = 3,
      cuta = 4,
      cutb = 5,
      `age[-Inf,18)` = 6,
      `age[18,65)` = 7,
      `age[65,Inf)` = 8,
      `gear[0]` = 9,
      `gear[1]` = 10
    )
  )
  expect_error(coef(dnn_regressor(4, columns[1])), class = "tfdistribute_unsupported_error")
  expect_error(fitted(linear_regressor(columns)), class = "tfdistribute_unsupported_error")
  expect_error(
    residuals(linear_regressor(columns)),
    "residuals(model, data)",
    fixed = TRUE,
    class = "tfdistribute_unsupported_error"
  )
})

test_that("generics of models that have no answer for an estimator say why", {
  model <- linear_regressor(feature_columns(column_numeric("x")))
  expect_snapshot(error = TRUE, {
    nobs(model)
    confint(model)
    vcov(model)
    update(model, hidden_units = 3)
  })
})

test_that("coef() finds the weights of columns whose names differ only in case", {
  # TensorFlow creates variables in the order of names, and numbers a name that it has already.
  values <- list(bias_weights = 0.5, `X/weights` = 2, `x/weights_1` = 3, `Xx/weights` = 4)
  local_answers(
    model_facts = function(arguments) list(),
    variable_value = function(arguments) {
      array(values[[sub("linear/linear_model/", "", arguments$name)]], 1)
    }
  )
  model <- linear_regressor(feature_columns(column_numeric("x", "Xx", "X")))
  expect_identical(coef(model), c(`(Intercept)` = 0.5, x = 3, Xx = 4, X = 2))
})

test_that("coef() equals predictions for columns whose names differ only in case", {
  skip_if_no_tensorflow()
  data <- data.frame(x = c(1, 0, 0, 2), X = c(0, 1, 0, 3), y = 1:4)
  model <- linear_regressor(feature_columns(y ~ x + X, data))
  train(model, y ~ x + X, data = data, epochs = 3)
  fitted <- as.vector(cbind(1, data$x, data$X) %*% coef(model)[c("(Intercept)", "x", "X")])
  expect_equal(fitted, predict(model, newdata = data)$predictions, tolerance = 1e-5)
})

test_that("summary() of a classifier names the positive class", {
  skip_if_no_tensorflow()
  data <- data.frame(x = 1:4, c = c(FALSE, FALSE, TRUE, TRUE))
  for (levels in list(NULL, c("yes", "no"))) {
    if (!is.null(levels)) {
      data$c <- factor(ifelse(data$c, "yes", "no"), levels)
    }
    classes <- levels %||% c("FALSE", "TRUE")
    model <- linear_classifier(feature_columns(column_numeric("x")))
    train(model, c ~ x, data = data)
    line <- sprintf("  response: c: %s (positive: %s)", toString(classes), classes[[2]])
    expect_true(line %in% format(summary(model)))
    expect_true(all(predict(model, newdata = data)$classes %in% classes))
  }
})

test_that("predictions and metrics have distinct names", {
  tensor <- structure(list(), class = "python.builtin.object")
  for (argument in c("predictions", "eval_metric_ops")) {
    twice <- rlang::set_names(list(list(p = tensor, q = tensor, p = tensor)), argument)
    expect_error(
      rlang::inject(estimator_spec("eval", !!!twice)),
      sprintf("`%s` names \"p\" twice", argument),
      class = "tfdistribute_model_error"
    )
  }
})

test_that("summary() of a model tells its columns, parameters, step and last evaluation", {
  facts <- list(
    weights = list(
      list(name = "dnn/hiddenlayer_0/bias", shape = list(16)),
      list(name = "dnn/hiddenlayer_0/kernel", shape = list(2, 16))
    ),
    global_step = 200,
    evaluation = list(average_loss = 0.25, loss = 0.25, global_step = 200)
  )
  local_answers(model_facts = function(arguments) facts)
  model <- dnn_regressor(16, feature_columns(column_numeric("wt", "hp")), model_dir = "runs/cars")
  from_here <- function(lines) sub(getwd(), "<here>", lines, fixed = TRUE)
  expect_snapshot(summary(model), transform = from_here)
  expect_identical(sum(summary(model)$weights$parameters), 48)
  facts <- list(weights = list(), global_step = 0, evaluation = list())
  expect_snapshot(summary(model), transform = from_here)
})

test_that("what has hundreds of columns still fits a screen", {
  columns <- feature_columns(column_numeric(paste0("x", 1:300)))
  data <- as.data.frame(matrix(0, 2, 300, dimnames = list(NULL, paste0("x", 1:300))))
  lines <- function(x) capture.output(print(x))
  expect_length(lines(columns), 22)
  expect_true("  ... and 280 more" %in% lines(columns))
  expect_lt(length(lines(linear_regressor(columns))), 10)
  expect_lt(length(lines(input_fn(~., data))), 15)
})

test_that("str() of an estimator has one line for each field", {
  model <- dnn_regressor(hidden_units = 8, feature_columns(column_numeric("wt", "hp")))
  expect_length(capture.output(str(model)), 1 + length(unclass(model)))
  expect_gt(length(capture.output(str(model, max.level = 3))), 20)
})

test_that("a configuration of Python names the function to write in its place", {
  config <- structure(new.env(), class = c("some.RunConfig", "python.builtin.object"))
  expect_snapshot(error = TRUE, linear_regressor(column_numeric("x"), config = config))
})
