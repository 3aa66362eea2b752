# The plain text of an error: problem and remedy.
said <- function(code) {
  error <- rlang::catch_cnd(code, "tfdistribute_error")
  cat(paste0("<", class(error)[[1]], ">\n", error$problem, "\n", error$remedy, "\n"))
}

test_that("an input prints what is learnt from what", {
  expect_snapshot({
    input_fn(mtcars, features = c(wt, hp), response = mpg, batch_size = 16)
    input_fn(mpg ~ . - qsec, mtcars, epochs = NULL, shuffle = FALSE, seed = 1)
    input_fn(airquality, c(Solar.R, Wind), Temp, impute = list(Solar.R = 0))
    input_fn(iris[1, ], features = c(Species, Sepal.Width))
    input_fn(cbind(a = 1:2, b = 3:4), features = a, response = "b")
    numpy_input_fn(list(image = array(0, c(2, 4, 4)), x = 1:2), y = c(TRUE, FALSE))
    input_dataset(function(input_context) NULL)
  })
})

test_that("numbers of rows are written out", {
  expect_identical(count_rows(1e6), "1,000,000 rows")
  expect_identical(count_rows(100000L), "100,000 rows")
})

test_that("columns are selected as in tfestimators", {
  chosen <- function(...) setdiff(names(input_fn(mtcars, ...)$columns), "mpg")
  columns <- c("wt", "hp")
  expect_identical(chosen(c(wt, hp)), columns)
  expect_identical(chosen(c("wt", "hp")), columns)
  expect_identical(chosen(tidyselect::all_of(columns)), columns)
  expect_identical(chosen(tidyselect::starts_with("c")), c("cyl", "carb"))
  expect_identical(chosen(-mpg, response = mpg), setdiff(names(mtcars), "mpg"))
  expect_silent(expect_identical(chosen(columns), columns))
  expect_identical(chosen(setdiff(names(mtcars), c("mpg", "wt")))[[1]], "cyl")
  expect_identical(input_fn(mtcars, wt, "mpg")$response, "mpg")
  expect_null(input_fn(mtcars, wt)$response)
})

test_that("formulas name columns", {
  named <- function(formula) {
    input <- input_fn(formula, mtcars)
    list(setdiff(names(input$columns), input$response), input$response)
  }
  expect_identical(named(mpg ~ wt + hp), list(c("wt", "hp"), "mpg"))
  expect_identical(named(~ wt + (hp)), list(c("wt", "hp"), NULL))
  expect_identical(named(mpg ~ .), list(setdiff(names(mtcars), "mpg"), "mpg"))
  expect_identical(named(mpg ~ . - wt), list(setdiff(names(mtcars), c("mpg", "wt")), "mpg"))
  expect_identical(named("mpg" ~ wt), list("wt", "mpg"))
  expect_identical(input_fn(b ~ a, cbind(a = 1, b = 2))$response, "b")
  expect_identical(input_fn(b ~ a, list(a = 1, b = 2))$response, "b")
  expect_identical(input_fn(mpg ~ wt, mtcars, batch_size = 4)$batch_size, 4L)
})

test_that("names that are not syntactic work everywhere", {
  data <- list(`petal length` = 1:2, c(1.5, 2))
  names(data)[[2]] <- "gr\u00f6\u00dfe"
  by_formula <- input_fn("gr\u00f6\u00dfe" ~ `petal length`, data)
  expect_identical(by_formula$response, "gr\u00f6\u00dfe")
  expect_identical(names(by_formula$columns), c("petal length", "gr\u00f6\u00dfe"))
  by_name <- input_fn(data, features = `petal length`, response = "gr\u00f6\u00dfe")
  # Only a formula standardizes the response.
  expect_identical(by_name, structure(by_formula, formula = NULL))
})

test_that("a description holds only the chosen columns, and can be saved", {
  input <- input_fn(mtcars, features = wt, response = mpg)
  expect_named(input$data, c("wt", "mpg"))
  path <- withr::local_tempfile()
  saveRDS(input, path)
  expect_identical(readRDS(path), input)
})

