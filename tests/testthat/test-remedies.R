# What an error offers works when it is typed.
# Proves: Errors with remedies

test_that("missing values are filled by the means that are offered", {
  local_no_python()
  flags <- data.frame(y = 1:3 + 0.5, f = factor(c("a", NA, "b")))
  expect_error(input_fn(y ~ f, flags), "impute = list(`f` = \"a\")", fixed = TRUE)
  filled <- input_fn(y ~ f, flags, impute = list(f = "unknown"))
  expect_identical(filled$columns$f$levels, c("a", "b", "unknown"))
  expect_identical(
    fill_missing(flags$f, "unknown"),
    factor(c("a", "unknown", "b"), c("a", "b", "unknown"))
  )
  expect_error(input_fn(Temp ~ Ozone, airquality), "impute = \"median\"", fixed = TRUE)
  ozone <- airquality$Ozone
  fill <- function(impute) input_fn(Temp ~ Ozone, airquality, impute = impute)
  median <- stats::median(ozone, na.rm = TRUE)
  expect_equal(fill("median")$impute$Ozone, median)
  mean <- mean(ozone, na.rm = TRUE)
  for (impute in list("mean", base::mean, list(Ozone = "mean"), list(Ozone = base::mean), mean)) {
    input <- fill(impute)
    expect_identical(input$impute, list(Ozone = mean))
    # A mean of whole numbers is no whole number.
    expect_identical(input$columns$Ozone$type, "float")
  }
  expect_identical(fill(0)$columns$Ozone$type, "integer")
})

test_that("missing values of several kinds are filled by the one list that is offered", {
  local_no_python()
  data <- data.frame(
    y = 1:4 + 0.5,
    total = c(1, NA, 3, 4),
    payment = c("card", NA, "cash", "cash"),
    level = factor(c("a", NA, "b", "b")),
    day = as.Date("2020-01-01") + c(1, NA, 2, 3),
    known = c(TRUE, NA, FALSE, TRUE)
  )
  for (impute in list(NULL, "median", mean, 0, list(payment = "none"), c(total = 0))) {
    for (factors in c("labels", "codes")) {
      error <- expect_error(
        input_fn(y ~ ., data, impute = impute, factors = factors),
        class = "tfdistribute_input_error"
      )
      offered <- eval(str2lang(sub(".*impute = (list\\(.*\\))[.]$", "\\1", error$remedy)))
      filled <- input_fn(y ~ ., data, impute = offered, factors = factors)
      expect_setequal(names(filled$impute), setdiff(names(data), "y"))
      expect_true(all(names(impute) %in% names(offered)))
    }
  }
  expect_snapshot(error = TRUE, {
    input_fn(y ~ total + payment, data)
    input_fn(y ~ total + payment, data, impute = "mean")
    input_fn(y ~ total + payment, data, impute = list(payment = "none"))
  })
})

test_that("a function fills the columns that it fits, and only where something is missing", {
  local_no_python()
  data <- data.frame(
    x = c(1, NA, 4),
    whole = 1:3,
    day = as.Date("2020-01-01") + c(0, NA, 2),
    word = c("a", "b", "c")
  )
  input <- input_fn(data, features = everything(), impute = "mean")
  expect_identical(input$impute, list(x = 2.5, day = as.Date("2020-01-02")))
  expect_identical(input$columns$whole$type, "integer")
  data$word[[2]] <- NA
  expect_error(input_fn(data, everything(), impute = "mean"), class = "tfdistribute_input_error")
  # In a column of text "mean" is text.
  expect_identical(input_fn(data["word"], word, impute = list(word = "mean"))$impute$word, "mean")
  expect_snapshot(error = TRUE, {
    input_fn(data["word"], word, impute = median)
    input_fn(data["x"], x, impute = range)
    input_fn(data["x"], x, impute = list(x = function(values) NA))
    input_fn(data["x"], x, impute = list(x = identity))
    input_fn(data["x"], x, impute = "mode")
  })
})

test_that("the replaced values are those that Python gets", {
  skip_if_no_tensorflow("promise")
  model <- linear_regressor(feature_columns(column_numeric("Ozone")))
  input <- input_fn(Temp ~ Ozone, airquality, impute = "mean")
  complete <- airquality
  complete$Ozone[is.na(complete$Ozone)] <- mean(complete$Ozone, na.rm = TRUE)
  train(model, input, steps = 1)
  expect_identical(
    predict(model, input)$predictions,
    predict(model, input_fn(Temp ~ Ozone, complete))$predictions
  )
})

test_that("a setting by position of a column is asked for by its name", {
  local_no_python()
  expect_snapshot(error = TRUE, {
    column_categorical_with_hash_bucket("city", 1000)
    column_categorical_with_identity("x", 10)
    column_categorical_with_identity("x", -10)
    column_categorical_with_hash_bucket("city")
  })
  typed <- column_categorical_with_hash_bucket("city", hash_bucket_size = 1000)
  expect_identical(typed$hash_bucket_size, 1000L)
})

