verbs <- c("train", "evaluate", "train_and_evaluate", "export_savedmodel")

# Run in another process: a package that was loaded stays.
beside_tensorflow <- function(fn, frame = parent.frame()) {
  generics <- sprintf("%s <- function(object, ...) UseMethod(\"%s\")", verbs, verbs)
  local_package("tensorflow", generics, frame)
  in_child_r(fn, list(verbs))
}

test_that("methods answer the generics of a package tensorflow that is loaded later", {
  found <- beside_tensorflow(function(verbs) {
    warned <- tryCatch(is.null(loadNamespace("tensorflow")), warning = conditionMessage)
    model <- structure(list(), class = "tfdistribute_estimator")
    answers <- lapply(verbs, function(verb) {
      generic <- getExportedValue("tensorflow", verb)
      error <- tryCatch(generic(model, unknown_argument = 1), error = identity)
      class <- "tfdistribute_estimator"
      method <- utils::getS3method(verb, class, TRUE, envir = asNamespace("tensorflow"))
      list(inherits(error, "error"), environmentName(environment(method)))
    })
    list(warned, unique(answers))
  })
  expect_identical(found, list(FALSE, list(list(TRUE, "tfdistribute"))))
})

test_that("verbs use the methods that other packages have for their own objects", {
  found <- beside_tensorflow(function(verbs) {
    loadNamespace("tensorflow")
    model <- structure(list(), class = c("sequential", "keras_model"))
    lapply(verbs, function(verb) {
      own <- getExportedValue("tfdistribute", verb)
      error <- tryCatch(own(model, 3), tfdistribute_argument_error = identity)
      method <- function(object, x, verbose = 1) list(verb, x, verbose)
      registerS3method(verb, "keras_model", method, envir = asNamespace("tensorflow"))
      list(error$problem, own(model, 3, verbose = 0))
    })
  })
  for (index in seq_along(verbs)) {
    expect_match(found[[index]][[1]], "`object` must be an estimator", fixed = TRUE)
    expect_identical(found[[index]][[2]], list(verbs[[index]], 3, 0))
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