test_that("the queues of tfestimators are accepted and ignored", {
  expect_identical(
    input_fn(mtcars, wt, queue_capacity = 10, num_threads = 4),
    input_fn(mtcars, wt)
  )
})

test_that("what cannot be an input is refused with the remedy", {
  expect_snapshot({
    said(input_fn(1:3))
    said(input_fn(mean))
    said(input_fn(mpg ~ wt))
    said(input_fn(mpg ~ wt, mtcars, features = wt))
    said(input_fn(mtcars, wt, batchsize = 2))
    said(input_dataset(mtcars))
    said(train_spec(mtcars))
    said(train_spec(function(estimator) NULL))
    said(numpy_input_fn(mean))
  })
})

test_that("columns that are not there are refused with the nearest name", {
  expect_snapshot({
    said(input_fn(mtcars, features = c(wt, hpp)))
    said(input_fn(mtcars, features = wt, response = "MPG"))
    said(input_fn(iris, features = c("Petal.Len", "nonsense")))
    said(input_fn(mpg ~ weight, mtcars))
    said(input_fn(mtcars, features = 20))
    said(input_fn(mtcars, features = undefined_function()))
  })
})

test_that("columns that make no sense together are refused", {
  expect_snapshot({
    said(input_fn(mtcars))
    said(input_fn(mtcars, features = c()))
    said(input_fn(mtcars[0, ], features = wt))
    said(input_fn(matrix(0, 0, 2), features = "V1"))
    said(input_fn(mtcars, features = tidyselect::everything(), response = mpg))
    said(input_fn(mtcars, features = wt, response = c(mpg, hp)))
    said(input_fn(list(a = 1:3, b = 1:4), features = c(a, b)))
    said(input_fn(list(1:3), features = 1))
    said(input_fn(data.frame(a = 1, a = 2, check.names = FALSE), features = "a"))
  })
})

test_that("batches, epochs, shuffle and seed are checked at once", {
  expect_snapshot({
    said(input_fn(mtcars, wt, batch_size = -1))
    said(input_fn(mtcars, wt, batch_size = 0))
    said(input_fn(mtcars, wt, batch_size = 1.5))
    said(input_fn(mtcars, wt, batch_size = NULL))
    said(input_fn(mtcars, wt, epochs = 0))
    said(input_fn(mtcars, wt, shuffle = "yes"))
    said(input_fn(mtcars, wt, seed = 0.5))
    said(input_fn(mtcars, wt, factors = "dummies"))
  })
})

test_that("a verb takes an input, or a function that makes a dataset", {
  input <- input_fn(mtcars, wt)
  expect_identical(as_input(input), input)
  expect_s3_class(as_input(function() NULL), "tfdistribute_dataset_function_input")
  expect_s3_class(
    as_input(function(input_context, buffer = 10, ...) NULL),
    "tfdistribute_dataset_function_input"
  )
})

# As as_tf_dataset() of tfdatasets makes it.
tfdataset <- function(data, size) {
  tf <- reticulate::import("tensorflow")
  dataset <- tf$data$Dataset$from_tensor_slices(as.list(data))$batch(size)
  class(dataset) <- c("tf_dataset", class(dataset))
  dataset
}

test_that("a dataset of tfdatasets is described by its columns, and read by every process", {
  skip_if_no_tensorflow()
  cars <- lapply(mtcars[c("wt", "hp", "mpg")], as.numeric)
  dataset <- tfdataset(cars, 8L)
  input <- input_fn(dataset, features = -mpg, response = "mpg")
  expect_match(format(input), "a dataset of batches", all = FALSE)
  expect_identical(input$features, c("wt", "hp"))
  by_formula <- input_fn(mpg ~ ., dataset)
  expect_identical(by_formula[c("features", "response")], input[c("features", "response")])
  model <- linear_regressor(column_numeric("wt", "hp"))
  train(model, unserialize(serialize(input, NULL)))
  expect_identical(evaluate(model, input)$global_step, 4)
  expect_identical(nrow(predict(model, input)), 32L)
  expect_snapshot(error = TRUE, {
    input_fn(dataset, features = weight, response = "mpg")
    input_fn(dataset)
  })
})
