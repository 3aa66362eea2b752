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

test_that("a verb refuses something that is not an estimator", {
  expect_snapshot(error = TRUE, {
    train(3)
    evaluate("model")
    train_and_evaluate(mtcars)
    export_savedmodel(NULL, "x")
    model_dir(1)
  })
})
