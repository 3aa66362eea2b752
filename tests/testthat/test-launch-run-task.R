# Failures that a task reports and prints. Python is a stand-in.

local_reported <- function(frame = parent.frame()) {
  reported <- new.env()
  reported$events <- list()
  local_answers(
    task_event = function(arguments) {
      reported$events <- c(reported$events, list(arguments))
      NULL
    },
    frame = frame
  )
  reported
}

test_that("a verb that succeeds has status 0 and reports no failure", {
  reported <- local_reported()
  expect_identical(exit_status(1 + 1), 0L)
  expect_length(reported$events, 0)
})

test_that("an error in R code is reported with its backtrace", {
  reported <- local_reported()
  read_something <- function() stop("no {such} file")
  expect_message(status <- exit_status(read_something()), "no {such} file", fixed = TRUE)
  expect_identical(status, 1L)
  event <- reported$events[[1]]
  expect_identical(event$event, "failed")
  expect_identical(event$fields$kinds, list("callback", "error"))
  expect_identical(event$fields$problem, "no {such} file")
  expect_match(event$fields$r_traceback, "read_something()", fixed = TRUE)
  expect_false(event$fields$transient)
})

test_that("an error of this package keeps its kinds, remedy and argument", {
  reported <- local_reported()
  failing <- function() {
    abort_tfdistribute("sharding", "It does not divide.", "Use 4.", argument = "x", value = "3")
  }
  expect_message(exit_status(failing()), "It does not divide")
  fields <- reported$events[[1]]$fields
  expect_identical(fields$kinds, list("sharding", "input", "error"))
  expect_identical(
    fields[c("problem", "remedy", "argument", "value")],
    list(
      problem = "It does not divide.",
      remedy = "Use 4.",
      argument = "x",
      value = "3"
    )
  )
})

test_that("an interrupted task prints its R calls", {
  local_reported()
  withr::local_envvar(TFDISTRIBUTE_EVENTS = "events")
  waiting_for_nothing <- function() rlang::interrupt()
  written <- capture.output(type = "message", status <- exit_status(waiting_for_nothing()))
  expect_identical(status, 130L)
  expect_match(paste(written, collapse = "\n"), "Interrupted in R:.*waiting_for_nothing\\(\\)")
  withr::local_envvar(TFDISTRIBUTE_EVENTS = NA)
  expect_silent(exit_status(waiting_for_nothing()))
})
