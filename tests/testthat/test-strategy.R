every_strategy <- function() {
  list(
    strategy_one_device("gpu:1"),
    strategy_mirrored(),
    strategy_mirrored(1),
    strategy_mirrored(2, cross_device = "one_device"),
    strategy_mirrored(c("/gpu:1", "GPU:0"), cross_device = "nccl"),
    strategy_mirrored(4, devices_per_replica = 2),
    strategy_central_storage(list("CPU:0", "/device:CPU:1")),
    strategy_model_parallel(),
    strategy_model_parallel(c("CPU:0", "GPU:0")),
    strategy_multi_worker(),
    strategy_multi_worker("ring", timeout_s = 30),
    strategy_multi_worker(devices_per_replica = 2),
    strategy_multi_worker("shared_memory"),
    strategy_multi_worker(compression = "bfloat16"),
    strategy_parameter_server(),
    strategy_tpu(),
    strategy_tpu(steps_per_run = 50)
  )
}

test_that("every strategy prints what it will do", {
  expect_snapshot(invisible(lapply(every_strategy(), print)))
})

test_that("every strategy is a plain value that can be saved", {
  file <- withr::local_tempfile()
  for (strategy in every_strategy()) {
    saveRDS(strategy, file)
    expect_identical(readRDS(file), strategy)
    expect_s3_class(strategy, "tfdistribute_strategy")
    expect_s3_class(strategy, paste0("tfdistribute_", strategy$kind, "_strategy"))
    expect_true(all(vapply(unclass(strategy), function(x) is.null(x) || is.atomic(x), NA)))
  }
})

test_that("devices are NULL, a count, or names in a vector or a list", {
  expect_null(strategy_mirrored()$devices)
  expect_identical(strategy_mirrored(2)$devices, 2L)
  names <- c("CPU:0", "cpu:1")
  expect_identical(strategy_mirrored(names)$devices, names)
  expect_identical(strategy_central_storage(list("CPU:0", "cpu:1"))$devices, names)
})

test_that("replicas have at least one device", {
  expect_snapshot(error = TRUE, {
    strategy_mirrored(devices_per_replica = 0)
    strategy_multi_worker(devices_per_replica = "2")
  })
  expect_identical(strategy_mirrored(4, devices_per_replica = 2)$devices_per_replica, 2L)
})

test_that("devices that cannot be meant are refused with a remedy", {
  expect_snapshot(error = TRUE, {
    strategy_mirrored(0)
    strategy_mirrored(1.5)
    strategy_mirrored(TRUE)
    strategy_mirrored(NA)
    strategy_one_device(1)
  })
})

test_that("a choice that does not exist is refused", {
  expect_snapshot(error = TRUE, {
    strategy_mirrored(2, cross_device = "ring")
    strategy_multi_worker("tcp")
    strategy_tpu("")
    strategy_tpu(steps_per_run = 0)
  })
})

test_that("errors carry class, argument and value", {
  error <- expect_error(strategy_mirrored(0), class = "tfdistribute_strategy_error")
  expect_s3_class(error, "tfdistribute_error")
  expect_identical(error$argument, "devices")
  expect_identical(error$value, "0")
  expect_error(strategy_tpu(NULL), class = "tfdistribute_argument_error")
})

test_that("braces in a value are data", {
  expect_error(strategy_mirrored(2, cross_device = "{x}"), "{x}", fixed = TRUE)
})

test_that("the script for a TPU compares what it trains with the CPU", {
  skip_if_no_tensorflow()
  found <- in_child_r(
    function(path) {
      session <- new.env()
      sys.source(path, session)
      list(
        compared = session$verify_tpu(strategy_mirrored(2), tolerance = 1e-5),
        refused = tryCatch(session$verify_tpu(), error = identity)
      )
    },
    list(file.path(source_root(), "inst", "examples", "verify-tpu.R"))
  )
  expect_identical(found$compared$agrees, c(TRUE, TRUE, TRUE))
  expect_s3_class(found$refused, "tfdistribute_strategy_error")
  expect_identical(found$refused$argument, "strategy")
})
