# A stand-in for the bridge: answers what it is told to, and keeps what it was asked.
local_bridge <- function(answer, frame = parent.frame()) {
  asked <- new.env(parent = emptyenv())
  before <- the$bridge
  the$bridge <- list(call = function(name, arguments, tf_config) {
    asked$name <- name
    asked$arguments <- arguments
    answer
  })
  withr::defer(the$bridge <- before, envir = frame)
  asked
}
