source(test_path("tfestimators-exports.R"), local = TRUE)

# This package's function for one of tfestimators', NULL where there is none; a method stands as "S3:generic.class".
own_function <- function(name) {
  if (startsWith(name, "S3:")) {
    own <- sub("tf_estimator", "tfdistribute_estimator", sub("^S3:", "", name))
    own <- sub("tfdistribute_estimator_history", "tfdistribute_history", own)
    return(get0(own, envir = asNamespace("tfdistribute"), inherits = FALSE))
  }
  exported <- name %in% getNamespaceExports("tfdistribute")
  if (exported) getExportedValue("tfdistribute", name)
}

# Positions before `...` are the same, and what is new comes after them.
has_arguments <- function(own, wanted) {
  have <- as.character(names(formals(args(own))))
  named <- setdiff(wanted, "...")
  renamed <- named %in% names(accepted_names)
  named[renamed] <- accepted_names[named[renamed]]
  named <- unique(named)
  identical(utils::head(setdiff(have, "..."), length(named)), named) &&
    ("..." %in% have || !"..." %in% wanted)
}

test_that("every function of tfestimators exists here with its arguments", {
  for (name in names(tfestimators_exports)) {
    own <- own_function(name)
    expect(!is.null(own), paste0(name, "() is not here."))
    if (is.function(own) && name != "tf") {
      expect(
        has_arguments(own, tfestimators_exports[[name]]),
        paste0(name, "() has other arguments than in tfestimators.")
      )
    }
  }
})

test_that("a script of tfestimators runs as it is", {
  skip_if_no_tensorflow("smoke")
  cols <- feature_columns(column_numeric("disp", "cyl"))
  model <- linear_regressor(feature_columns = cols, model_dir = withr::local_tempdir())
  cars <- function(data, num_epochs = 1) {
    input_fn(
      data,
      features = c("disp", "cyl"),
      response = "mpg",
      batch_size = 32,
      num_epochs = num_epochs
    )
  }
  model %>% train(cars(mtcars[1:25, ], num_epochs = 4))
  metrics <- model %>% evaluate(cars(mtcars[26:32, ]))
  predicted <- model %>% predict(cars(mtcars[26:32, ]))
  expect_identical(nrow(predicted), 7L)
  loss <- mean((predicted$predictions - mtcars$mpg[26:32])^2)
  expect_equal(metrics$loss, loss, tolerance = 1e-5)
})

test_that("boosted trees of tfestimators' own scripts run as they are", {
  skip_if_no_tensorflow()
  skip_if_not(reticulate::py_module_available("ydf"))
  cuts <- quantile(mtcars$drat, seq(0.2, 0.8, 0.2))
  columns <- feature_columns(column_bucketized(column_numeric("drat"), cuts))
  cars <- function(response, ...) {
    input_fn(mtcars, response = response, features = c("drat", "cyl"), ...)
  }
  model <- boosted_trees_regressor(feature_columns = columns, n_batches_per_layer = 1)
  model %>% train(input_fn = cars("mpg", batch_size = 1L))
  predicted <- predict(model, input_fn = cars("mpg", batch_size = 1L), simplify = FALSE)
  expect_length(predicted, 32)
  # The trees find that the number matters, and read it whole.
  expect_gt(cor(unlist(predicted), mtcars$mpg), cor(mtcars$drat, mtcars$mpg))
  model <- boosted_trees_classifier(feature_columns = columns, n_batches_per_layer = 1)
  model %>% train(input_fn = cars("vs"))
  predicted <- predict(model, input_fn = cars("vs"), simplify = FALSE)
  expect_length(predicted, 32)
  found <- vapply(predicted, function(row) as.integer(row$class_ids), 0L)
  expect_gt(mean(found == mtcars$vs), 0.7)
})

