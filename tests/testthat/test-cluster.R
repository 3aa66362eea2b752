# Addresses reserved for documentation.
three <- function(...) {
  address_cluster(
    chief = "192.0.2.1:2222",
    worker = c("192.0.2.2:2222", "192.0.2.3:2222"),
    evaluator = "192.0.2.1",
    ...
  )
}

test_that("a printed cluster shows its tasks and their addresses", {
  expect_snapshot({
    three(task = "worker 1")
    address_cluster(worker = "[2001:db8::1]:2222", start_timeout_s = 600, stall_timeout_s = 3600)
    local_cluster(workers = 2)
    local_cluster(1, ps = 2, evaluator = FALSE, devices_per_worker = 2, memory_limit_mb = 512)
    local_cluster(2, start_timeout_s = 90, stall_timeout_s = 30, restarts = 1, network = "open")
    run_config(strategy_multi_worker(), cluster = local_cluster(2))
  })
})

test_that("a cluster is a plain value that can be saved", {
  file <- withr::local_tempfile()
  for (described in list(three(task = "worker 1"), local_cluster(2))) {
    saveRDS(described, file)
    expect_identical(readRDS(file), described)
    expect_s3_class(described, "tfdistribute_cluster")
  }
})

test_that("a field of a cluster of addresses can be changed, and is checked", {
  described <- three(task = "worker 1")
  described$task <- "worker 0"
  described[["ps"]] <- "192.0.2.9:2222"
  expect_identical(described, three(ps = "192.0.2.9:2222", task = "worker 0"))
  expect_error(described$ps <- 1, class = "tfdistribute_argument_error")
})

test_that("a task is given as text or as a list", {
  expect_identical(three(task = list(type = "worker", index = 1)), three(task = "worker 1"))
})

test_that("an error in a cluster names the argument", {
  expect_snapshot(error = TRUE, {
    address_cluster(chief = 2222)
    address_cluster(chief = "a:1", task = "worker one")
    address_cluster(chief = "a:1", task = list(type = "worker"))
    address_cluster(chief = "a:1", start_timeout_s = 0)
    address_cluster(chief = "a:1", stall_timeout_s = "long")
    local_cluster(0)
    local_cluster(2, ps = -1)
    local_cluster(2, evaluator = 1)
    local_cluster(2, restarts = -1)
    local_cluster(2, network = "public")
    address_cluster(worker = globalenv())
    address_cluster(worker = local_cluster(2))
    address_cluster(chief = list("a:1", 2))
    address_cluster(ps = as.POSIXlt("2020-01-01"))
    run_config(cluster = "a:1")
  })
})

test_that("TF_CONFIG has the evaluator outside the cluster", {
  expect_snapshot({
    as_tf_config(three(), "worker 1")
    as_tf_config(three(), "evaluator 0")
  })
  expect_named(as_tf_config(three()), c("chief 0", "worker 0", "worker 1", "evaluator 0"))
})

test_that("as_tf_config() is an error for a task that is not in the cluster", {
  expect_snapshot(error = TRUE, {
    as_tf_config(three(), "worker 2")
    as_tf_config(local_cluster(2), "worker 0")
    as_tf_config("a:1")
  })
})

test_that("the TF_CONFIGs of a local cluster agree on free ports", {
  skip_if_no_tensorflow()
  texts <- as_tf_config(local_cluster(2, ps = 1))
  expect_named(texts, c("chief 0", "worker 0", "ps 0", "evaluator 0"))
  expect_length(unique(sub(", \"task\".*", "", unlist(texts))), 1)
  expect_identical(nrow(check_cluster(texts)), 0L)
})

test_that("a cluster from the environment records the variable's name", {
  skip_if_no_tensorflow()
  expect_null(cluster_from_environment())
  text <- as_tf_config(three(), "worker 1")
  withr::local_envvar(TF_CONFIG = text)
  found <- cluster_from_environment()
  expect_identical(found$source, "TF_CONFIG")
  expect_identical(cluster_from_environment(stall_timeout_s = 900)$stall_timeout_s, 900)
  expect_identical(as_tf_config(found, found$task), text)
  expect_snapshot(found)
  withr::local_envvar(TF_CONFIG = "{\"cluster\": {chief}}")
  expect_snapshot(cluster_from_environment(), error = TRUE)
  withr::local_envvar(TF_CONFIG = "{\"cluster\": {\"master\": [\"a:1\"]}}")
  expect_snapshot(cluster_from_environment(), error = TRUE)
})

