# A sum of features in place of one, and labels in tens.
in_tens <- function(features, labels) {
  features$sum <- tf$add(features$wt, features$hp)
  features$hp <- NULL
  list(features, if (!is.null(labels)) tf$divide(labels, 10))
}

test_that("weights and a transform are printed and can be saved", {
  files <- input_csv("cars.csv", "mpg", c("wt", "hp"), weights = "qsec", transform = in_tens)
  expect_snapshot({
    input_fn(mtcars, c(wt, hp), mpg, weights = qsec, transform = in_tens)
    input_fn(mpg ~ . - cyl, mtcars, weights = qsec)
    files
    input_generator(function() NULL, response = "y", transform = function(features) features)
    input_dataset(function() NULL, weights = "w")
  })
  path <- withr::local_tempfile()
  saveRDS(files, path)
  expect_identical(readRDS(path)$source, files$source)
  expect_identical(files$source$features, c("wt", "hp", "qsec"))
  # Neither changes nothing.
  expect_s3_class(input_fn(mpg ~ wt, mtcars), "tfdistribute_in_memory_input")
  arrays <- numpy_input_fn(list(x = 1:3, w = c(1, 2, 0)), 1:3, weights = "w")
  expect_identical(arrays$weights, "w")
})

test_that("what are no weights and no transform is refused", {
  cars <- mtcars
  refused <- function(...) {
    tryCatch(input_fn(cars, wt, mpg, ...), error = function(error) {
      cat(conditionMessage(error), "\n")
    })
  }
  expect_snapshot({
    refused(weights = wt)
    refused(weights = mpg)
    refused(weights = c(hp, qsec))
    refused(weights = weight)
    refused(transform = "scale")
    refused(transform = function(x, y) x)
  })
  expect_error(
    input_csv("a.csv", "y", c("x", "w"), weights = "w"),
    "both the weights and a feature",
    class = "tfdistribute_input_error"
  )
  expect_error(
    numpy_input_fn(list(x = 1:3), weights = "v"),
    class = "tfdistribute_input_error"
  )
})

test_that("a vector or a position in place of a column's name is refused with a remedy that works", {
  cars <- mtcars
  own <- rep(2, 32)
  expect_snapshot(error = TRUE, {
    input_fn(mpg ~ wt, cars, weights = own)
    input_fn(cars, wt, mpg, weights = rep(2, 32))
    input_fn(cars, wt, mpg, weights = 2)
    input_fn(as.matrix(cars), wt, mpg, weights = own)
    input_fn(iris[, 1:4], tidyselect::everything(), response = as.integer(iris$Species))
    input_fn(cars, wt, response = cars$mpg > 20)
  })
  data <- cars
  data$w <- own
  expect_identical(input_fn(mpg ~ wt, data, weights = w)$weights, "w")
  data <- cbind(as.matrix(cars), w = own)
  expect_identical(input_fn(data, wt, mpg, weights = w)$weights, "w")
  # A column's name is a name, whatever else has it.
  hp <- own
  expect_identical(input_fn(cars, wt, mpg, weights = hp)$weights, "hp")
  name <- "qsec"
  expect_identical(input_fn(cars, wt, mpg, weights = tidyselect::all_of(name))$weights, "qsec")
})

test_that("R code changes examples for every verb, on one device and on two", {
  skip_if_no_tensorflow()
  withr::local_options(tfdistribute.progress = FALSE)
  done <- data.frame(sum = mtcars$wt + mtcars$hp, mpg = mtcars$mpg / 10, qsec = mtcars$qsec)
  model <- function(config = run_config()) {
    linear_regressor(
      feature_columns(column_numeric("sum")),
      config = config,
      model_dir = withr::local_tempdir(.local_envir = parent.frame(2))
    )
  }
  learnt <- function(model, training, predicting) {
    train(model, training, steps = 4)
    list(evaluate(model, training)$average_loss, c(predict(model, predicting)$predictions))
  }
  as_it_is <- input_fn(mpg ~ sum, done, weights = qsec, batch_size = 8, shuffle = FALSE)
  changed <- input_fn(
    mpg ~ wt + hp,
    mtcars,
    weights = qsec,
    batch_size = 8,
    shuffle = FALSE,
    transform = in_tens
  )
  without_labels <- input_fn(mtcars, c(wt, hp), transform = in_tens)
  expected <- learnt(model(), as_it_is, as_it_is)
  expect_equal(learnt(model(), changed, without_labels), expected, tolerance = 1e-5)
  two <- run_config(strategy_mirrored(devices = 2))
  expect_equal(learnt(model(two), changed, without_labels), expected, tolerance = 1e-5)

  failing <- input_fn(
    mpg ~ wt,
    mtcars,
    transform = function(features) rlang::abort("no", class = "mine")
  )
  error <- expect_error(check_sharding(failing, 1), class = "tfdistribute_callback_error")
  expect_s3_class(error$parent, "mine")
})
