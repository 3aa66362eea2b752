# Checks of single arguments. Each returns the value in the form that descriptions keep
# (counts as integers, because an R 4 would reach Python as 4.0), or raises
# tfdistribute_argument_error with the argument's name, its value and the remedy.

abort_argument <- function(argument, value, expected, kind = "argument") {
  abort_tfdistribute(
    kind,
    problem = paste0("`", argument, "` must be ", expected, ", not ", show_value(value), "."),
    remedy = paste0("Give `", argument, "` as ", expected, "."),
    argument = argument,
    value = show_value(value)
  )
}

is_number <- function(value) {
  is.numeric(value) && length(value) == 1 && !is.na(value) && is.finite(value)
}

is_whole <- function(value) {
  is.numeric(value) &&
    !anyNA(value) &&
    all(is.finite(value)) &&
    all(value == trunc(value)) &&
    all(abs(value) <= .Machine$integer.max)
}

check_count <- function(value, argument, minimum = 1L, null = FALSE) {
  if (null && is.null(value)) {
    return(NULL)
  }
  if (!is_number(value) || !is_whole(value) || value < minimum) {
    abort_argument(
      argument,
      value,
      paste0("a whole number of at least ", minimum, if (null) " or NULL")
    )
  }
  as.integer(value)
}

check_counts <- function(value, argument, minimum = 1L) {
  value <- if (is.list(value)) unlist(value) else value
  if (!is.numeric(value) || length(value) == 0 || !is_whole(value) || any(value < minimum)) {
    abort_argument(argument, value, paste0("whole numbers of at least ", minimum))
  }
  as.integer(value)
}

check_number <- function(value, argument, minimum = -Inf, maximum = Inf, null = FALSE) {
  if (null && is.null(value)) {
    return(NULL)
  }
  if (!is_number(value) || value < minimum || value > maximum) {
    range <- if (is.finite(minimum) && is.finite(maximum)) {
      paste0(" between ", minimum, " and ", maximum)
    } else if (is.finite(minimum)) {
      paste0(" of at least ", minimum)
    } else if (is.finite(maximum)) {
      paste0(" of at most ", maximum)
    }
    abort_argument(argument, value, paste0("a number", range, if (null) " or NULL"))
  }
  as.double(value)
}

check_flag <- function(value, argument) {
  if (!is.logical(value) || length(value) != 1 || is.na(value)) {
    abort_argument(argument, value, "TRUE or FALSE")
  }
  value
}

check_string <- function(value, argument, null = FALSE) {
  if (null && is.null(value)) {
    return(NULL)
  }
  if (!is.character(value) || length(value) != 1 || is.na(value) || !nzchar(value)) {
    abort_argument(argument, value, paste0("a non-empty string", if (null) " or NULL"))
  }
  enc2utf8(as.vector(value))
}

check_strings <- function(value, argument, null = FALSE) {
  if (null && is.null(value)) {
    return(NULL)
  }
  if (!is.character(value) || length(value) == 0 || anyNA(value) || !all(nzchar(value))) {
    abort_argument(argument, value, paste0("non-empty strings", if (null) " or NULL"))
  }
  enc2utf8(as.vector(value))
}

check_choice <- function(value, argument, choices, kind = "argument") {
  if (!is.character(value) || length(value) != 1 || is.na(value) || !value %in% choices) {
    abort_argument(
      argument,
      value,
      paste0("one of ", paste(encodeString(choices, quote = "\""), collapse = ", ")),
      kind = kind
    )
  }
  value
}

# For arguments whose default is the vector of choices: the first is taken when nothing was said.
check_default_choice <- function(value, argument, choices) {
  if (identical(value, choices)) choices[[1]] else check_choice(value, argument, choices)
}

check_function <- function(value, argument, null = FALSE) {
  if (null && is.null(value)) {
    return(NULL)
  }
  if (!is.function(value)) {
    abort_argument(argument, value, paste0("a function", if (null) " or NULL"))
  }
  value
}

check_class <- function(value, argument, class, expected, null = FALSE) {
  if (null && is.null(value)) {
    return(NULL)
  }
  if (!inherits(value, class)) {
    abort_argument(argument, value, paste0(expected, if (null) " or NULL"))
  }
  value
}

# A TensorFlow dtype as its name: "float32", or a Python tf$float32 (which never stays in a description).
check_dtype <- function(value, argument, choices, null = FALSE) {
  if (is_python_object(value)) {
    value <- dtype_name(value)
  }
  if (null && is.null(value)) {
    return(NULL)
  }
  check_choice(value, argument, choices)
}

# `...` of a verb takes nothing more: a misspelt argument must not pass in silence.
check_no_more <- function(..., verb, known) {
  extra <- list(...)
  if (length(extra) == 0) {
    return(invisible())
  }
  name <- names(extra)[[1]]
  abort_tfdistribute(
    "argument",
    problem = if (is.null(name) || !nzchar(name)) {
      paste0(verb, "() was given more arguments than it has.")
    } else {
      paste0("`", name, "` is no argument of ", verb, "().")
    },
    remedy = paste0("Use only ", paste0("`", known, "`", collapse = ", "), "."),
    argument = name
  )
}

# Python objects that go to TensorFlow as they are: NULL, one, or a list of them.
check_python_objects <- function(values, argument, expected) {
  if (is.null(values)) {
    return(list())
  }
  if (is_python_object(values)) {
    values <- list(values)
  }
  if (!is.list(values) || !all(vapply(values, is_python_object, NA))) {
    abort_argument(argument, values, paste0(expected, ", one or a list, or NULL"))
  }
  unname(values)
}

# One Python object that goes to TensorFlow as it is.
check_python_object <- function(value, argument, expected) {
  if (!is.null(value) && !is_python_object(value)) {
    abort_argument(argument, value, paste0(expected, " or NULL"))
  }
  value
}

# A verb that was given no data.
check_given <- function(missing, verb) {
  if (missing) {
    abort_tfdistribute(
      "input",
      problem = paste0("`input_fn` is missing: ", verb, "() needs data."),
      remedy = "Make an input with input_fn().",
      argument = "input_fn"
    )
  }
}
