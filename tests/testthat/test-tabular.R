tabular_cars <- function() {
  cars <- mtcars
  cars$cyl <- factor(cars$cyl)
  cars$am <- cars$am == 1
  cars$gear <- as.integer(cars$gear)
  cars$when <- as.Date("2020-01-01") + seq_len(nrow(cars)) * 20
  cars$hp[c(1, 5)] <- NA
  cars$gear[[2]] <- NA
  cars$cyl[[3]] <- NA
  cars$am[[4]] <- NA
  cars
}

small_tabular <- function(..., frame = parent.frame()) {
  tabular_regressor(
    hidden_units = c(16, 16),
    model_dir = withr::local_tempdir(.local_envir = frame),
    ...
  )
}

test_that("a formula and a data frame with missing values are enough", {
  skip_if_no_tensorflow("smoke")
  cars <- tabular_cars()
  model <- small_tabular()
  history <- train(model, mpg ~ ., data = cars)
  expect_match(history$notes, "on [0-9]+ validation rows is", all = FALSE)
  predicted <- predict(model, cars)$predictions
  expect_gt(cor(predicted, cars$mpg), 0.8)
  # A row is predicted alike in any company, and needs no response.
  alone <- predict(model, cars[3, names(cars) != "mpg"])$predictions
  expect_equal(alone, predicted[[3]], tolerance = 1e-5)
  expect_equal(evaluate(model, cars)$average_loss, mean((predicted - cars$mpg)^2), tolerance = 1e-4)
})

test_that("a factor needs no number of classes", {
  skip_if_no_tensorflow()
  model <- tabular_classifier(
    hidden_units = c(16, 16),
    epochs = 30,
    model_dir = withr::local_tempdir()
  )
  train(model, Species ~ ., data = iris)
  expect_gt(evaluate(model, iris)$accuracy, 0.8)
  expect_true(all(predict(model, iris)$classes %in% levels(iris$Species)))
})

test_that("the processes of a cluster train to the end that their chief chooses", {
  skip_if_no_tensorflow("check-all")
  config <- run_config(strategy_multi_worker(), cluster = local_cluster(workers = 2))
  alone <- small_tabular(dropout = 0, batch_size = 16, epochs = 4)
  together <- small_tabular(dropout = 0, batch_size = 16, epochs = 4, config = config)
  cars <- tabular_cars()
  train(alone, mpg ~ ., data = cars)
  train(together, mpg ~ ., data = cars)
  predicted <- lapply(list(alone, together), function(model) predict(model, cars)$predictions)
  expect_equal(predicted[[2]], predicted[[1]], tolerance = 1e-4)
  if (checks_all()) {
    counts <- lapply(list(run_config(), config), function(config) {
      model <- small_tabular(
        loss = "poisson",
        dropout = 0,
        batch_size = 16,
        epochs = 8,
        learning_rate = 0.02,
        config = config
      )
      train(model, carb ~ wt + hp, data = mtcars)
      predict(model, mtcars)$predictions
    })
    expect_equal(counts[[2]], counts[[1]], tolerance = 1e-4)
  }
  chosen <- small_tabular(batch_size = 16, config = config)
  # This session trains nothing.
  job <- train(chosen, mpg ~ ., data = cars, wait = FALSE)
  expect_length(list.files(chosen$model_dir, "ckpt"), 0)
  expect_message(job_wait(job), "on [0-9]+ validation rows is")
  found <- summary(chosen)
  expect_identical(found$global_step, as.integer(found$length$end))
  expect_equal(sum(unlist(found$length$weights)), 1)
  expect_match(format(found), "trained: [0-9,]+ steps of 16 rows in ", all = FALSE)
  expect_equal(found$limits, range(mtcars$mpg), tolerance = 1e-6)
  expect_match(format(found), "predictions: 10.4 to 33.9, the responses", all = FALSE)
})

test_that("missing values become NaN, or a label of their own", {
  columns <- lapply(tabular_cars(), with_missing)
  expect_identical(columns$gear[2:3], c(NA, 4))
  expect_identical(levels(columns$am), c("FALSE", "TRUE", NA))
  expect_identical(with_missing(c("a", NA, "NA")), c("a", "", "NA"))
  expect_s3_class(columns$when, "Date")
  input <- input_fn(mpg ~ ., tabular_cars(), impute = keep_missing)
  expect_identical(input$columns$cyl$levels, c("4", "6", "8", ""))
  expect_identical(input$columns$gear$type, "float")
  cars <- mtcars
  cars$mpg[[1]] <- NA
  expect_error(
    input_fn(mpg ~ ., cars, impute = keep_missing),
    "also in the response",
    class = "tfdistribute_input_error"
  )
})