test_that("a feature's name is no category, and the columns that are offered are", {
  local_no_python()
  error <- expect_error(column_indicator("am"), class = "tfdistribute_argument_error")
  offered <- unlist(regmatches(error$remedy, gregexpr("column_[a-z_]+[(][^)]*[)]", error$remedy)))
  expect_length(offered, 2)
  for (code in offered) {
    column <- column_indicator(eval(str2lang(code)))
    expect_identical(column_name(column), "am_indicator")
  }
})

test_that("a formula in the wrong place is shown in the right one", {
  local_no_python()
  formula <- mpg ~ wt + hp
  expect_snapshot(error = TRUE, {
    input_fn(mtcars, mpg ~ wt + hp)
    input_fn(mtcars, formula)
  })
  expect_s3_class(input_fn(mpg ~ wt + hp, mtcars), "tfdistribute_input")
})

test_that("features that were not chosen are asked for by names that the data has", {
  local_no_python()
  x <- matrix(1:4, 2)
  expect_snapshot(error = TRUE, {
    input_fn(mtcars)
    input_fn(x)
    input_csv("a.csv", features = c(wt, hp))
    input_csv("a.csv", response = starts_with("m"))
  })
  expect_s3_class(input_fn(x, features = everything()), "tfdistribute_input")
  expect_s3_class(numpy_input_fn(list(x = x), 1:2), "tfdistribute_input")
  expect_identical(input_csv("a.csv", features = c("wt", "hp"))$features, c("wt", "hp"))
})

test_that("a field of a description is changed as its function would make it, or not at all", {
  local_no_python()
  model <- dnn_regressor(4, column_numeric("wt"))
  changed <- model
  changed$optimizer <- "adam"
  changed[["hidden_units"]] <- c(8, 4)
  changed$config <- run_config(strategy_mirrored(2))
  expected <- dnn_regressor(
    c(8, 4),
    column_numeric("wt"),
    optimizer = "adam",
    config = run_config(strategy_mirrored(2))
  )
  expected["model_dir"] <- model["model_dir"]
  expect_identical(changed, expected)
  changed$model_dir <- "kept"
  expect_identical(attr(changed, "temporary"), FALSE)
  config <- run_config()
  config$save_checkpoints_steps <- 10
  expect_identical(config, run_config(save_checkpoints_steps = 10))
  pair <- local_cluster(2)
  pair$ps <- 1
  expect_identical(pair, local_cluster(2, ps = 1))
  input <- input_fn(mpg ~ wt, mtcars)
  hook <- hook_early_stopping()
  strategy <- strategy_mirrored(2)
  expect_snapshot(error = TRUE, {
    model$optimizer <- "adamm"
    model$hidden_unit <- 4
    changed$config$steps_per_run <- 0
    config$cluster <- "a:1"
    pair$workers <- 0
    hook$patience_steps <- -1
    strategy$devices <- 0
    input$batch_size <- -1
  })
})

test_that("every estimator and strategy can be made again from its fields", {
  local_no_python()
  columns <- feature_columns(column_numeric("wt"))
  estimators <- list(
    linear_regressor(columns, warm_start_from = "other"),
    linear_classifier(columns, n_classes = 3, label_vocabulary = c("a", "b", "c")),
    dnn_classifier(4, columns, dropout = 0.1, activation_fn = "elu"),
    dnn_linear_combined_regressor(linear_feature_columns = columns),
    dnn_linear_combined_classifier(dnn_feature_columns = columns, dnn_hidden_units = 4),
    baseline_classifier(),
    baseline_regressor(model_dir = "kept"),
    estimator(function(features) NULL, params = list(a = 1), class = "mine"),
    estimator(function(features) NULL),
    keras_model_to_estimator(function() NULL)
  )
  for (model in estimators) {
    again <- model
    again$config <- run_config(seed = 7)
    model["config"] <- list(run_config(seed = 7))
    expect_identical(again, model)
  }
  strategies <- list(
    strategy_mirrored(c("CPU:0", "CPU:1")),
    strategy_one_device("CPU:0"),
    strategy_central_storage(),
    strategy_multi_worker(timeout_s = 5),
    strategy_tpu(steps_per_run = 10)
  )
  for (strategy in strategies) {
    again <- strategy
    for (field in setdiff(names(strategy), "kind")) {
      again[[field]] <- strategy[[field]]
    }
    expect_identical(again, strategy)
  }
})

test_that("a column of a file that is not asked for may have missing values", {
  skip_if_no_tensorflow("promise")
  path <- withr::local_tempfile(fileext = ".csv")
  utils::write.csv(airquality, path, row.names = FALSE)
  model <- linear_regressor(
    feature_columns(column_numeric("Wind")),
    model_dir = withr::local_tempdir()
  )
  error <- expect_error(train(model, input_csv(path, "Temp")), class = "tfdistribute_input_error")
  expect_match(error$remedy, "leave the column out of `features`")
  history <- train(model, input_csv(path, "Temp", features = "Wind"))
  expect_s3_class(history, "tfdistribute_history")
})
