# A model function as users write it: in a file, whose lines R knows.
function_in_file <- function(lines, name = "net.R") {
  file <- file.path(withr::local_tempdir(), name)
  writeLines(lines, file)
  defined <- new.env(parent = globalenv())
  withr::local_options(keep.source = TRUE)
  source(file, local = defined, keep.source = TRUE)
  defined$net
}

error_of_training <- function(lines, data = input_fn(mpg ~ wt + hp, mtcars), ...) {
  model <- estimator(function_in_file(lines), model_dir = withr::local_tempdir())
  expect_error(train(model, data, steps = 1), class = "tfdistribute_error", ...)
}

test_that("an error names the model function, its file and line, and says its text once", {
  skip_if_no_tensorflow("smoke")
  error <- error_of_training(c(
    "net <- function(features, labels, mode) {",
    "  x <- features$wt",
    "  y <- tf$expand_dims(x, 1.5)",
    "}"
  ))
  expect_s3_class(error, "tfdistribute_callback_error")
  expect_identical(error$problem, "`model_fn` failed at net.R:3, in `tf$expand_dims(x, 1.5)`.")
  expect_match(error$remedy, "10000L")
  text <- conditionMessage(error)
  expect_identical(lengths(regmatches(text, gregexpr("DataType|Expected", text))), 1L)
})

test_that("functions of R without a frame are placed too", {
  skip_if_no_tensorflow()
  error <- error_of_training("net <- function(features, labels, mode) \"a\" * 2")
  expect_identical(error$problem, "`model_fn` failed at net.R:1, in `\"a\" * 2`.")
})

test_that("a misspelt feature is named with those that there are", {
  skip_if_no_tensorflow()
  error <- error_of_training("net <- function(features, labels, mode) tf$square(features$wtt)")
  expect_identical(
    error$remedy,
    "features$wtt is NULL: the features are wt, hp. Did you mean features$wt?"
  )
})

test_that("an optimizer of Keras that cannot train is a model error, without R's copy of it", {
  skip_if_no_tensorflow()
  error <- error_of_training(c(
    "net <- function(features, labels, mode) {",
    "  v <- tf$compat$v1$get_variable(\"v\", shape(1))",
    "  loss <- tf$reduce_mean(v)",
    "  gradient <- tf$gradients(loss, list(v))[[1]]",
    "  step <- tf$keras$optimizers$Adam()$apply_gradients(list(reticulate::tuple(gradient, v)))",
    "  list(loss = loss, train_op = step)",
    "}"
  ))
  expect_s3_class(error, "tfdistribute_model_error")
  expect_null(error$parent)
  expect_match(error$remedy, "legacy")
})

test_that("errors in model functions teach R's way", {
  skip_if_no_tensorflow()
  names <- input_fn(mpg ~ wt + name, transform(mtcars, name = rownames(mtcars)))
  labels <- input_fn(Species ~ Sepal.Length, iris, factors = "labels")
  shown <- function(code, ...) {
    error <- error_of_training(paste("net <- function(features, labels, mode)", code), ...)
    writeLines(c(class(error)[[1]], error$problem, error$remedy))
  }
  expect_snapshot({
    shown("if (labels > 3) 1")
    shown("tf$keras$layers$Dense(1L)(features)", names)
    shown("tf$stack(features, axis = 1L)")
    shown("tf$stack(lapply(features, identity), axis = 1L)")
    shown("tf$concat(lapply(features, tf$expand_dims, 1L), 1L)")
    shown("tf$add_n(features)")
    shown("as.list(features) * 2")
    shown("features$wt - tf$cast(labels, tf$int32)")
    shown("tf$one_hot(labels, 3L)", labels)
    shown("tf$layers$dense(features, 1L)")
    shown("list(loss = features$wt[1], optimizer = \"sgd\", eval_metric_ops = list(a = mean))")
    shown("features[, 7]")
  })
  # In the words of this package or, with a newer reticulate, after those of Python.
  error <- error_of_training("net <- function(features, labels, mode) features * 2", names)
  # R's tensorflow has operators of its own, which pass the features to TensorFlow.
  remedy <- if (isNamespaceLoaded("tensorflow")) {
    "give one of its tensors"
  } else {
    "numbers of one kind"
  }
  expect_match(rlang::cnd_message(error), remedy)
})

test_that("a dataset of named features and labels is TensorFlow's pair", {
  skip_if_no_tensorflow()
  line <- function(features, labels, mode) {
    predicted <- tf$compat$v1$layers$dense(features, 1L)[, 1]
    list(loss = tf$reduce_mean((labels - predicted)^2), optimizer = "sgd", predictions = predicted)
  }
  parts <- function() {
    list(
      features = tf$constant(matrix(c(1, 2, 3, 4), 2), tf$float32),
      labels = tf$constant(c(1, 2), tf$float32)
    )
  }
  slices <- function() tf$data$Dataset$from_tensor_slices(parts())$batch(2L)
  for (input in list(parts, slices)) {
    expect_identical(train(estimator(line), input, steps = 1)$global_step, 1L)
  }
})

test_that("the first error of a function is kept, not those that follow from it", {
  the$callback_error <- NULL
  withr::defer(the$callback_error <- NULL)
  fail <- function(message) {
    frame <- environment()
    tryCatch(
      withCallingHandlers(stop(message), error = function(error) keep_callback_error(error, frame)),
      error = identity
    )
  }
  fail("the cause")
  fail("what followed")
  expect_identical(conditionMessage(the$callback_error), "the cause")
})
