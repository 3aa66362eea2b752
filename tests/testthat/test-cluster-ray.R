test_that("a printed cluster of actors shows what each of them has", {
  expect_snapshot({
    ray_cluster(workers = 2)
    ray_cluster(
      "ray://head:10001",
      workers = 1,
      ps = 1,
      evaluator = FALSE,
      cpus_per_worker = 8,
      gpus_per_worker = 2,
      placement = "strict_spread",
      environment = c(TOKEN = "secret"),
      restarts = 1
    )
  })
})

test_that("a cluster of actors is a plain value that can be changed", {
  described <- ray_cluster(workers = 2)
  described$gpus_per_worker <- 4
  expect_identical(described$devices_per_worker, 4L)
  expect_s3_class(described, "tfdistribute_ray_cluster")
})

test_that("an error in a cluster of actors names the argument", {
  expect_snapshot(error = TRUE, {
    ray_cluster(workers = 0)
    ray_cluster(workers = 2, cpus_per_worker = 0)
    ray_cluster(workers = 2, placement = "random")
  })
})

test_that("a plan shows the actors of the tasks", {
  skip_if_no_tensorflow()
  model <- linear_regressor(feature_columns(column_numeric("wt")), model_dir = "/shared/cars")
  expect_snapshot(plan_training(model, cluster = ray_cluster(workers = 2)))
})

test_that("a Ray that cannot be used is a row of the check", {
  skip_if_no_tensorflow()
  found <- check_cluster(ray_cluster("localhost:9", workers = 2))
  expect_match(found$message, "does not have the package ray|No Ray cluster answers")
  expect_identical(found$field, "address")
})

test_that("a job that is to survive the session names a Ray that cannot be used before it starts", {
  skip_if_no_tensorflow()
  model <- linear_regressor(
    feature_columns(column_numeric("wt")),
    model_dir = withr::local_tempdir(),
    config = run_config(strategy_multi_worker(), cluster = ray_cluster("localhost:9", workers = 2))
  )
  input <- input_fn(mpg ~ wt, mtcars, batch_size = 16, epochs = NULL)
  suppressMessages(expect_error(
    launch(model, train_spec(input, max_steps = 10), wait = FALSE),
    "does not have the package ray|No Ray cluster answers",
    class = "tfdistribute_cluster_error"
  ))
  expect_false(file.exists(file.path(model$model_dir, ".jobs")))
})
