# Checks of single arguments. Each returns the value as descriptions store it, or raises tfdistribute_argument_error
# with the argument's name and value. Counts become integers, because an R 4 would reach Python as 4.0.
#
# A checker must not assign to `value`, because caller_arg() would no longer find the user's expression.

abort_argument <- function(
  value,
  expected,
  argument = rlang::caller_arg(value),
  kind = "argument",
  remedy = NULL,
  .envir = parent.frame()
) {
  expected <- interpolate(expected, .envir)
  remedy <- interpolate(remedy, .envir)
  abort_tfdistribute(
    kind,
    problem = "`{argument}` must be {expected}, not {show_value(value)}.",
    remedy = if (!is.null(remedy)) "{remedy}",
    # It may be code, such as "options(tfdistribute.progress)".
    argument = argument,
    value = show_value(value)
  )
}

has_own_names <- function(values) {
  rlang::is_vector(values) && rlang::is_named(values) && anyDuplicated(names(values)) == 0
}

# Whether a value is a list of items, and no object of another package.
is_plain_list <- function(value) is.list(value) && !is.object(value)

or_null <- function(null) {
  if (null) " or NULL"
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

check_count <- function(
  value,
  minimum = 1L,
  null = FALSE,
  argument = rlang::caller_arg(value)
) {
  expected <- paste0("a whole number of at least ", minimum, or_null(null))
  check_value(value, "integer", expected, null, argument, minimum = minimum)
}

check_number <- function(
  value,
  minimum = -Inf,
  null = FALSE,
  argument = rlang::caller_arg(value)
) {
  range <- if (is.finite(minimum)) paste(" of at least", minimum)
  expected <- paste0("a number", range, or_null(null))
  check_value(value, "number", expected, null, argument, minimum = minimum)
}

# The value as a field of this type stores it. `...` are other entries of a field in R/schema.R.
check_value <- function(value, type, expected, null, argument, ...) {
  types <- c(if (null) "null", type)
  check_field(value, list(types = types, expected = expected, ...), argument)
}

check_flag <- function(value, argument = rlang::caller_arg(value), auto = FALSE) {
  if (!rlang::is_bool(value) && !(auto && identical(value, "auto"))) {
    abort_argument(value, if (auto) "TRUE, FALSE or \"auto\"" else "TRUE or FALSE", argument)
  }
  value
}

check_string <- function(value, null = FALSE, argument = rlang::caller_arg(value)) {
  expected <- paste0("a non-empty string", or_null(null))
  check_value(value, "string", expected, null, argument, filled = TRUE)
}

check_strings <- function(value, null = FALSE, argument = rlang::caller_arg(value)) {
  expected <- paste0("non-empty strings", or_null(null))
  checked <- check_value(value, "strings", expected, null, argument, filled = TRUE)
  if (!is.null(value) && length(checked) == 0) {
    abort_argument(value, expected, argument)
  } else {
    checked
  }
}

# A path with `~` replaced by the home directory, or NULL.
check_path <- function(value, argument = rlang::caller_arg(value)) {
  path <- check_string(value, null = TRUE, argument = argument)
  if (!is.null(path)) path.expand(path)
}

check_choice <- function(value, choices, argument = rlang::caller_arg(value)) {
  if (!is.character(value) || length(value) != 1 || is.na(value) || !value %in% choices) {
    abort_argument(value, "one of {quoted(choices)}", argument)
  }
  value
}

# For arguments that have all choices as their default, of which the first applies.
check_default_choice <- function(value, choices, argument = rlang::caller_arg(value)) {
  if (identical(value, choices)) choices[[1]] else check_choice(value, choices, argument)
}

check_function <- function(value, null = FALSE, argument = rlang::caller_arg(value)) {
  if (null && is.null(value)) {
    return(NULL)
  }
  if (!is.function(value)) {
    abort_argument(value, "a function{or_null(null)}", argument)
  }
  value
}

# Check a function that is called with exactly the arguments in `supplied`.
check_formals <- function(
  value,
  supplied,
  remedy,
  argument = rlang::caller_arg(value),
  kind = "argument"
) {
  formals <- if (!is_python_object(value)) formals(args(value))
  required <- names(formals)[vapply(formals, is_required, NA)]
  unknown <- setdiff(required, c(supplied, "..."))
  if (length(unknown) > 0) {
    abort_tfdistribute(
      kind,
      problem = "`{argument}` has an argument `{unknown[[1]]}` that is never supplied.",
      remedy = remedy,
      value = unknown[[1]]
    )
  }
  value
}

is_required <- function(default) {
  identical(default, quote(expr = ))
}

check_class <- function(
  value,
  class,
  expected,
  null = FALSE,
  argument = rlang::caller_arg(value),
  remedy = NULL
) {
  if (null && is.null(value)) {
    return(NULL)
  }
  if (!inherits(value, class) || !is.list(value) || length(value) == 0) {
    abort_argument(value, "{expected}{or_null(null)}", argument, remedy = remedy)
  }
  value
}

# A TensorFlow dtype by its name, "float32", or a Python tf$float32, which a description does not store.
plain_dtype <- function(dtype) {
  if (is_python_object(dtype)) dtype_name(dtype) else dtype
}

# Python objects that TensorFlow gets unchanged: NULL, one object, or a list of objects.
check_python_objects <- function(value, expected, argument = rlang::caller_arg(value)) {
  if (is.null(value)) {
    return(list())
  }
  objects <- if (is_python_object(value)) list(value) else value
  if (!is_plain_list(objects) || !all(vapply(objects, is_python_object, NA))) {
    abort_argument(objects, "{expected}, one or a list, or NULL", argument)
  }
  unname(objects)
}

# Of two arguments, in a list with both names, exactly one must be given, or at most one if none is `required`.
check_one_given <- function(given, required = TRUE, example = NULL) {
  count <- sum(!vapply(given, is.null, NA))
  if (count == 2 || (count == 0 && required)) {
    names <- names(given)
    abort_tfdistribute(
      "argument",
      problem = if (count == 0) {
        "Neither `{names[[1]]}` nor `{names[[2]]}` was given."
      } else {
        "`{names[[1]]}` ({show_value(given[[1]])}) and `{names[[2]]}` ({show_value(given[[2]])}) cannot both be given."
      },
      remedy = if (count == 2) {
        "Leave one of them out."
      } else {
        c("Give one of them", if (!is.null(example)) ", as in {example}", ".")
      },
      argument = names[[1]],
      value = if (count == 2) show_value(given[[1]])
    )
  }
}