test_that("values of every class are read with their missing values, or rejected with a remedy that works", {
  day <- as.Date("2024-02-03")
  time <- as.POSIXct("2024-02-03 04:05:06", tz = "UTC")
  big <- bit64::as.integer64(c("4503599627370496", NA))
  as_integers <- function(x) structure(as.integer(unclass(x)), class = class(x))
  # data.table stores the days of IDate and the seconds of ITime as integers, as databases do.
  cases <- list(
    list(c(day, NA), "date", c(19756, NA)),
    list(as_integers(c(day, NA)), "date", c(19756, NA)),
    list(structure(c(19756L, NA), class = c("IDate", "Date")), "date", c(19756, NA)),
    list(c(time, NA), "datetime", c(1706933106, NA)),
    list(as_integers(c(time, NA)), "datetime", c(1706933106, NA)),
    list(structure(c(3600L, NA), class = "ITime"), "float", c(3600, NA)),
    list(big, "float", c(2^52, NA)),
    list(c(5L, NA), "float", c(5, NA))
  )
  for (case in cases) {
    data <- list(n = 1:2, x = case[[1]])
    input <- input_fn(data, features = "x", impute = keep_missing)
    column <- input$columns$x
    expect_identical(column$type, case[[2]])
    expect_identical(as.vector(column_reader(input$data, column)()), case[[3]])
    expect_error(
      input_fn(data, features = "x"),
      "Missing values",
      class = "tfdistribute_input_error"
    )
  }
  # Periods of lubridate hold their hours beside their numbers, which are seconds.
  methods::setClass(
    "Period",
    contains = "numeric",
    slots = c(hour = "numeric"),
    where = environment()
  )
  refused <- list(
    methods::new("Period", c(0, 30), hour = c(1, 2)),
    as.difftime(1:2, units = "hours"),
    as.POSIXlt(c(time, NA)),
    1:2 + 1i
  )
  for (values in refused) {
    expect_error(
      input_fn(list(n = 1:2, x = values), features = "x", impute = keep_missing),
      paste("The column `x` is of class", class(values)[[1]]),
      class = "tfdistribute_input_error"
    )
  }
})

test_that("the level NA of a factor is a label, and missing in a response", {
  data <- data.frame(y = 1:3, x = addNA(factor(c("NA", "a", NA), c("a", "NA"))))
  input <- input_fn(y ~ x, data)
  expect_identical(input$columns$x$levels, c("a", "NA", ""))
  columns <- feature_columns(y ~ x, data)
  expect_identical(columns[[1]]$categorical_column$vocabulary_list, c("a", "NA"))
  expect_error(input_fn(x ~ y, data), "also in the response", class = "tfdistribute_input_error")
  expect_identical(input_fn(x ~ y, data[1:2, ])$columns$x$levels, c("a", "NA"))
})

test_that("numbers that a tabular classifier learned are predicted as numbers", {
  columns <- list(classes = array(c("2017", "-1"), c(2, 1)))
  numbers <- list(names = NULL, are_numbers = TRUE)
  expect_identical(prediction_tibble(columns, numbers)$classes, c(2017L, -1L))
  labels <- list(names = NULL, are_numbers = FALSE)
  expect_identical(prediction_tibble(columns, labels)$classes, c("2017", "-1"))
})

test_that("arguments and prints of tabular models", {
  local_reproducible_output(width = 100)
  expect_snapshot(tabular_regressor(model_dir = "/m", time_limit_s = 60))
  expect_snapshot(tabular_classifier(model_dir = "/m", epochs = 5, new_levels = "ignore"))
  expect_snapshot(tabular_regressor(new_levels = "drop"), error = TRUE)
  expect_snapshot(train(small_tabular(), mpg ~ ., data = mtcars, epochs = 5), error = TRUE)
})

