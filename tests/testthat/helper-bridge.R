# A stand-in for the bridge: answers what it is told to, and keeps what it was asked.
local_bridge <- function(answer, frame = parent.frame()) {
  asked <- new.env(parent = emptyenv())
  before <- the$bridge
  the$bridge <- list(call = function(name, arguments, ...) {
    asked$name <- name
    asked$arguments <- arguments
    answer
  })
  withr::defer(the$bridge <- before, envir = frame)
  asked
}

# A stand-in whose functions answer for themselves, by name; each gets the arguments that R gave. One that answers
# "interrupt" was interrupted.
local_answers <- function(..., frame = parent.frame()) {
  answers <- list(...)
  before <- the$bridge
  the$bridge <- list(call = function(name, arguments, ...) {
    value <- answers[[name]](arguments)
    if (identical(value, "interrupt")) list(interrupt = TRUE) else list(value = value)
  })
  withr::defer(the$bridge <- before, envir = frame)
}

# Fail if Python is started, for checks that do without it.
local_no_python <- function(frame = parent.frame()) {
  before <- the$bridge
  the$bridge <- list(call = function(...) rlang::abort("Python was started"))
  withr::defer(the$bridge <- before, envir = frame)
}

# The answer of trained_state() for a model that was not trained.
untrained <- function(arguments) {
  list(checkpoint = NULL, terms = list(), replacements = list())
}
