# Stands for R's package tensorflow, which defines generics of the same names.
local_package_with_generics <- function(name, generics, frame = parent.frame()) {
  folder <- withr::local_tempdir(.local_envir = frame)
  package <- file.path(folder, name)
  dir.create(file.path(package, "R"), recursive = TRUE)
  writeLines(
    c(paste("Package:", name), "Version: 1.0", "Title: T", "Description: D.", "License: GPL-3"),
    file.path(
      package,
      "DESCRIPTION"
    )
  )
  writeLines(paste0("export(", generics, ")"), file.path(package, "NAMESPACE"))
  writeLines(
    sprintf("%s <- function(object, ...) UseMethod(\"%s\")", generics, generics),
    file.path(package, "R", "g.R")
  )
  library <- withr::local_tempdir(.local_envir = frame)
  utils::install.packages(package, library, repos = NULL, type = "source", quiet = TRUE)
  withr::defer(unloadNamespace(name), envir = frame)
  library
}

test_that("methods answer the generics of a package tensorflow that is loaded later", {
  verbs <- c("train", "evaluate", "train_and_evaluate", "export_savedmodel")
  library <- local_package_with_generics("tensorflow", verbs)
  withr::local_libpaths(library, action = "prefix")
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

test_that("a verb refuses what is no estimator, by name", {
  expect_snapshot(error = TRUE, {
    train(3)
    evaluate("model")
    train_and_evaluate(mtcars)
    export_savedmodel(NULL, "x")
    model_dir(1)
  })
})
