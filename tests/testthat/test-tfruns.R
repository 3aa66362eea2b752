# Stands for tfruns, whose functions these are: a run is active where its directory is named, and what is written to it
# is kept as RDS files.
local_tfruns <- function(active, frame = parent.frame()) {
  folder <- withr::local_tempdir(.local_envir = frame)
  withr::local_envvar(STAND_IN_RUN = if (active) folder else "", .local_envir = frame)
  local_stand_in(
    "tfruns",
    c(
      "is_run_active <- function() nzchar(Sys.getenv(\"STAND_IN_RUN\"))",
      "run_dir <- function() if (is_run_active()) Sys.getenv(\"STAND_IN_RUN\") else getwd()",
      "write_run_metadata <- function(type, data) {",
      "  saveRDS(data, file.path(run_dir(), paste0(type, \".rds\")))",
      "}"
    ),
    frame = frame
  )
  folder
}

test_that("losses and metrics are written to the active run", {
  skip_if_no_tensorflow()
  run <- local_tfruns(active = TRUE)
  expect_identical(run_dir(), run)
  history <- train_and_evaluate(
    wt_regressor(),
    train_spec(cars_input(epochs = NULL), max_steps = 12),
    eval_spec(cars_input())
  )
  metrics <- readRDS(file.path(run, "metrics.rds"))
  expect_s3_class(metrics, "data.frame")
  expect_equal(metrics$loss, history$losses$loss)
  expect_equal(metrics$val_loss, c(NA, NA, history$evaluations$loss))
  evaluation <- readRDS(file.path(run, "evaluation.rds"))
  expect_equal(evaluation, as.list(history$evaluations))
})

test_that("train() writes losses, and evaluate() metrics", {
  skip_if_no_tensorflow()
  run <- local_tfruns(active = TRUE)
  trained <- wt_regressor()
  history <- train(trained, cars_input())
  expect_identical(list.files(run), "metrics.rds")
  expect_equal(readRDS(file.path(run, "metrics.rds")), data.frame(loss = history$losses$loss))
  metrics <- evaluate(trained, cars_input())
  expect_equal(readRDS(file.path(run, "evaluation.rds")), as.list(metrics))
})

test_that("outside a run nothing is written", {
  skip_if_no_tensorflow()
  run <- local_tfruns(active = FALSE)
  train(wt_regressor(), cars_input())
  expect_identical(list.files(run), character())
  expect_identical(run_dir(), getwd())
})

test_that("without tfruns the run's directory is the working directory", {
  skip_beside("tfruns")
  expect_identical(run_dir(), getwd())
})