test_that("the example in the way of tfestimators runs, and learns", {
  skip_if_no_tensorflow()
  script <- system.file("examples", "tfestimators.R", package = "tfdistribute")
  results <- new.env(parent = globalenv())
  printed <- capture.output(suppressMessages(source(script, local = results)))
  expect_match(printed, "accuracy", all = FALSE)
  actual <- as.integer(results$quakes$strength[-results$training]) - 1L
  expect_gt(mean(results$predicted$class == actual), 0.7)
  expect_identical(results$history$step, results$history$losses$step)
})

test_that("columns and inputs may be named by functions, and a variable after the function that made it", {
  skip_if_no_tensorflow()
  response <- function() "Species"
  features <- function() setdiff(names(iris), response())
  flowers_input_fn <- function(data) {
    input_fn(data, features = features(), response = response())
  }
  feature_columns <- feature_columns(column_numeric(features()))
  classifier <- dnn_classifier(
    feature_columns = feature_columns,
    hidden_units = c(10, 20, 10),
    n_classes = 3
  )
  test <- seq(1, 150, by = 3)
  train(classifier, input_fn = flowers_input_fn(iris[-test, ]))
  predictions <- predict(classifier, input_fn = flowers_input_fn(iris[test, ]))
  evaluation <- evaluate(classifier, input_fn = flowers_input_fn(iris[test, ]))
  actual <- as.character(iris$Species[test])
  expect_equal(evaluation$accuracy, mean(unlist(predictions$classes) == actual))
})

test_that("layers of TensorFlow 1 take the features of a model function as one matrix", {
  skip_if_no_tensorflow()
  line <- function(features, labels, mode) {
    predicted <- tf$compat$v1$layers$dense(features, 1L)[, 1]
    # And by name, as a list.
    sums <- Reduce(`+`, lapply(features, tf$reduce_sum))
    loss <- if (mode != "infer") tf$reduce_mean((labels - predicted)^2)
    list(
      predictions = list(mpg = predicted),
      loss = loss,
      optimizer = "sgd",
      eval_metric_ops = list(
        sums = tf$compat$v1$metrics$mean(sums),
        names = tf$compat$v1$metrics$mean(length(names(features)))
      )
    )
  }
  model <- estimator(line, model_dir = withr::local_tempdir())
  cars <- input_fn(mtcars, features = c("disp", "cyl"), response = "mpg")
  train(model, cars, steps = 1)
  metrics <- evaluate(model, cars)
  expect_equal(metrics$sums, sum(mtcars$disp, mtcars$cyl), tolerance = 1e-6)
  expect_identical(metrics$names, 2)
})

test_that("a wide and deep model crosses a bucketized column with features named by strings", {
  skip_if_no_tensorflow()
  people <- data.frame(
    age = c(20, 40, 60, 30),
    education = c("school", "college", "school", "college"),
    occupation = c("farmer", "clerk", "clerk", "farmer"),
    income = factor(c("low", "high", "high", "low"), c("low", "high"))
  )
  age <- column_numeric("age")
  age_buckets <- column_bucketized(age, boundaries = c(25, 50))
  education <- column_categorical_with_vocabulary_list("education", unique(people$education))
  model <- dnn_linear_combined_classifier(
    model_dir = withr::local_tempdir(),
    linear_feature_columns = feature_columns(
      age_buckets,
      column_crossed(c(age_buckets, "education", "occupation"), 100),
    ),
    dnn_feature_columns = c(age, column_indicator(education)),
    dnn_hidden_units = c(4L, 2L)
  )
  input <- input_fn(people, -income, response = income)
  expect_identical(train(model, input, steps = 1)$step, 1L)
  expect_identical(nrow(predict(model, input)), 4L)
})

