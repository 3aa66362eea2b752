test_that("without a strategy, a printed configuration and model name the choice of the cluster", {
  chosen <- function(cluster) {
    config <- run_config(cluster = cluster)
    expect_null(config$strategy)
    printed <- format(linear_regressor(column_numeric("x"), config = config))
    shown <- sub(
      "^ *strategy:? +",
      "",
      grep("strategy", c(format_settings(config), printed), value = TRUE)
    )
    sub(" [(].*[)]$", "", unique(sub(" [(]one device[)]$", "", shown)))
  }
  image <- "registry.example.org/model:1"
  vertex <- function(...) {
    vertex_cluster("project", "europe-west4", image, staging = "gs://bucket/staging", ...)
  }
  clusters <- list(
    function(...) local_cluster(2, ...),
    function(...) ssh_cluster(c("a", "b"), ...),
    function(...) slurm_cluster(2, ...),
    function(...) ray_cluster(workers = 2, ...),
    function(...) spark_cluster("sc://localhost:15002", workers = 2, ...),
    function(...) mirai_cluster(workers = 2, ...),
    function(...) kubernetes_cluster(image, workers = 2, ...),
    function(...) vertex(workers = 2, ...)
  )
  for (cluster in clusters) {
    expect_identical(chosen(cluster()), "multi worker")
    expect_identical(chosen(cluster(ps = 1)), "parameter server")
  }
  expect_identical(chosen(address_cluster("a:1", "b:1")), "multi worker")
  expect_identical(chosen(address_cluster("a:1", ps = "b:1")), "parameter server")
  expect_identical(chosen(local_cluster(1)), "none")
  expect_identical(chosen(local_cluster(1, devices_per_worker = 2)), "multi worker")
  expect_identical(chosen(NULL), "none")
})

test_that("printing shows the strategy and what differs from the default", {
  expect_snapshot({
    run_config()
    run_config(
      strategy_mirrored(2),
      eval_distribute = strategy_one_device("CPU:1"),
      model_dir = "runs/a",
      seed = NULL,
      save_summary_steps = NULL,
      save_checkpoints_steps = 500,
      session_config = list(
        gpu_options = list(allow_growth = TRUE),
        device_filters = c("/job:ps", "/job:worker"),
        device_count = list(CPU = 2)
      ),
      keep_checkpoint_max = 10,
      checkpoint_save_graph_def = FALSE
    )
    run_config(save_checkpoints_secs = NULL)
    run_config(precision = "mixed_bfloat16", micro_batches = 4)
    run_config(device_fn = function(op) "/device:CPU:0", protocol = "grpc")
  })
})

test_that("counts are kept as integers and durations as numbers", {
  config <- run_config(
    save_summary_steps = 50,
    save_checkpoints_steps = 5,
    log_step_count_steps = 50,
    experimental_max_worker_delay_secs = 0,
    steps_per_run = 100
  )
  counts <- c(
    "seed",
    "save_summary_steps",
    "save_checkpoints_steps",
    "keep_checkpoint_max",
    "log_step_count_steps",
    "experimental_max_worker_delay_secs",
    "steps_per_run"
  )
  expect_identical(
    vapply(unclass(config)[counts], typeof, "", USE.NAMES = FALSE),
    rep("integer", 7)
  )
  expect_identical(config$session_creation_timeout_secs, 7200)
})

test_that("checkpoints by steps switch off those by seconds", {
  expect_identical(run_config()$save_checkpoints_secs, 600)
  expect_null(run_config(save_checkpoints_steps = 5)$save_checkpoints_secs)
  expect_null(run_config(save_checkpoints_secs = NULL)$save_checkpoints_steps)
})

test_that("the home directory is written out in model_dir", {
  expect_identical(run_config(model_dir = "~/runs")$model_dir, path.expand("~/runs"))
})

test_that("a run configuration can be saved and compared", {
  config <- run_config(strategy_mirrored(2), session_config = list(placement_period = 2))
  file <- withr::local_tempfile()
  saveRDS(config, file)
  expect_identical(readRDS(file), config)
})