test_that("all mistakes of a cluster are rows of one table", {
  skip_if_no_tensorflow()
  text <- paste0(
    "{\"cluster\": {\"chief\": [\"192.0.2.1:2222\"], \"worker\": [\"192.0.2.2\", \"192.0.2.1:2222\"]}, ",
    "\"task\": {\"type\": \"worker\", \"index\": 2}}"
  )
  found <- check_cluster(text, batch_size = 128)
  expect_s3_class(found, "tbl_df")
  expect_named(found, c("field", "severity", "message", "fix"))
  expect_identical(found$field, c("task", "worker 0", "worker 1", "batch_size"))
  expect_snapshot(found)
  expect_snapshot(check_cluster(three()))
})

test_that("a program that tools/env runs is given TF_CONFIG", {
  program <- file.path(source_root(), "tools", "env")
  skip_if_not(dir.exists(file.path(source_root(), ".environment", "python", "bin")))
  withr::local_envvar(TF_CONFIG = "kept")
  expect_identical(system2(program, c("printenv", "TF_CONFIG"), stdout = TRUE), "kept")
})

test_that("the GPUs of hosts are no mistakes of a cluster", {
  gpus <- "a has these GPUs: NVIDIA H100 (81559 MB, driver 550.54.15)."
  note <- list(field = "hosts", severity = "note", message = gpus, fix = "")
  local_bridge(list(value = list(note)))
  output <- capture.output(print(check_cluster(local_cluster(2))))
  expect_identical(output, c("<check_cluster> 0 mistakes", paste("note: hosts:", gpus)))
})

test_that("check_cluster() reads TF_CONFIG strings and the environment", {
  skip_if_no_tensorflow()
  expect_identical(check_cluster("{")$field, "TF_CONFIG")
  texts <- list(
    as_tf_config(three(), "chief 0"),
    as_tf_config(address_cluster("192.0.2.1:1"), "chief 0")
  )
  expect_match(check_cluster(texts)$message, "differs from the `cluster` of the first")
  withr::local_envvar(TF_CONFIG = "{\"cluster\": {}}")
  expect_true("cluster" %in% check_cluster()$field)
  withr::local_envvar(TF_CONFIG = NA)
  expect_snapshot(error = TRUE, {
    check_cluster()
    check_cluster(2)
    check_cluster(three(), batch_size = 0)
  })
})

test_that("a plan shows every task and warns about open ports", {
  skip_if_no_tensorflow()
  model <- linear_regressor(
    feature_columns(column_numeric("wt")),
    model_dir = "/runs/cars",
    config = run_config(strategy_multi_worker(), cluster = three())
  )
  training <- train_spec(input_fn(mpg ~ wt, mtcars, batch_size = 12, epochs = NULL))
  evaluation <- eval_spec(input_fn(mpg ~ wt, mtcars), name = "cars")
  planned <- plan_training(model, training, evaluation)
  expect_snapshot(planned)
  texts <- vapply(as_tf_config(three()), as.vector, "", USE.NAMES = FALSE)
  expect_identical(planned$environment, texts)
  expect_identical(planned$replica_batch_size, c(4L, 4L, 4L, 128L))
  expect_snapshot(plan_training(model, training, cluster = NULL))
  for (wrong in list(-1, "GPU:0")) {
    expect_error(
      plan_training(model, training, cluster = NULL, devices_per_worker = wrong),
      class = "tfdistribute_argument_error"
    )
  }
  expect_snapshot({
    servers <- local_cluster(2, ps = 1)
    plan_training(model, cluster = servers, strategy = NULL, script = "my script.R")
  })
  in_parts <- model
  in_parts$config <- run_config(precision = "mixed_bfloat16", micro_batches = 4)
  expect_snapshot(plan_training(in_parts, training))
})

test_that("a plan refuses more devices than a process of this machine has", {
  skip_if_no_tensorflow()
  skip_if(dir.exists("/proc/driver/nvidia") || file.exists("/dev/kfd"))
  described <- local_cluster(2, devices_per_worker = 2)
  config <- run_config(strategy_multi_worker(), cluster = described)
  expect_error(
    plan_training(linear_regressor(column_numeric("wt"), config = config)),
    class = "tfdistribute_strategy_error"
  )
})

