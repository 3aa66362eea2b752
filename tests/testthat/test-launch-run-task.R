# The end of a task, as it is told and as it is written to its log. Python is a stand-in.

local_told <- function(frame = parent.frame()) {
  told <- new.env()
  told$events <- list()
  local_answers(
    task_event = function(arguments) {
      told$events <- c(told$events, list(arguments))
      NULL
    },
    frame = frame
  )
  told
}

test_that("work that ends well has the status 0, and tells no failure", {
  told <- local_told()
  expect_identical(status_of(1 + 1), 0L)
  expect_length(told$events, 0)
})

test_that("an error of R's own code is told with its calls", {
  told <- local_told()
  read_something <- function() stop("no {such} file")
  expect_message(status <- status_of(read_something()), "no {such} file", fixed = TRUE)
  expect_identical(status, 1L)
  event <- told$events[[1]]
  expect_identical(event$event, "failed")
  expect_identical(event$fields$kinds, list("callback", "error"))
  expect_identical(event$fields$problem, "no {such} file")
  expect_match(event$fields$r_traceback, "read_something()", fixed = TRUE)
  expect_false(event$fields$transient)
})

test_that("an error of this package keeps its kinds, remedy and argument", {
  told <- local_told()
  failing <- function() {
    abort_tfdistribute("sharding", "It does not divide.", "Use 4.", argument = "x", value = "3")
  }
  expect_message(status_of(failing()), "It does not divide")
  fields <- told$events[[1]]$fields
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

test_that("an interrupted task writes where its R code was", {
  local_told()
  withr::local_envvar(TFDISTRIBUTE_EVENTS = "events")
  waiting_for_nothing <- function() rlang::interrupt()
  written <- capture.output(type = "message", status <- status_of(waiting_for_nothing()))
  expect_identical(status, 130L)
  expect_match(paste(written, collapse = "\n"), "Interrupted in R:.*waiting_for_nothing\\(\\)")
  withr::local_envvar(TFDISTRIBUTE_EVENTS = NA)
  expect_silent(status_of(waiting_for_nothing()))
})
