# The code in every remedy works when it is typed, and no remedy is left out.
# Proves: Errors with remedies

sys.source(test_path("remedies-not-typed.R"), environment())

test_that("what errors of descriptions offer works", {
  skip_if_no_tensorflow("promise")
  for (table in c("clusters", "models", "inputs")) {
    sys.source(test_path(paste0("remedies-", table, ".R")), environment())
  }
})

# A trained model of each kind, and its data.
local_models <- function(is_typed = TRUE, frame = parent.frame()) {
  data <- data.frame(x = c(1, 2, 3, 4), y = c(2, 4, 6, 8))
  folders <- withr::local_tempdir(.local_envir = frame)
  columns <- feature_columns(column_numeric("x"))
  models <- list(
    data = data,
    untrained = linear_regressor(columns, model_dir = file.path(folders, "untrained")),
    model = linear_regressor(columns, model_dir = file.path(folders, "model")),
    classifier = linear_classifier(columns, model_dir = file.path(folders, "classifier")),
    dnn = dnn_regressor(2, columns, model_dir = file.path(folders, "dnn"))
  )
  train(models$model, y ~ x, data = data)
  train(models$dnn, y ~ x, data = data)
  train(models$classifier, y ~ x, data = data.frame(x = 1:4, y = c(0L, 1L, 0L, 1L)))
  with_values(models, is_typed)
}

test_that("what errors of verbs offer works", {
  skip_if_no_tensorflow("promise")
  models <- local_models()
  sys.source(test_path("remedies-verbs.R"), models)
  sys.source(test_path("remedies-tensorflow.R"), models)
})

test_that("what errors of Python offer works", {
  skip_if_no_tensorflow()
  # `make check` raises each error, and leaves typing what it offers to `make check-all`.
  models <- local_models(is_typed = checks_all())
  sys.source(test_path("remedies-python.R"), models)
  sys.source(test_path("remedies-python-inputs.R"), models)
  sys.source(test_path("remedies-columns.R"), models)
  sys.source(test_path("remedies-functions.R"), models)
})

test_that("what errors of jobs and other processes offer works", {
  skip_if_no_tensorflow()
  sys.source(test_path("remedies-jobs.R"), local_models())
})

test_that("no remedy in the sources is left out", {
  skip_if_no_tensorflow()
  skip_beside("tfruns")
  remedies <- c(remedies_in_sources(), Filter(has_code, remedies_in_python()))
  was_tried <- function(remedy) {
    any(grepl(template_pattern(remedy), tried_remedies$texts, perl = TRUE))
  }
  untried <- Filter(Negate(was_tried), remedies)
  listed <- unlist(not_typed, use.names = FALSE)
  starts <- lapply(listed, function(words) startsWith(untried, words))
  expect_identical(untried[!Reduce(`|`, starts)], character())
  expect_identical(listed[!vapply(starts, any, NA)], character())
})

test_that("the functions, arguments and pages of help in remedies exist", {
  remedies <- c(remedies_in_sources(), remedies_in_python())
  foreign <- c(
    # Of TensorFlow, Keras, mirai, recipes and generics, of methods, and of values in the text.
    c("device_count", "drop_remainder", "run()", "reduction", "compile()", "dispatcher"),
    c("step_naomit()", "step_novel()", "all_outcomes()", "glance()", "augment()", "predict_keys"),
    c("x()", "xhidden_units")
  )
  expect_identical(wrong_names_in(remedies, foreign), NULL)
  pages <- unlist(regmatches(remedies, gregexpr("(?<=[?])[a-z_]+", remedies, perl = TRUE)))
  aliases <- names(readRDS(system.file("help", "aliases.rds", package = "tfdistribute")))
  expect_identical(setdiff(pages, aliases), character())
})
