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
  progress <- new_progress(show = TRUE, dynamic = FALSE)
  batch <- function(step, last_step, verb = "evaluate", speed = 2000) {
    list(
      event = "batch",
      verb = verb,
      step = step,
      last_step = last_step,
      examples_per_second = speed
    )
  }
  expect_message(progress$listener(batch(20L, 40L)), "^evaluate: batch 20/40  2,000 examples/s\n$")
  progress <- new_progress(show = TRUE, dynamic = FALSE)
  expect_message(progress$listener(batch(3L, NULL, "predict", NaN)), "^predict: batch 3\\s*$")
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