test_that("a plan of one process divides the batch over the strategy's devices", {
  skip_if_no_tensorflow()
  batch_of <- function(strategy) {
    config <- run_config(strategy)
    model <- linear_regressor(feature_columns(column_numeric("wt")), "runs/cars", config = config)
    plan_training(model, input_fn(mpg ~ wt, mtcars, batch_size = 12))$replica_batch_size
  }
  expect_identical(batch_of(NULL), 12L)
  expect_identical(batch_of(strategy_mirrored(3)), 4L)
  expect_identical(batch_of(strategy_central_storage(c("CPU:0", "CPU:1"))), 6L)
  # Only TensorFlow knows the number of GPUs.
  expect_identical(batch_of(strategy_mirrored()), NA_integer_)
})

test_that("a plan of a model in parts has a line for each logical device", {
  skip_if_no_tensorflow()
  batches <- input_fn(mpg ~ wt, mtcars, batch_size = 8)
  plan_of <- function(strategy, ...) {
    config <- run_config(strategy)
    model <- linear_regressor(feature_columns(column_numeric("wt")), "/runs/cars", config = config)
    plan_training(model, batches, ...)
  }
  expect_snapshot({
    plan_of(strategy_model_parallel(c("CPU:0", "GPU:0")))
    plan_of(strategy_mirrored(4, devices_per_replica = 2))
    plan_of(strategy_multi_worker(devices_per_replica = 2), cluster = local_cluster(2))
  })
  several <- plan_of(strategy_mirrored(4, devices_per_replica = 2))
  expect_identical(several$replica_batch_size, 4L)
  expect_identical(
    several$logical_devices,
    list(c("GPU:0, GPU:2 (or CPU:0, CPU:2)", "GPU:1, GPU:3 (or CPU:1, CPU:3)"))
  )
  expect_identical(plan_of(strategy_mirrored(2))$logical_devices, list(character()))
  expect_error(
    plan_of(
      strategy_multi_worker(devices_per_replica = 2),
      cluster = local_cluster(2, devices_per_worker = 3)
    ),
    class = "tfdistribute_strategy_error"
  )
})

test_that("a plan that cannot be trained is an error", {
  skip_if_no_tensorflow()
  columns <- feature_columns(column_numeric("wt"))
  mirrored <- linear_regressor(columns, "runs/cars", config = run_config(strategy_mirrored(2)))
  expect_snapshot(error = TRUE, {
    plan_training(mirrored, cluster = three())
    plan_training(
      linear_regressor(columns, "runs/cars"),
      input_fn(mpg ~ wt, mtcars, batch_size = 8),
      cluster = three()
    )
    plan_training(mtcars)
  })
})

test_that("a cluster on other machines is an error that says how to start it", {
  skip_if_no_tensorflow()
  model <- linear_regressor(
    feature_columns(column_numeric("wt")),
    model_dir = "runs/cars",
    config = run_config(strategy_multi_worker(), cluster = three())
  )
  expect_snapshot(train(model, input_fn(mpg ~ wt, mtcars)), error = TRUE)
  expect_snapshot(launch(model, input_fn(mpg ~ wt, mtcars)), error = TRUE)
  model$config <- run_config()
  expect_snapshot(launch(model, input_fn(mpg ~ wt, mtcars)), error = TRUE)
})

test_that("a strategy that does not match the cluster's roles is an error before anything starts", {
  skip_if_no_tensorflow()
  train_under <- function(strategy, ...) {
    model <- linear_regressor(
      feature_columns(column_numeric("wt")),
      model_dir = "runs/cars",
      config = run_config(strategy, cluster = local_cluster(...))
    )
    train(model, input_fn(mpg ~ wt, mtcars))
  }
  expect_snapshot(error = TRUE, {
    train_under(strategy_multi_worker(), workers = 2, ps = 1)
    train_under(strategy_parameter_server(), workers = 2)
  })
  expect_false(dir.exists("runs"))
})

test_that("the plan of a hundred workers fits a screen, and names what they share", {
  row <- function(task) {
    list(
      task = task,
      host = "localhost",
      port = NULL,
      role = "trains and shares gradients",
      reads = "1/100 of the rows",
      global_batch_size = 100L,
      replica_batch_size = 1L,
      writes = "nothing",
      environment = NULL,
      command = "started by launch()"
    )
  }
  large <- new_plan(lapply(c("chief 0", paste("worker", 0:98), "evaluator 0"), row))
  printed <- capture.output(print(large))
  expect_lt(length(printed), 25)
  expect_true("... and 98 more tasks like it, up to worker 98" %in% printed)
  expect_match(format(local_cluster(100)), "  chief 0, worker 0 to 98, evaluator 0", all = FALSE)
})