test_that("counts and quantiles have heads of their own", {
  skip_if_no_tensorflow()
  counts <- small_tabular(loss = "poisson", epochs = 200)
  train(counts, carb ~ wt + hp, data = mtcars)
  predicted <- predict(counts, mtcars)$predictions
  expect_true(all(predicted > 0))
  expect_gt(cor(predicted, mtcars$carb), 0.6)
  quantiles <- small_tabular(quantiles = c(0.1, 0.5, 0.9), epochs = 100)
  train(quantiles, mpg ~ wt + hp, data = mtcars)
  found <- do.call(rbind, predict(quantiles, mtcars)$predictions)
  expect_true(all(found[, 1] <= found[, 2] & found[, 2] <= found[, 3]))
})

test_that("what a tabular model cannot do has a remedy", {
  local_reproducible_output(width = 100)
  model <- small_tabular()
  input <- input_fn(mpg ~ wt, mtcars)
  cluster <- local_cluster(workers = 2)
  expect_snapshot(train_and_evaluate(model, train_spec(input), eval_spec(input)), error = TRUE)
  expect_snapshot(
    launch(model, train_spec(input), eval_spec(input), cluster = cluster),
    error = TRUE
  )
  expect_snapshot(train(model, mpg ~ wt + offset(hp), data = mtcars), error = TRUE)
  expect_snapshot(tabular_regressor(validation = mtcars), error = TRUE)
  counts <- small_tabular(loss = "poisson")
  expect_snapshot(train(counts, I(mpg - 20) ~ wt, data = mtcars), error = TRUE)
})

test_that("files train the model that their rows in a data frame train, also with a cluster", {
  skip_if_no_tensorflow("check-all")
  cars <- cbind(mtcars[c("mpg", "wt", "hp")], kind = paste("kind", mtcars$cyl))
  path <- withr::local_tempfile(fileext = ".csv")
  utils::write.csv(cars, path, row.names = FALSE)
  files <- input_csv(path, response = "mpg")
  config <- run_config(strategy_multi_worker(), cluster = local_cluster(workers = 2))
  here <- small_tabular(batch_size = 16)
  there <- small_tabular(batch_size = 16)
  together <- small_tabular(batch_size = 16, epochs = 30, config = config)
  train(here, mpg ~ ., data = cars)
  train(there, files)
  train(together, files)
  predicted <- lapply(list(here, there, together), function(model) predict(model, cars)$predictions)
  expect_equal(predicted[[2]], predicted[[1]], tolerance = 1e-5)
  expect_gt(cor(predicted[[3]], cars$mpg), 0.8)
})

test_that("a data frame chooses the end, here and in the processes of a cluster", {
  skip_if_no_tensorflow("check-all")
  withr::local_seed(5)
  cars <- mtcars[sample(32), ]
  own <- cars[1:24, ]
  judges <- cars[25:32, ]
  # The training computes the mean, and the validation uses it.
  formula <- mpg ~ wt + I(hp - mean(hp)) + factor(cyl)
  alone <- small_tabular(dropout = 0, batch_size = 8)
  history <- train(alone, formula, own, validation = judges)
  expect_match(history$notes, "on [0-9]+ validation rows is", all = FALSE)
  # The model itself is the one with the least loss on these rows.
  loss <- summary(alone)$scores[["model"]]
  expect_equal(evaluate(alone, judges)$rmse, loss, tolerance = 1e-3)
  config <- run_config(strategy_multi_worker(), cluster = local_cluster(workers = 2))
  together <- small_tabular(dropout = 0, batch_size = 8, config = config)
  # An input has the same columns.
  train(together, mpg ~ wt + hp, own, validation = input_fn(mpg ~ wt + hp, judges))
  expect_equal(sum(unlist(summary(together)$length$weights)), 1)
  again <- small_tabular(dropout = 0, batch_size = 8)
  train(again, mpg ~ wt + hp, data = own, validation = judges)
  expect_identical(summary(again)$length$end, summary(together)$length$end)
  predicted <- lapply(list(again, together), function(model) predict(model, cars)$predictions)
  expect_equal(predicted[[2]], predicted[[1]], tolerance = 1e-3)
})

test_that("a validation that cannot choose has a remedy", {
  local_reproducible_output(width = 100)
  linear <- linear_regressor(feature_columns(column_numeric("wt")))
  expect_snapshot(train(linear, mpg ~ wt, data = mtcars, validation = mtcars), error = TRUE)
  expect_snapshot(train(small_tabular(), mpg ~ wt, mtcars, validation = 0.2), error = TRUE)
})
