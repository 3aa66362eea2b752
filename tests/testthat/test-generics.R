test_that("methods answer the generics of a package tensorflow that is loaded later", {
  verbs <- c("train", "evaluate", "train_and_evaluate", "export_savedmodel")
  generics <- sprintf("%s <- function(object, ...) UseMethod(\"%s\")", verbs, verbs)
  local_stand_in("tensorflow", generics)
  expect_no_warning(loadNamespace("tensorflow"))
  model <- structure(list(), class = "tfdistribute_estimator")
  for (verb in verbs) {
    generic <- getExportedValue("tensorflow", verb)
    expect_error(generic(model, unknown_argument = 1), class = "error")
    expect_false(is.null(utils::getS3method(
      verb,
      "tfdistribute_estimator",
      envir = asNamespace("tensorflow")
    )))
  }
})

test_that("verbs use the methods that other packages have for their own objects", {
  verbs <- c("train", "evaluate", "train_and_evaluate", "export_savedmodel")
  local_stand_in(
    "tensorflow",
    sprintf("%s <- function(object, ...) UseMethod(\"%s\")", verbs, verbs)
  )
  model <- structure(list(), class = c("sequential", "keras_model"))
  for (verb in verbs) {
    own <- getExportedValue("tfdistribute", verb)
    expect_error(
      own(model, 3),
      "`object` must be an estimator",
      class = "tfdistribute_argument_error"
    )
    method <- function(object, x, verbose = 1) list(verb, x, verbose)
    registerS3method(verb, "keras_model", method, envir = asNamespace("tensorflow"))
    expect_identical(own(model, 3, verbose = 0), list(verb, 3, 0))
  }
})

test_that("a verb refuses something that is not an estimator", {
  expect_snapshot(error = TRUE, {
    train(3)
    evaluate("model")
    train_and_evaluate(mtcars)
    export_savedmodel(NULL, "x")
    model_dir(1)
  })
})
