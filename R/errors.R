# One tree of conditions in both languages: the classes mirror inst/python/tfdistribute/errors.py.

# Parents of every kind of error that has one besides the root.
error_parents <- list(
  sharding = "input",
  model_directory = "model",
  port = "cluster",
  lost_peer = "training"
)

# Raise a classed condition of a `kind` as in errors.py: "argument", "input", ... `problem` is what was asked and why
# it cannot be, with the argument's name and value, `remedy` the one thing to do, and `details` one more line.
# `argument`, `value` and `fields` are for programs that catch the condition. `parent` is the condition that led here;
# `trace` is R's backtrace there, and `traceback` Python's as one string. Texts are data: braces in them are not
# evaluated.
abort_tfdistribute <- function(
  kind,
  problem,
  remedy = NULL,
  argument = NULL,
  value = NULL,
  parent = NULL,
  traceback = NULL,
  trace = NULL,
  details = NULL,
  fields = list()
) {
  rlang::abort(
    c(problem, i = remedy, i = details),
    class = condition_classes(kind),
    problem = problem,
    remedy = remedy,
    argument = argument,
    value = value,
    python_traceback = traceback,
    !!!fields,
    parent = parent,
    # What to do stands in the text; the way through this package's functions tells users nothing.
    trace = trace %||% rlang::trace_back()[0, ],
    call = NULL,
    use_cli_format = FALSE
  )
}

# "sharding" -> tfdistribute_sharding_error, tfdistribute_input_error, tfdistribute_error
condition_classes <- function(kind) {
  kinds <- c(kind, error_parents[[kind]])
  unique(c(paste0("tfdistribute_", setdiff(kinds, "error"), "_error"), "tfdistribute_error"))
}

# A value as it stands in an error text: short, quoted where it is a string.
show_value <- function(value) {
  if (is.null(value)) {
    return("NULL")
  }
  if (is.function(value)) {
    return("a function")
  }
  if (!is.atomic(value)) {
    return(paste0("an object of class ", class(value)[[1]]))
  }
  shown <- utils::head(value, 5)
  shown <- if (is.character(value)) {
    encodeString(shown, quote = "\"", na.encode = FALSE)
  } else {
    format(shown, trim = TRUE)
  }
  text <- paste(shown, collapse = ", ")
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
