# Replacements of missing values, which come from the training.

rows <- function() {
  data <- data.frame(
    x = c(1:9, NA) + 0.5,
    count = c(1L, NA, 3:10),
    day = as.Date("2024-01-01") + c(0:8, NA),
    y = 2 * (1:10)
  )
  data$time <- as.POSIXct("2024-01-01", tz = "UTC") + c(NA, 2:10)
  data
}

model_of_rows <- function(...) {
  linear_regressor(
    feature_columns(y ~ ., rows(), standardize = TRUE),
    optimizer = list("sgd", learning_rate = 0.1),
    ...
  )
}

# The first row of later data lacks all features, and the second makes other medians.
later <- function() {
  data <- rows()[c(1, 9), ]
  data[1, c("x", "count", "day", "time")] <- NA
  data
}

medians <- function() {
  features <- rows()[c("x", "count", "day", "time")]
  as.data.frame(lapply(features, stats::median, na.rm = TRUE))
}

test_that("replacements are those of rows that are repeated by their weights", {
  local_no_python()
  data <- transform(rows(), id = c(NA, 1:9), w = c(2, 1, 3, 1, 0, 0, 0, 1, 1, 2))
  data$id <- bit64::as.integer64(data$id)
  # Rows of weight 0 do not count.
  data[5:7, c("x", "count", "id")] <- 1000
  repeated <- data[rep(seq_len(10), data$w), ]
  for (impute in list("mean", "median", mean, stats::median)) {
    for (by_model in c(TRUE, FALSE)) {
      input <- if (by_model) {
        input_fn(y ~ ., data, impute = impute)
      } else {
        input_fn(y ~ . - w, data, impute = impute, weights = w)
      }
      model <- linear_regressor(column_numeric("x"), weight_column = if (by_model) "w")
      fitted <- fit_replacements(source_of(input), list(), row_weights(input, model))
      expected <- fit_replacements(input_fn(y ~ . - w, repeated, impute = impute), list(), NULL)
      expect_equal(fitted$replacements[names(expected$replacements)], expected$replacements)
    }
  }
  # A function gets the values of the rows that count.
  input <- input_fn(y ~ . - w, data, impute = function(x) max(x), weights = w)
  fitted <- fit_replacements(source_of(input), list(), row_weights(input, model))
  expect_equal(fitted$replacements$x, 9.5)
})

test_that("later data gets the medians of the training, in any company", {
  skip_if_no_tensorflow()
  model <- model_of_rows()
  train(model, y ~ ., data = rows(), impute = "median", epochs = 20, batch_size = 10)
  expected <- predict(model, newdata = medians())$predictions
  input <- input_fn(~ x + count + day + time, later(), impute = "median")
  expect_equal(predict(model, input)$predictions[[1]], expected)
  expect_equal(predict(model, newdata = later()[1, ], impute = "mean")$predictions, expected)
  expect_equal(predict(model, newdata = later())$predictions[[1]], expected)
  loss <- (expected - later()$y[[1]])^2
  expect_equal(evaluate(model, later()[1, ], impute = "median")$loss, loss, tolerance = 1e-5)
  # A value has precedence.
  own <- list(x = 2, count = 3L, day = as.Date("2024-01-02"), time = rows()$time[[2]])
  expect_equal(
    predict(model, newdata = later()[1, ], impute = own)$predictions,
    predict(model, newdata = as.data.frame(own))$predictions
  )
  # A training that continues keeps them.
  train(model, y ~ ., data = transform(rows(), x = x + 100), impute = "median", epochs = 2)
  expect_equal(
    predict(model, newdata = later()[1, ], impute = "median")$predictions,
    predict(model, newdata = medians())$predictions
  )
  path <- withr::local_tempfile()
  save_estimator(model, path)
  expect_equal(
    predict(load_estimator(path), newdata = later())$predictions[[1]],
    predict(model, newdata = medians())$predictions
  )
})

test_that("evaluations of a training get its replacements, and so do exported models", {
  skip_if_no_tensorflow()
  model <- linear_regressor(feature_columns(column_numeric("x")))
  alone <- data.frame(x = NA_real_, y = 1)
  history <- train_and_evaluate(
    model,
    train_spec(input_fn(y ~ x, rows(), impute = "median"), max_steps = 2),
    eval_spec(input_fn(y ~ x, alone, impute = "mean"))
  )
  measured <- as.data.frame(history)
  loss <- measured$value[measured$metric == "average_loss" & measured$data == "evaluation"]
  complete <- data.frame(x = medians()$x, y = 1)
  expect_equal(utils::tail(loss, 1), evaluate(model, complete)$average_loss, tolerance = 1e-6)
  path <- export_savedmodel(model, withr::local_tempfile(), input = input_fn(~x, complete))
  served <- tf$saved_model$load(path)$signatures[["predict"]](
    x = tf$constant(array(NaN), "float32")
  )
  expect_equal(
    as.numeric(served$predictions$numpy()),
    predict(model, newdata = complete)$predictions
  )
})

test_that("a job's tasks get the replacements", {
  skip_if_no_tensorflow("check-all")
  config <- run_config(strategy_multi_worker(), cluster = local_cluster(workers = 2))
  alone <- linear_regressor(feature_columns(column_numeric("x")))
  model <- linear_regressor(feature_columns(column_numeric("x")), config = config)
  for (each in list(alone, model)) {
    train(each, y ~ x, data = rows(), impute = "median", batch_size = 10)
  }
  expect_equal(coef(model), coef(alone), tolerance = 1e-5)
  expect_identical(
    trained_state(model)$replacements,
    list(x = medians()$x)
  )
})

test_that("values that nothing computes are an error, and new replacements a message", {
  local_no_python()
  input <- input_fn(y ~ x, data.frame(x = NA_real_, y = 1), impute = "median")
  expect_snapshot(error = TRUE, as_wire(input))
  fitted <- fit_replacements(input_fn(y ~ ., rows(), impute = "median"), list(x = 3))
  expect_identical(fitted$impute$x, 3)
  # A column without missing values also has a replacement, for later data.
  complete <- fit_replacements(input_fn(y ~ x, rows()[1:9, ], impute = "median"), list())
  expect_identical(complete$replacements, list(x = 5.5))
  expect_snapshot(note_replacements(fitted, c("count", "day")))
})

test_that("the level NA is a label, unless it is replaced", {
  skip_if_no_tensorflow()
  data <- data.frame(f = addNA(factor(c("a", "b", NA, "a"))), y = c(1, 2, 3, 1))
  model <- linear_regressor(
    feature_columns(y ~ f, data),
    optimizer = list("sgd", learning_rate = 0.5)
  )
  train(model, y ~ f, data = data, epochs = 200, batch_size = 4)
  expect_equal(predict(model, newdata = data)$predictions, data$y, tolerance = 1e-3)
  replaced <- predict(model, newdata = data, impute = list(f = "b"))$predictions
  expect_equal(replaced, c(1, 2, 2, 1), tolerance = 1e-3)
})
