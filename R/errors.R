# One tree of conditions in both languages. The classes mirror inst/python/tfdistribute/errors.py.

# Parents of every kind of error that has one besides the root.
error_parents <- list(
  sharding = "input",
  model_directory = "model",
  port = "cluster",
  lost_peer = "training",
  out_of_memory = "training"
)

# Raise a classed condition of a `kind` as in errors.py, such as "argument" or "input". `problem` states the problem
# with the argument's name and value, `remedy` states the solution if the problem does not imply it, and `details` is
# one more line. All three are templates of cli::pluralize(), evaluated in `.envir`. Braces in their values are kept, so
# text from elsewhere must be a value. `argument`, `value` and `...` are fields for programs that catch the condition.
# The argument is by default the one that the problem begins with.
# `parent` is the condition that caused this one, `trace` is its R backtrace, and `traceback` its Python traceback as
# one string. The message names the function of `call`.
abort_tfdistribute <- function(
  kind,
  problem,
  remedy = NULL,
  ...,
  argument = NULL,
  value = NULL,
  details = NULL,
  parent = NULL,
  traceback = NULL,
  trace = NULL,
  call = public_call(),
  .envir = parent.frame()
) {
  problem <- interpolate(problem, .envir)
  argument <- argument %||% argument_in(problem)
  # Descriptions of arguments may be long. Texts of tasks and of Python are not shortened.
  limit <- if (is.null(argument)) Inf else 800
  problem <- shorten(problem, limit)
  remedy <- shorten(interpolate(remedy, .envir), limit)
  rlang::abort(
    c(problem, i = remedy, i = interpolate(details, .envir)),
    class = condition_classes(kind),
    problem = problem,
    remedy = remedy,
    argument = argument,
    value = value,
    python_traceback = traceback,
    ...,
    parent = parent,
    # The message contains the remedy, so a backtrace through this package would not help.
    trace = trace %||% rlang::trace_back()[0, ],
    call = call,
    use_cli_format = FALSE
  )
}

# The argument that a text begins with. Code is none, as in "`fun()`" or "`seed = 1`".
argument_in <- function(problem) {
  if (grepl("^`[^`=]*[^`=)]`", problem)) sub("^`([^`]*)`.*$", "\\1", problem)
}

# Parts of a long text are pasted together. cli::pluralize() needs glue, which tidyselect imports.
interpolate <- function(template, envir = parent.frame()) {
  if (!is.null(template)) {
    as.character(cli::pluralize(paste(template, collapse = ""), .envir = envir))
  }
}

shorten <- function(text, limit) {
  if (is.null(text) || is.infinite(limit)) {
    return(text)
  }
  text <- shown_as_utf8(text)
  ifelse(nchar(text) > limit, paste0(substr(text, 1, limit - 3), "..."), text)
}

# "sharding" -> tfdistribute_sharding_error, tfdistribute_input_error, tfdistribute_error
condition_classes <- function(kind) {
  kinds <- c(kind, error_parents[[kind]])
  unique(c(paste0("tfdistribute_", setdiff(kinds, "error"), "_error"), "tfdistribute_error"))
}

# The call of the exported function that the user called, which is the outermost one around the caller. An error names
# this function, no matter which internal function raises it.
public_call <- function() {
  namespace <- topenv()
  transparent <- list(namespace, .BaseNamespaceEnv)
  found <- NULL
  for (index in calling_frames(sys.parent(2))) {
    home <- environment(sys.function(index))
    if (identical(home, namespace)) {
      name <- public_name(index)
      found <- if (is.null(name)) found else named_call(sys.call(index), name)
    } else if (!list(topenv(home)) %in% transparent) {
      # A function of the user.
      break
    }
  }
  found
}

# The numbers of frame `index` and of its callers, innermost first. A caller has a smaller number. R records a frame
# that was called from a data mask, as in magrittr and dplyr, as its own caller, so the frames end there.
calling_frames <- function(index) {
  parents <- sys.parents()
  frames <- integer()
  for (frame in rev(seq_len(index))) {
    if (frame == index) {
      frames <- c(frames, frame)
      index <- parents[[frame]]
    }
  }
  frames
}

# The name of the exported function, or of the generic, in a frame of this package. NULL for any other function.
# lapply() calls functions by another name, and do.call() by none.
public_name <- function(index) {
  namespace <- topenv()
  exports <- getNamespaceExports(namespace)
  generics <- getNamespaceInfo(namespace, "S3methods")[, 1]
  name <- sys.frame(index)$.Generic %||% rlang::call_name(sys.call(index)) %||% ""
  if (name %in% exports || (name %in% generics && !exists(name, namespace, inherits = FALSE))) {
    return(name)
  }
  called <- sys.function(index)
  Find(function(name) identical(get(name, namespace), called), exports)
}

named_call <- function(call, name) {
  if (!identical(rlang::call_name(call), name)) {
    call[[1]] <- as.name(name)
  }
  call
}

# A value for an error text, shortened, and quoted if it is a string.
show_value <- function(value) {
  if (is.null(value)) {
    return("NULL")
  }
  if (is.function(value)) {
    return("a function")
  }
  if (is_plain_list(value)) {
    return("a list")
  }
  if (!is.atomic(value)) {
    return(paste0("an object of class ", class(value)[[1]]))
  }
  shown <- utils::head(value, 5)
  text <- if (is.character(value)) {
    quoted(shorten(unname(shown), 80))
  } else {
    toString(format(shown, trim = TRUE))
  }
  if (length(value) > 5) {
    text <- paste0(text, ", ... (", length(value), " values)")
  }
  if (length(value) == 1) {
    text
  } else if (length(value) == 0) {
    paste0("an empty ", typeof(value))
  } else {
    paste0("c(", text, ")")
  }
}

quoted <- function(strings) {
  toString(encodeString(strings, quote = "\"", na.encode = FALSE))
}

backquoted <- function(names) {
  paste0("`", names, "`", collapse = ", ")
}

raise_interrupt <- function(text = NULL) {
  if (!is.null(text)) {
    cli::cli_inform(c(i = "{text}"))
  }
  rlang::interrupt()
}

# "Did you mean `steps`? ", or "" if no known name is similar. `quote` is the mark around the name.
did_you_mean <- function(name, known, quote = "`") {
  # A text longer than any name is a mistake of another kind, and would take long to compare.
  if (length(known) == 0 || !nzchar(name) || nchar(name, "bytes") > 100 || !validEnc(name)) {
    return("")
  }
  distance <- utils::adist(name, known, ignore.case = TRUE)[1, ]
  near <- min(distance) <= max(1, 0.5 * nchar(name))
  if (near) paste0("Did you mean ", quote, known[[which.min(distance)]], quote, "? ") else ""
}
