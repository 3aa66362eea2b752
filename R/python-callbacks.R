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

# The code of a function and the values that it uses, as plain values, so that the tasks of a cluster can compare their
# trainings. callbacks/code.py reads the result.

# Values that differ between processes, and values that cannot be compared (environments, pointers, Python objects), are
# omitted.
code_of_function <- function(callback) {
  comparable(callback, rlang::new_environment(list(seen = list())))
}

# Times of this process, and numbers of its open files.
of_one_process <- c("POSIXt", "difftime", "proc_time", "connection")

comparable <- function(value, state) {
  if (is_python_object(value) || inherits(value, of_one_process)) {
    NULL
  } else if (is.null(value)) {
    "NULL"
  } else if (is.function(value)) {
    if (!is_seen(value, state)) comparable_function(value, state)
  } else if (is.language(value)) {
    checksum_of(deparse(value, control = code_format))
  } else if (is.list(value)) {
    comparable_list(value, state)
  } else if (is.atomic(value)) {
    comparable_vector(value)
  }
}

# Without the places in files, and with unchanged numbers.
code_format <- c("keepNA", "keepInteger", "digits17")

comparable_function <- function(callback, state) {
  list(
    language = paste0("R ", R.version$major, ".", sub("[.].*", "", R.version$minor)),
    code = checksum_of(deparse(callback, control = code_format)),
    uses = used_values(callback, state)
  )
}

used_values <- function(callback, state) {
  home <- environment(callback)
  # Functions of packages find their variables in the packages.
  if (is.null(home) || (is_in_every_process(home) && !identical(home, globalenv()))) {
    return(list())
  }
  names <- names_used_by(callback)
  if (any(names %in% dynamic_functions)) {
    names <- c(names, unlist(lapply(frames_of(home), ls, all.names = TRUE)))
  }
  names <- setdiff(unique(names), c("...", names_counted_by(callback)))
  values <- lapply(rlang::set_names(names), function(name) {
    frame <- find_variable(name, home)
    if (!is.null(frame) && !bindingIsActive(name, frame)) {
      value <- get(name, envir = frame, inherits = FALSE)
      if (!rlang::is_missing(value)) comparable(value, state)
    }
  })
  Filter(Negate(is.null), values)
}

# Variables that a function sets for its next call, because tasks may have called it more or less often.
names_counted_by <- function(callback) {
  targets <- lapply(calls_to("<<-", body(callback)), function(call) call[[2]])
  as.character(Filter(is.symbol, targets))
}

comparable_list <- function(value, state) {
  value <- unclass_list(value)
  known <- lapply(value, comparable, state)
  is_known <- !vapply(known, is.null, NA)
  if (is.null(names(value))) known[is_known] else known[is_known & nzchar(names(value))]
}

# Short vectors are shown in an error. Other vectors are compared by a checksum.
comparable_vector <- function(value) {
  kept <- attributes(value)[c("names", "dim", "dimnames", "levels", "class")]
  attributes(value) <- Filter(Negate(is.null), kept)
  is_plain <- all(names(attributes(value)) == "names") && !anyNA(value)
  if (is_plain && length(value) <= 8 && is_text_or_numbers(value)) {
    as_wire(if (is.null(names(value))) value else as.list(value))
  } else {
    checksum_of(value, length(value))
  }
}

is_text_or_numbers <- function(value) {
  is.numeric(value) || is.logical(value) || (is.character(value) && all(validUTF8(value)))
}

checksum_of <- function(value, length = NULL) {
  paste0(
    if (!is.null(length)) paste0(length, " values, "),
    "checksum ",
    substr(rlang::hash(value), 1, 8)
  )
}

# Variables that functions use, and the environments in which they find them.

# Functions that read variables whose names are not in the code.
# fmt: skip
dynamic_functions <- c(
  "as.environment", "dynGet", "environment", "eval", "exists", "get", "get0", "ls", "mget",
  "parent.frame", "sys.function"
)

names_used_by <- function(callback) {
  used <- tryCatch(
    suppressWarnings(codetools::findGlobals(callback, merge = TRUE)),
    error = function(error) all.names(body(callback))
  )
  # codetools does not report a `...` of an enclosing function.
  uses_outer_dots <- "..." %in% all.names(body(callback)) && !"..." %in% names(formals(callback))
  c(used, if (uses_outer_dots) "...")
}

# The calls of a function by its name in code, such as formals() or a body().
calls_to <- function(name, code) {
  is_inner <- vapply(as.list(code), function(part) is.call(part) || is.pairlist(part), NA)
  inner <- lapply(as.list(code)[is_inner], function(part) calls_to(name, part))
  c(if (rlang::is_call(code, name)) list(code), unlist(unname(inner), recursive = FALSE))
}

# An environment and its parents, up to the first that exists in every process.
frames_of <- function(environment) {
  frames <- list()
  while (!is_in_every_process(environment)) {
    frames <- c(frames, list(environment))
    environment <- parent.env(environment)
  }
  frames
}

is_in_every_process <- function(environment) {
  identical(environment, globalenv()) ||
    identical(environment, baseenv()) ||
    identical(environment, emptyenv()) ||
    isNamespace(environment) ||
    grepl("^(package|imports):", attr(environment, "name") %||% "")
}

# The environment that has a variable. NULL if the variable exists in every process, or nowhere.
find_variable <- function(name, environment) {
  while (!identical(environment, emptyenv())) {
    if (exists(name, envir = environment, inherits = FALSE)) {
      is_everywhere <- is_in_every_process(environment) && !identical(environment, globalenv())
      return(if (!is_everywhere) environment)
    }
    if (isNamespace(environment)) {
      return(NULL)
    }
    environment <- parent.env(environment)
  }
  NULL
}

dots_of <- function(environment) {
  eval(quote(list(...)), environment)
}

# Functions and environments can contain themselves, so each is walked once.
is_seen <- function(value, state) {
  if (!is.function(value) && !is.environment(value)) {
    return(FALSE)
  }
  address <- rlang::obj_address(value)
  seen <- !is.null(state$seen[[address]])
  # Keeping the object prevents the reuse of its address.
  state$seen[[address]] <- list(value)
  seen
}
