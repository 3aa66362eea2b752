# The conditions that come back from Python: interrupts, warnings and errors.

# R has noted the Ctrl-C that Python has handled, and a second one, and would raise it before the verb has reported its
# state, or in the user's next call.
forget_interrupt <- function() {
  tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = function(interrupt) NULL)
  invisible()
}

# A warning that R raises in a callback from Python does not reach the user's handlers, so it is kept until the call
# ends.
keep_warning <- function(warning) {
  the$kept_warnings <- c(the$kept_warnings, list(warning))
}

raise_kept_warnings <- function() {
  kept <- the$kept_warnings
  the$kept_warnings <- NULL
  for (warning in kept) {
    rlang::cnd_signal(warning)
  }
}

warn_of_new_labels <- function(found) {
  if (!is.null(found)) {
    rlang::warn(
      c(found$problem, i = found$remedy),
      "tfdistribute_new_levels_warning",
      labels = found$labels
    )
  }
}

raise_python_error <- function(error) {
  parent <- the$callback_error
  trace <- the$callback_trace
  the$callback_error <- NULL
  the$callback_trace <- NULL
  if (!is.null(parent)) {
    text <- shown_as_utf8(conditionMessage(parent))
    came_back <- grepl(error$problem, text, fixed = TRUE)
    if (error$kind != "callback" && came_back) {
      # An error of this package, which came back through R.
      parent <- NULL
    } else {
      # The parent has the same message.
      error$problem <- sub(paste0(": ", text), ".", error$problem, fixed = TRUE)
    }
  }
  abort_tfdistribute(
    error$kind,
    problem = "{error$problem}",
    remedy = if (!is.null(error$remedy)) "{error$remedy}",
    argument = error$argument,
    value = error$value,
    parent = parent,
    traceback = error$traceback,
    trace = trace
  )
}
