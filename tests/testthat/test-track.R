test_that("a tracker is a plain value that can be printed and changed", {
  expect_snapshot({
    track_mlflow()
    track_mlflow("cars", tracking_uri = "sqlite:///mlflow.db", log_model = TRUE)
    track_wandb("cars", mode = "offline")
    run_config(track = track_wandb("cars"))
  })
  tracker <- track_mlflow()
  tracker$experiment <- "cars"
  expect_identical(tracker, track_mlflow("cars"))
})

test_that("an error in a tracker names the argument", {
  expect_snapshot(error = TRUE, {
    track_mlflow(experiment = 1)
    track_wandb(mode = "disabled")
    run_config(track = "mlflow")
  })
})

# The Python packages of trackers, and MLflow's database.
local_tracker <- function(frame = parent.frame()) {
  packages <- file.path(Sys.getenv("TFDISTRIBUTE_SOURCE"), ".environment", "trackers")
  if (!dir.exists(packages)) {
    skip_or_fail("The packages of trackers are not here.")
  }
  path <- paste(c(packages, Sys.getenv("PYTHONPATH")), collapse = .Platform$path.sep)
  withr::local_envvar(PYTHONPATH = path, .local_envir = frame)
  # Python in this process has read its path already.
  sys <- reticulate::import("sys", convert = FALSE)
  sys$path$append(packages)
  withr::defer(sys$path$remove(packages), envir = frame)
  directory <- withr::local_tempdir(.local_envir = frame)
  withr::local_dir(directory, .local_envir = frame)
  track_mlflow("cars", tracking_uri = paste0("sqlite:///", directory, "/mlflow.db"))
}

read_database <- function(query) {
  code <- "import json, sqlite3, sys; print(json.dumps(sqlite3.connect('mlflow.db').execute(sys.argv[1]).fetchall()))"
  answer <- processx::run(python_in_use(), c("-c", code, query))
  jsonlite::fromJSON(answer$stdout)
}

cars_with_tracker <- function(tracker, ...) {
  linear_regressor(
    feature_columns(column_numeric("wt", "hp")),
    model_dir = file.path(getwd(), "model"),
    config = run_config(..., seed = 1, track = tracker)
  )
}

if (checks_all()) {
  test_that("a training and the next one, in this process and in a cluster, are one run", {
    skip_if_no_tensorflow()
    tracker <- local_tracker()
    each_step <- hook_history_saver(every_n_steps = 1)
    input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 16, epochs = NULL)
    train(cars_with_tracker(tracker), input, steps = 4, hooks = each_step)
    cluster <- cars_with_tracker(tracker, strategy_multi_worker(), cluster = local_cluster(2))
    history <- suppressMessages(train_and_evaluate(
      cluster,
      train_spec(input, max_steps = 8, hooks = each_step),
      eval_spec(input_fn(mpg ~ wt + hp, mtcars))
    ))
    expect_identical(tail(history$losses$step, 1), 8L)
    expect_identical(read_database("select status from runs")[, 1], "FINISHED")
    losses <- read_database("select step, value from metrics where key = 'loss' order by step")
    recorded <- training_history(cluster)$losses
    expect_equal(losses[, 1], recorded$step)
    expect_equal(losses[, 2], recorded$loss)
    evaluated <- read_database("select step, value from metrics where key = 'val_loss'")
    expect_equal(evaluated[, 1], history$evaluations$global_step)
    parameters <- read_database("select key, value from params")
    expect_identical(parameters[parameters[, 1] == "model", 2], "linear_regressor")
  })
}

test_that("a cluster does not train without a tracker that it has", {
  skip_if_no_tensorflow()
  leave_to_check()
  withr::local_dir(withr::local_tempdir())
  model <- cars_with_tracker(
    track_mlflow(tracking_uri = "http://127.0.0.1:9"),
    strategy_multi_worker(),
    cluster = local_cluster(2)
  )
  input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 16, epochs = NULL)
  withr::local_envvar(PYTHONPATH = NA)
  error <- expect_error(
    suppressMessages(train(model, input, steps = 4)),
    class = "tfdistribute_backend_error"
  )
  expect_match(conditionMessage(error), "-m pip install mlflow-skinny", fixed = TRUE)
  expect_length(list.files("model", "ckpt"), 0)
})
