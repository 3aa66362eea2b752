# The check of descriptions: R/schema.R names the types and choices of each field, which `make docs` writes from the
# dataclasses of Python. Python checks everything else when a verb reads the description.

# Describe a member of a family by the arguments of its constructor: as.list(environment()). `renamed` are those by
# their names in tfestimators, from check_call(). `...` are fields that only R has.
describe <- function(family, kind, arguments, renamed = NULL, ...) {
  arguments <- replace(arguments, names(renamed), renamed)
  fields <- check_fields(schema[[family]][[kind]], arguments)
  structure(
    c(list(kind = kind), fields, list(...)),
    class = c(paste0("tfdistribute_", kind, "_", family), paste0("tfdistribute_", family))
  )
}

# The arguments that are fields, in their order. `converted` are fields that are already checked.
check_fields <- function(fields, arguments, converted = list()) {
  given <- arguments[intersect(names(arguments), names(fields))]
  given[names(converted)] <- converted
  for (name in setdiff(names(given), names(converted))) {
    given[name] <- list(check_field(given[[name]], fields[[name]], name))
  }
  given
}

# The value as descriptions store it.
check_field <- function(value, field, argument) {
  found <- fit_types(value, field, argument)
  if (!identical(found, misfit)) {
    return(if (is.null(found) || is.null(field$path)) found else path.expand(found))
  }
  shown <- if (!isTRUE(field$secret)) show_value(value)
  is_beyond <- is_number(value) && abs(value) > .Machine$integer.max
  remedy <- field$remedy %||% if (is_beyond) "R has whole numbers to 2147483647."
  abort_tfdistribute(
    field$error %||% "argument",
    problem = c("`{argument}` must be {field$expected}", if (!is.null(shown)) ", not {shown}", "."),
    remedy = if (!is.null(remedy)) "{remedy}",
    argument = argument,
    value = shown
  )
}

# What a value becomes that has none of the types.
misfit <- new.env()

# The value as the first of the types that it fits stores it.
fit_types <- function(value, field, argument) {
  for (type in field$types) {
    found <- fit_type[[type]](value, field, argument)
    if (!identical(found, misfit)) {
      return(found)
    }
  }
  misfit
}

fit_type <- list(
  null = function(value, ...) if (is.null(value)) NULL else misfit,
  any = function(value, ...) value,
  boolean = function(value, ...) if (rlang::is_bool(value)) value else misfit,
  integer = function(value, field, ...) {
    if (is_number(value)) fit_integers(value, field) else misfit
  },
  number = function(value, field, ...) if (is_number(value)) fit_numbers(value, field) else misfit,
  string = function(value, field, argument) {
    if (length(value) == 1) fit_strings(value, field, argument) else misfit
  },
  integers = function(value, field, ...) fit_integers(without_list(value, is.numeric), field),
  numbers = function(value, field, ...) fit_numbers(without_list(value, is.numeric), field),
  strings = function(value, field, argument) {
    fit_strings(without_list(value, is.character), field, argument)
  },
  choice = function(...) fit_choice(...),
  description = function(value, field, ...) if (is_member(value, field$family)) value else misfit,
  python = function(value, ...) if (is_python_object(value)) value else misfit,
  `function` = function(...) fit_function(...),
  list = function(...) fit_list(...),
  named = function(...) fit_named(...)
)

fit_choice <- function(value, field, ...) {
  # All choices are also the default of an argument, of which the first applies.
  if (identical(value, field$choices) || rlang::is_string(value, field$choices)) {
    value[[1]]
  } else {
    misfit
  }
}

fit_function <- function(value, field, argument) {
  if (is_python_object(value) || (is.function(value) && is.null(field$takes))) {
    value
  } else if (is.function(value)) {
    check_callback(value, field$takes, argument, field$remedy)
  } else {
    misfit
  }
}

# One value, or a list.
fit_list <- function(value, field, argument) {
  values <- if (is.null(value) || is_plain_list(value)) unname(as.list(value)) else list(value)
  fit_items(values, field, argument)
}

# A named list, which is a dictionary in Python. It can be given as a vector.
fit_named <- function(value, field, argument) {
  if (length(value) == 0 && !is.object(value)) {
    return(list())
  }
  values <- if (is.atomic(value)) as.list(value) else value
  if (is.list(values) && has_own_names(values)) fit_items(values, field, argument) else misfit
}

fit_integers <- function(value, field) {
  if (is_whole(value) && is_within(value, field)) as.integer(value) else misfit
}

fit_numbers <- function(value, field) {
  is_fit <- is.numeric(value) && all(is.finite(value)) && is_within(value, field)
  if (is_fit) as.double(value) else misfit
}

is_within <- function(numbers, field) {
  all(numbers >= field$minimum) && all(numbers <= field$maximum)
}

fit_strings <- function(value, field, argument) {
  is_fit <- is.character(value) && !anyNA(value) && (is.null(field$filled) || all(nzchar(value)))
  if (is_fit) as_utf8(value, argument) else misfit
}

fit_items <- function(values, field, argument) {
  if (is.null(field$items)) {
    return(values)
  }
  # The text of a secret must not get into an error.
  fits <- function(each) !is.character(each) || is.na(first_not_text(each))
  fitted <- lapply(values, function(each) {
    if (fits(each)) fit_types(each, field$items, argument) else misfit
  })
  if (any(vapply(fitted, identical, NA, misfit))) misfit else fitted
}

# A list of single items as their vector, and other values as they are.
without_list <- function(value, is_item) {
  if (is_plain_list(value) && all(lengths(value) == 1 & vapply(value, is_item, NA))) {
    unlist(value) %||% vector(if (identical(is_item, is.character)) "character" else "double", 0)
  } else {
    value
  }
}

# The class is compared before the length: reticulate asks Python for that of its objects.
is_member <- function(value, family) {
  is.list(value) && inherits(value, paste0("tfdistribute_", family)) && length(value) > 0
}
