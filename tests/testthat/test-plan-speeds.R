# Speeds in plans. What the tasks of a plan show is in test-cluster.R.

plan_with_speeds <- function(network) {
  speeds <- tibble::tibble(
    workers = c(1L, 2L, 4L),
    examples_per_second = c(8400, 12345.6, 11000),
    step_s = c(0.0609, 0.0415, 0.0465),
    computation_s = c(0.0609, 0.032, 0.0175),
    limit = c("computation", "computation", "bandwidth")
  )
  measured <- list(
    best = 2L,
    step = list(examples = 512L, step_s = 0.0609, processor_s = 0.09, gradient_bytes = 9.46e6),
    cores = 2L,
    network = network
  )
  task <- list(
    task = "this process",
    host = "localhost",
    role = "trains",
    reads = "all rows",
    writes = "nothing",
    command = "Rscript train.R"
  )
  structure(new_plan(list(task)), speeds = structure(speeds, measured = measured))
}

test_that("a plan shows speeds, what they are predicted from, and where workers stop paying", {
  expect_snapshot(plan_with_speeds(list(round_trip_s = 0.0011, bytes_per_s = 1.19e8)))
  expect_snapshot(plan_with_speeds(NULL))
})

test_that("speeds are not measured without a batch size or for workers that others start", {
  skip_if_no_tensorflow()
  model <- linear_regressor(
    feature_columns(column_numeric("wt")),
    config = run_config(strategy_multi_worker())
  )
  spec <- train_spec(input_fn(mpg ~ wt, mtcars, batch_size = 8))
  expect_snapshot(error = TRUE, {
    plan_training(model, cluster = local_cluster(2), measure = TRUE)
    plan_training(model, spec, cluster = NULL, measure = TRUE)
    plan_training(model, spec, cluster = local_cluster(2), measure = 1)
  })
})

test_that("measured speeds have all numbers of workers, and the model keeps its directory", {
  skip_if_no_tensorflow()
  directory <- withr::local_tempdir()
  model <- linear_regressor(
    feature_columns(column_numeric("wt")),
    model_dir = file.path(directory, "models", "cars"),
    config = run_config(strategy_multi_worker(), cluster = local_cluster(workers = 2))
  )
  # The data would end before the measurement.
  spec <- train_spec(input_fn(mpg ~ wt, mtcars, batch_size = 16, epochs = 1))
  speeds <- attr(plan_training(model, spec, measure = TRUE), "speeds")
  expect_identical(speeds$workers, c(1L, 2L, 4L, 8L, 16L))
  expect_true(all(speeds$examples_per_second > 0))
  expect_true(all(speeds$step_s >= speeds$computation_s))
  expect_length(list.files(directory, all.files = TRUE, no.. = TRUE), 0)
})