test_that("a value that a setting does not take is refused by the setting's name", {
  expect_snapshot(error = TRUE, {
    run_config("mirrored")
    run_config(eval_distribute = 2)
    run_config(model_dir = "")
    run_config(seed = "a")
    run_config(precision = "bfloat16")
    run_config(micro_batches = 0)
    run_config(save_summary_steps = -1)
    run_config(save_checkpoints_steps = 2.5)
    run_config(save_checkpoints_secs = -1)
    run_config(keep_checkpoint_max = -1)
    run_config(log_step_count_steps = 0)
    run_config(steps_per_run = NULL)
    run_config(steps_per_run = "many")
    run_config(device_fn = "cpu:0")
    run_config(device_fn = function(op, name) "cpu:0")
    run_config(protocol = "http")
    run_config(session_creation_timeout_secs = NULL)
    run_config(experimental_max_worker_delay_secs = 0.5)
    run_config(checkpoint_save_graph_def = NA)
  })
})

test_that("a session_config that is not plain named values is refused", {
  expect_snapshot(error = TRUE, {
    run_config(session_config = 2)
    run_config(session_config = list(2))
    run_config(session_config = list(placement_period = 1, placement_period = 2))
    run_config(session_config = list(gpu_options = list(allow_growth = NA)))
    run_config(session_config = list(gpu_options = list(1, a = 2)))
    run_config(session_config = list(log_device_placement = identity))
  })
  expect_null(run_config(session_config = list())$session_config)
})

test_that("a Python strategy is refused with the function to use instead", {
  strategy <- structure(list(), class = c("tensorflow.MirroredStrategy", "python.builtin.object"))
  expect_error(run_config(strategy), "strategy_mirrored()", fixed = TRUE)
})

test_that("the settings are TensorFlow's, in the defaults too", {
  skip_if_no_tensorflow()
  python <- as_python(run_config())
  expect_s3_class(python, "tensorflow_estimator.python.estimator.run_config.RunConfig")
  ours <- c("cluster", "steps_per_run", "precision", "micro_batches", "compile", "track")
  ours <- c(ours, "...")
  settings <- setdiff(
    names(formals(run_config)),
    c("experimental_distribute", "session_config", ours)
  )
  config <- run_config(save_summary_steps = 100, log_step_count_steps = 100)
  theirs <- c(strategy = "train_distribute", seed = "tf_random_seed")
  for (setting in settings) {
    name <- if (setting %in% names(theirs)) theirs[[setting]] else setting
    expect_equal(python[[name]], config[[setting]], info = setting)
  }
})

test_that("as_python() gives TensorFlow's object with strategy and session", {
  skip_if_no_tensorflow()
  python <- as_python(run_config(
    strategy_mirrored(2),
    save_checkpoints_steps = 5,
    session_config = list(
      gpu_options = list(allow_growth = TRUE),
      device_filters = "/job:ps",
      intra_op_parallelism_threads = 2
    )
  ))
  expect_identical(python$train_distribute$num_replicas_in_sync, 2L)
  expect_null(python$eval_distribute)
  expect_identical(python$save_checkpoints_steps, 5L)
  expect_null(python$save_checkpoints_secs)
  session <- python$session_config
  expect_true(session$gpu_options$allow_growth)
  expect_true(session$allow_soft_placement)
  expect_identical(session$intra_op_parallelism_threads, 2L)
  expect_identical(as.character(session$device_filters[0]), "/job:ps")
})

test_that("what only Python can know is refused as a classed error with its text", {
  skip_if_no_tensorflow()
  # How many CPU devices a session can have depends on the machine's cores.
  without_count <- function(lines) sub("can have at most [0-9]+", "can have at most <n>", lines)
  expect_snapshot(error = TRUE, transform = without_count, {
    as_python(run_config(session_config = list(gpu_options = list(allow_growht = TRUE))))
    as_python(run_config(strategy_multi_worker()))
    as_python(run_config(strategy_mirrored("CPU:999")))
    as_python(1)
  })
  error <- expect_error(
    as_python(run_config(session_config = list(threads = 2))),
    class = "tfdistribute_run_config_error"
  )
  expect_identical(error$argument, "session_config$threads")
  expect_error(
    as_python(run_config(strategy_tpu())),
    "which lacks a device file",
    class = "tfdistribute_strategy_error"
  )
})
