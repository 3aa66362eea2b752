# Checks and printing of the session settings of run_config().

# Check the form of the fields. Python checks their names and values.
check_session_config <- function(settings, path = "session_config") {
  if (is.null(settings)) {
    return(NULL)
  }
  if (is_python_object(settings) || !is.list(settings)) {
    abort_argument(settings, "a named list", path)
  }
  if (length(settings) == 0) {
    return(NULL)
  }
  if (!rlang::is_named(settings) || anyDuplicated(names(settings))) {
    abort_tfdistribute(
      "argument",
      problem = "`{path}` must name each of its {length(settings)} fields once.",
      remedy = "Write list(field = value)."
    )
  }
  for (field in names(settings)) {
    check_session_field(settings[[field]], paste0(path, "$", field))
  }
  settings
}

check_session_field <- function(value, path) {
  if (is.list(value)) {
    # A repeated field of messages is a list without names.
    if (is.null(names(value))) {
      lapply(value, check_session_field, path)
    } else {
      check_session_config(value, path)
    }
  } else if (!is.atomic(value) || is.null(value) || anyNA(value)) {
    abort_argument(value, "a number, a string, TRUE, FALSE or a named list", path)
  }
}

# "gpu_options$allow_growth = TRUE": one string for each field without further fields.
format_fields <- function(fields, path = NULL) {
  formatted <- lapply(names(fields), function(field) {
    here <- paste(c(path, field), collapse = "$")
    value <- fields[[field]]
    if (rlang::is_named(value) && is.list(value)) {
      format_fields(value, here)
    } else {
      paste(here, "=", show_value(if (is.list(value)) unlist(value) else value))
    }
  })
  unlist(formatted)
}
