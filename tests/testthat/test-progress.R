event <- function(step, last_step = 100L, speed = 1234.5) {
  list(
    event = "step",
    step = step,
    loss = 0.123456,
    last_step = last_step,
    examples_per_second = speed
  )
}

test_that("outside a terminal a line comes at each quarter and at the end", {
  progress <- new_progress(show = TRUE, dynamic = FALSE)
  lines <- capture_messages({
    for (step in c(1L, 10L, 20L, 26L, 30L, 51L, 99L)) {
      progress$listener(event(step))
    }
    progress$finish()
  })
  expect_snapshot(cat(lines, sep = ""))
})

test_that("an evaluation and a prediction count batches", {
  now <- list2env(list(time = as.POSIXct("2020-01-01", tz = "UTC")))
  display <- function() {
    shown <- progress_lines(clock = function() now$time)
    now$time <- now$time + 11
    shown
  }
  progress <- display()
  batch <- function(step, last_step, verb = "evaluate", speed = 2000) {
    list(
      event = "batch",
      verb = verb,
      step = step,
      last_step = last_step,
      examples_per_second = speed
    )
  }
  expect_message(progress$step(batch(20L, 40L)), "^evaluate: batch 20/40  2,000 examples/s\n$")
  progress <- display()
  expect_message(progress$step(batch(3L, NULL, "predict", NaN)), "^predict: batch 3\\s*$")
  # The result follows: the last batch that was reported is not the last one.
  expect_silent(progress$step(batch(4L, NULL, "predict", NaN)))
  expect_silent(progress$finish())
})

test_that("without a last step a line comes after ten seconds", {
  now <- new.env()
  now$time <- as.POSIXct("2020-01-01", tz = "UTC")
  display <- progress_lines(clock = function() now$time)
  lines <- capture_messages({
    display$step(event(1L, last_step = NULL))
    display$step(event(2L, last_step = NULL))
    now$time <- now$time + 11
    display$step(event(3L, last_step = NULL))
    display$finish()
  })
  expect_length(lines, 2)
  expect_match(lines[[2]], "^step 3  loss")
})

test_that("evaluations are told with their metrics", {
  progress <- new_progress(show = TRUE, dynamic = FALSE)
  expect_message(
    progress$listener(list(event = "evaluation", global_step = 20, loss = 0.5, accuracy = 0.75)),
    "evaluation at step 20: loss 0.5, accuracy 0.75"
  )
})

test_that("a bar in a terminal shows and ends without an error", {
  withr::local_options(cli.dynamic = TRUE, cli.progress_show_after = 0, cli.ansi = FALSE)
  shown <- capture.output(type = "message", {
    progress <- new_progress(show = TRUE, dynamic = TRUE)
    progress$listener(event(1L))
    progress$listener(event(50L))
    progress$listener(event(51L, last_step = 100L, speed = NaN))
    progress$finish()
  })
  expect_match(paste(shown, collapse = ""), "step 51/100", fixed = TRUE)
})

test_that("options(tfdistribute.progress = FALSE) is silent and costs no calls", {
  withr::local_options(tfdistribute.progress = FALSE)
  progress <- new_progress()
  expect_null(progress$listener)
  expect_silent(progress$finish())
})

test_that("before the first step a line says what the tasks do", {
  task <- function(name, activity) list(task = name, activity = activity)
  monitor <- function(tasks) {
    seen <- list2env(list(phase = NULL, step = 0L, evaluations = 0L))
    progress <- new_progress(show = TRUE, dynamic = FALSE)
    show_progress(list(tasks = tasks, evaluations = list()), seen, progress)
  }
  tasks <- list(
    task("chief 0", "loading TensorFlow"),
    task("worker 0", "loading TensorFlow"),
    task("evaluator 0", "waiting for a checkpoint")
  )
  expect_message(
    monitor(tasks),
    "chief 0, worker 0: loading TensorFlow; evaluator 0: waiting for a checkpoint",
    fixed = TRUE
  )
  expect_silent(monitor(list(task("chief 0", "starting"), task("worker 0", "starting"))))
  many <- lapply(paste("worker", 0:98), task, activity = "building the model")
  expect_message(monitor(many), "^99 tasks: building the model")
})

test_that("lines say how much time is left once there is a speed to judge by", {
  now <- new.env()
  now$time <- as.POSIXct("2020-01-01", tz = "UTC")
  display <- progress_lines(clock = function() now$time)
  lines <- capture_messages({
    display$step(event(1L, last_step = 1001L))
    now$time <- now$time + 60
    display$step(event(251L, last_step = 1001L))
    now$time <- now$time + 180
    display$step(event(1001L, last_step = 1001L))
    display$finish()
    # A second training of the same verb.
    now$time <- now$time + 60
    display$step(event(1L, last_step = 101L))
    now$time <- now$time + 60
    display$step(event(26L, last_step = 101L))
    display$finish()
    display$finish()
  })
  expect_length(lines, 5)
  expect_false(any(grepl("left", lines[c(1, 3, 4)])))
  expect_match(lines[c(2, 5)], "  3 min left", fixed = TRUE)
})

test_that("an interrupted verb says where training continues", {
  local_bridge(list(interrupt = TRUE, text = "Stopped at {step} 7."))
  said <- capture_messages(
    tryCatch(call_backend("train"), interrupt = function(interrupt) NULL)
  )
  expect_match(said, "Stopped at {step} 7.", fixed = TRUE)
})

test_that("a job says at once which processes it starts", {
  cluster <- local_cluster(workers = 3, ps = 1)
  expect_identical(
    show_processes(cluster, "train_and_evaluate"),
    "3 workers, 1 parameter server, and an evaluator"
  )
  expect_identical(show_processes(local_cluster(workers = 2), "train"), "2 workers")
})

test_that("waiting for input and the use of GPUs are shown where they matter", {
  expect_null(utilization_text(list(input_wait = 0.1)))
  expect_identical(utilization_text(list(input_wait = 0.62)), "waits for input 62 %")
  event <- list(event = "step", step = 3, loss = 0.5, gpu_utilization = 0.853, input_wait = 0.5)
  expect_identical(
    progress_text(event),
    "step 3  loss 0.5  GPU 85 %  waits for input 50 %"
  )
})