test_that("arrays of NumPy, and nested lists, are columns", {
  skip_if_no_tensorflow()
  np <- reticulate::import("numpy", convert = FALSE)
  sequences <- list(
    sequence = list(list(list(1), list(2), list(3)), list(list(4), list(5), list(6))),
    response = list(list(1, 2, 3), list(4, 5, 6))
  )
  nested <- input_fn(sequences, features = c(sequence), response = response)
  expect_identical(nested$columns$sequence$shape, c(3L, 1L))
  expect_identical(nested$columns$response$shape, 3L)
  values <- column_reader(nested$data, nested$columns$sequence)()
  expect_identical(as.vector(aperm(values)), c(1, 2, 3, 4, 5, 6))
  pixels <- matrix(c(1, 2, 3, 4, 5, 6, 7, 8), 4)
  from_r <- numpy_input_fn(pixels, 1:4)
  expect_identical(names(from_r$columns), c("x", "y"))
  expect_identical(
    numpy_input_fn(np$array(pixels), np$array(1:4, dtype = "int32"))$data,
    lapply(from_r$data, as.array)
  )
  half <- input_fn(list(a = np$ones(c(2L, 3L), "float16"), b = 1:2), a, response = b)
  expect_identical(half$columns$a$type, "float")
  expect_identical(column_numeric("x", shape = tf$TensorShape(784L))$shape, 784L)
})

test_that("session_run_args() fetches lists of tensors", {
  skip_if_no_tensorflow()
  seen <- NULL
  hook <- session_run_hook(
    before_run = function(context) {
      session_run_args(
        losses = context$session$graph$get_collection("losses"),
        step = "global_step"
      )
    },
    after_run = function(context, values) seen <<- values$results
  )
  history <- train(wt_regressor(), cars_input(), steps = 1, hooks = hook)
  expect_named(seen, c("losses", "step"))
  expect_equal(utils::tail(unlist(seen$losses), 1), history$losses$loss[[1]], tolerance = 1e-6)
})

test_that("estimators, histories and variables have the shapes of tfestimators", {
  skip_if_no_tensorflow()
  model <- wt_regressor()
  expect_s3_class(model, "tf_estimator")
  history <- train(model, cars_input(), steps = 2)
  expect_s3_class(history, "tf_estimator_history")
  expect_identical(history$step, history$losses$step)
  expect_identical(history$losses$mean_losses, history$losses$loss)
  expect_identical(history$losses$total_losses, history$losses$loss)
  expect_identical(history$params, list(metrics = c("mean_losses", "total_losses"), steps = 2L))
  expect_named(as.data.frame(history), c("step", "metric", "value", "data"))
  expect_identical(lapply(variable_value(model, "global_step"), as.integer), list(global_step = 2L))
  expect_s3_class(model$estimator, "tensorflow_estimator.python.estimator.estimator.Estimator")
  expect_identical(unlist(model$estimator$get_variable_names()), variable_names(model))
})

test_that("names of TensorFlow 1 are refused with what replaces them", {
  skip_if_no_tensorflow()
  expect_snapshot(
    error = TRUE,
    transform = function(lines) sub("TensorFlow 2[.]\\d+[.]\\d+", "TensorFlow 2", lines),
    {
      tf$layers$dense
      tf$losses$sparse_softmax_cross_entropy
      tf$train$AdamOptimizer
      tf$contrib$layers
      tf$reduce_maen
    }
  )
  expect_true(inherits(tf$train, "python.builtin.module"))
  expect_identical(tf$float32$name, "float32")
})

test_that("with tfestimators attached last, its generics reach estimators of this package", {
  local_stand_in(
    "tfestimators",
    c(
      "model_dir <- function(object, ...) UseMethod(\"model_dir\")",
      "latest_checkpoint <- function(checkpoint_dir, ...) UseMethod(\"latest_checkpoint\")",
      "model_dir.tf_estimator <- function(object, ...) \"theirs\""
    )
  )
  theirs <- asNamespace("tfestimators")
  model <- linear_regressor(feature_columns(column_numeric("wt")), model_dir = "runs/own")
  expect_identical(theirs$model_dir(model), model_dir(model))
  method <- utils::getS3method("latest_checkpoint", "tfdistribute_estimator", envir = theirs)
  expect_true(is.function(method))
})
