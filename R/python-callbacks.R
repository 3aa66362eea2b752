# Callbacks: functions of the user that Python calls.

# An R error would lose its class and data on its way through TensorFlow. Therefore it is stored here, Python raises
# CallbackError, and the stored condition becomes the parent. Its backtrace must be taken while the stack exists. Tasks
# compare the code of functions, unless they only read data.
guard_callback <- function(callback, compared = TRUE) {
  force(callback)
  guarded <- function(...) {
    frame <- environment()
    the$callback_place <- NULL
    the$absent_feature <- NULL
    tryCatch(
      withCallingHandlers(
        value_for_python(list(value = allowInterrupts(callback(...)))),
        error = function(error) keep_callback_error(error, frame),
        interrupt = function(interrupt) show_calls()
      ),
      error = function(error) {
        the$callback_error <- the$callback_error %||% error
        value_for_python(list(
          error = shown_as_utf8(conditionMessage(error)),
          place = shown_as_utf8(the$callback_place),
          has_remedy = !is.null(error$remedy),
          absent = the$absent_feature,
          traceback = shown_as_utf8(trace_text(the$callback_trace))
        ))
      },
      # R notices Ctrl-C while R code runs, and notifies Python.
      interrupt = function(interrupt) list(interrupt = TRUE)
    )
  }
  list(
    call = value_for_python(guarded),
    formals = as.list(names(formals(args(callback)))),
    code = if (compared) value_for_python(function() code_for_python(callback))
  )
}

# The first error causes the errors that follow.
keep_callback_error <- function(error, frame) {
  if (!is.null(the$callback_error)) {
    return(invisible())
  }
  error$message <- shown_as_utf8(error$message)
  the$callback_error <- error
  # rlang shows the last branch of a backtrace, so it must end at the error, not in this handler.
  last <- sys.nframe() - 2
  if (identical(sys.call(last)[[1]], quote(.handleSimpleError))) {
    last <- last - 1
  }
  # reticulate's stop() frame is a sibling of the failing call, and has the condition in its call.
  if (identical(sys.call(last)[[1]], as.name("stop")) && is.object(sys.call(last)[[2]])) {
    last <- last - 1
  }
  the$callback_place <- place_of_failure(match_frame(frame), last, error)
  bottom <- sys.frame(last)
  the$callback_trace <- error$trace %||%
    tryCatch(rlang::trace_back(top = frame, bottom = bottom), error = function(error) NULL)
}

code_for_python <- function(callback) {
  tryCatch(value_for_python(code_of_function(callback)), error = function(error) NULL)
}

# A value as a Python object. A callback converts its return value itself. If reticulate failed to convert it after the
# callback, R's error would jump over the frames of Python that called it, and R would end. reticulate 1.46 would wait
# for ever after such an error about strings.
value_for_python <- function(value) {
  check_text_in(value)
  python_value(value, convert = TRUE)
}

match_frame <- function(frame) {
  Position(function(each) identical(each, frame), sys.frames())
}

# Packages whose functions are not the user's.
own_packages <- c("base", "reticulate", "rlang", "tensorflow", "tfdistribute")

# " at net.R:12, in `tf$expand_dims(features$wt, 1)`": the last call that the user wrote, between two frames. R has
# recorded the file and the line if it was started with options(keep.source = TRUE), as in a session.
place_of_failure <- function(first, last, error) {
  is_users <- function(index) {
    !environmentName(topenv(environment(sys.function(index)))) %in% own_packages
  }
  users <- Filter(is_users, seq(first, last))
  if (length(users) == 0) {
    return(NULL)
  }
  deepest <- max(users)
  # Functions in R itself have no frame.
  call <- if (deepest < last) sys.call(deepest + 1) else conditionCall(error)
  # A method of a group of operators is called by its own name.
  operator <- if (deepest < last) sys.frame(deepest + 1)$.Generic
  if (!is.null(operator) && !identical(operator, "[")) {
    call[[1]] <- as.name(operator)
  }
  source <- attr(call, "srcref") %||% attr(sys.function(deepest), "srcref")
  file <- if (!is.null(source)) basename(attr(source, "srcfile")$filename %||% "")
  paste0(
    # Code that was typed, or runs in knitr, has no file or "<text>".
    if (isTRUE(grepl("^[^<]", file))) paste0(" at ", file, ":", source[[1]]),
    if (!is.null(call)) paste0(", in `", rlang::as_label(call), "`")
  )
}

# A backtrace as one string without colors, for a file or another process.
trace_text <- function(trace) {
  if (is.null(trace) || length(trace) == 0) {
    return(NULL)
  }
  rlang::local_options(cli.num_colors = 1L, crayon.enabled = FALSE)
  paste(format(trace), collapse = "\n")
}

# An interrupted task writes the position of its R code to its log.
show_calls <- function() {
  if (nzchar(Sys.getenv("TFDISTRIBUTE_EVENTS"))) {
    calls <- rlang::trace_back()
    cat("Interrupted in R:", trace_text(calls), sep = "\n", file = stderr())
  }
}
