# The check of descriptions: R/schema.R says what each field may be. `make docs` writes it from the dataclasses of
# Python, which check the same.

# Describe a member of a family by the arguments of its constructor: as.list(environment()). `renamed` are those by
# their names in tfestimators, from check_call(). `...` are fields that only R has.
describe <- function(family, kind, arguments, renamed = NULL, ...) {
  arguments <- replace(arguments, names(renamed), renamed)
  fields <- checked_fields_of(schema[[family]][[kind]], arguments)
  structure(
    c(list(kind = kind), fields, list(...)),
    class = c(paste0("tfdistribute_", kind, "_", family), paste0("tfdistribute_", family))
  )
}

# The arguments that are fields, in their order; their defaults may depend on those before them. `converted` are fields
# that are already checked.
checked_fields_of <- function(member, arguments, converted = list()) {
  fields <- member$properties
  given <- intersect(names(arguments), names(fields))
  fields[names(converted)] <- converted
  for (name in setdiff(given, names(converted))) {
    fields[name] <- list(check_field(arguments[[name]], fields[[name]], name))
  }
  fields <- fields[given]
  for (rule in member$rules) {
    check_rule(rule, fields)
  }
  fields
}

# The value as descriptions store it.
check_field <- function(value, field, argument) {
  if (is_default(value, field)) {
    return(field$default)
  }
  found <- fit_first(value, field$anyOf, argument, field)
  if (!identical(found, misfit)) {
    return(if (is.null(found) || is.null(field$path)) found else path.expand(found))
  }
  is_secret <- isTRUE(field$secret)
  abort_tfdistribute(
    field$error %||% "argument",
    problem = c(
      "`{argument}` must be {field$expected}",
      if (!is_secret) ", not {show_value(value)}",
      "."
    ),
    remedy = if (!is.null(field$remedy)) {
      "{field$remedy}"
    } else if (is_number(value) && abs(value) > .Machine$integer.max) {
      "R has whole numbers to {.Machine$integer.max}."
    },
    value = if (!is_secret) show_value(value)
  )
}

# Whether it is the default, as most arguments are, which needs no check. R writes whole numbers as doubles.
is_default <- function(value, field) {
  default <- field$default
  if (is.null(value)) {
    return(is.null(default) && "default" %in% names(field))
  }
  identical(value, default) || (is_number(value) && is_number(default) && value == default)
}

# What a value becomes that has not the type of an option.
misfit <- new.env()

fit <- function(value, option, argument, field) {
  found <- fit_type(value, option, argument, field)
  is_excluded <- !is.null(option$not) &&
    !identical(found, misfit) &&
    fits_any(found, option$not$anyOf, argument)
  if (is_excluded) misfit else found
}

# The value as the first option that it fits has it.
fit_first <- function(value, options, argument, field) {
  for (option in options) {
    found <- fit(value, option, argument, field)
    if (!identical(found, misfit)) {
      return(found)
    }
  }
  misfit
}

fits_any <- function(value, options, argument) {
  !identical(fit_first(value, options, argument, list()), misfit)
}

fit_type <- function(value, option, argument, field) {
  type <- option$type
  if (is.null(type)) {
    return(fit_other(value, option, argument))
  }
  switch(
    type,
    integer = if (is_number(value) && is_whole(value) && is_within(value, option)) {
      as.integer(value)
    } else {
      misfit
    },
    number = if (is_number(value) && is_within(value, option)) as.double(value) else misfit,
    boolean = if (rlang::is_bool(value)) value else misfit,
    string = if (length(value) == 1) fit_strings(value, option, argument, field) else misfit,
    null = if (is.null(value)) NULL else misfit,
    array = fit_array(value, option, argument, field),
    object = fit_object(value, option, argument, field)
  )
}

fit_other <- function(value, option, argument) {
  if (!is.null(option$enum)) {
    return(fit_choice(value, option$enum))
  }
  if (!is.null(option[["$ref"]])) {
    return(if (is_member(value, option[["$ref"]])) value else misfit)
  }
  if (!is.null(option[["function"]])) {
    return(fit_function(value, option, argument))
  }
  if (isTRUE(option$python) && !is_python_object(value)) misfit else value
}

# The class is compared before the length: reticulate asks Python for that of its objects.
is_member <- function(value, reference) {
  is.list(value) &&
    inherits(value, paste0("tfdistribute_", sub("^.*/", "", reference))) &&
    length(value) > 0
}

# Choices are also the default of an argument, of which the first applies.
fit_choice <- function(value, choices) {
  is_default <- length(choices) > 1 && identical(value, choices)
  is_choice <- is_default ||
    (is.atomic(value) && any(vapply(as.list(choices), identical, NA, as.vector(value))))
  if (is_choice) value[[1]] else misfit
}

fit_function <- function(value, option, argument) {
  if (is_python_object(value)) {
    return(value)
  }
  if (!is.function(value)) {
    return(misfit)
  }
  if (is.null(option$takes)) value else check_callback(value, option$takes, argument, option$remedy)
}

is_within <- function(numbers, option) {
  (is.null(option$minimum) || all(numbers >= option$minimum)) &&
    (is.null(option$maximum) || all(numbers <= option$maximum)) &&
    (is.null(option$exclusiveMinimum) || all(numbers > option$exclusiveMinimum)) &&
    (is.null(option$exclusiveMaximum) || all(numbers < option$exclusiveMaximum))
}

fit_strings <- function(values, option, argument, field) {
  if (
    !is.character(values) || anyNA(values) || (!is.null(option$minLength) && !all(nzchar(values)))
  ) {
    return(misfit)
  }
  texts <- as_utf8(values, argument)
  for (pattern in option$allOf) {
    check_pattern(texts, pattern, argument, isTRUE(field$secret))
  }
  texts
}

# A vector, a list of single values, or NULL for an argument whose default is empty.
fit_array <- function(value, option, argument, field) {
  items <- option$items$anyOf[[1]]
  type <- items$type
  if (is.null(type) || length(option$items$anyOf) > 1) {
    return(fit_list(value, option, argument, field))
  }
  is_text <- type == "string"
  value <- without_list(value, if (is_text) is.character else is.numeric)
  if (length(value) == 0 && !is.object(value)) {
    may_be_empty <- is.null(option$minItems) && (!is.null(value) || length(field$default) == 0)
    modes <- c(string = "character", integer = "integer", number = "double")
    return(if (may_be_empty) vector(modes[[type]], 0) else misfit)
  }
  if (!has_items(value, option)) {
    misfit
  } else if (is_text) {
    fit_strings(value, items, argument, field)
  } else {
    fit_numbers(value, items)
  }
}

# A list of single items as their vector, and other values as they are.
without_list <- function(value, is_item) {
  is_list <- is.list(value) && !is.object(value)
  if (is_list && all(lengths(value) == 1 & vapply(value, is_item, NA))) {
    unlist(value) %||% character()
  } else {
    value
  }
}

has_items <- function(value, option) {
  is_long_enough <- length(value) >= (option$minItems %||% 0L) &&
    length(value) <= (option$maxItems %||% Inf)
  order <- option$increasing
  is_sorted <- is.null(order) ||
    (is.numeric(value) && !is.unsorted(value, strictly = order == "strictly"))
  is_long_enough && is_sorted
}

fit_numbers <- function(value, items) {
  if (!is.numeric(value) || !all(is.finite(value)) || !is_within(value, items)) {
    misfit
  } else if (items$type == "number") {
    as.double(value)
  } else if (is_whole(value)) {
    as.integer(value)
  } else {
    misfit
  }
}

# Values of other types: one, or a list.
fit_list <- function(value, option, argument, field) {
  values <- if (is.null(value) || (is.list(value) && !is.object(value))) {
    unname(as.list(value))
  } else {
    list(value)
  }
  found <- lapply(values, fit_first, option$items$anyOf, argument, field)
  may_be_empty <- is.null(option$minItems) && (!is.null(value) || length(field$default) == 0)
  is_short <- length(found) < (option$minItems %||% 0L) ||
    (length(found) == 0 && !may_be_empty) ||
    length(found) > (option$maxItems %||% Inf)
  if (is_short || any(vapply(found, identical, NA, misfit))) misfit else found
}

# A named list, which is a dictionary in Python. One of text can be given as a vector.
fit_object <- function(value, option, argument, field) {
  items <- option$additionalProperties$anyOf
  if (length(value) == 0 && !is.object(value)) {
    return(list())
  }
  named <- if (is.character(value)) as.list(value) else value
  is_text <- function(each) is.character(each) && length(each) == 1 && is.na(first_not_text(each))
  texts <- identical(items[[1]]$type, "string")
  if (!is.list(named) || !has_own_names(named)) {
    return(misfit)
  }
  for (pattern in option$propertyNames$allOf) {
    check_pattern(names(named), pattern, argument)
  }
  if (texts && !all(vapply(named, is_text, NA))) {
    return(misfit)
  }
  fitted <- Map(
    function(each, name) fit_first(each, items, paste0(argument, "$", name), field),
    named,
    names(named)
  )
  if (any(vapply(fitted, identical, NA, misfit))) misfit else fitted
}

# `argument` may be a value in an argument, such as "environment$KEY".
check_pattern <- function(texts, pattern, argument, secret = FALSE) {
  # `$` would also match before a line break at the end.
  matches <- grepl(sub("\\$$", "\\\\z", pattern$pattern), texts, perl = TRUE)
  if (!all(matches)) {
    wrong <- texts[!matches][[1]]
    problem <- if (secret) {
      sub(", not {value}", "", pattern$problem, fixed = TRUE)
    } else {
      pattern$problem
    }
    abort_tfdistribute(
      pattern$error %||% "argument",
      problem = problem,
      remedy = if (!is.null(pattern$remedy)) "{pattern$remedy}",
      argument = argument,
      value = if (!secret) wrong,
      # The problem names them.
      .envir = rlang::env(rlang::current_env(), value = show_value(wrong))
    )
  }
}

# Fields that cannot have some values together.
check_rule <- function(rule, fields) {
  if (!fit_all(fields, rule$not$properties)) {
    return(invisible())
  }
  shown <- lapply(fields[rule$not$required], show_value)
  value <- fields[[rule$argument]]
  abort_tfdistribute(
    rule$error,
    problem = rule$problem,
    remedy = rule$remedy,
    argument = rule$argument,
    value = if (is.character(value)) value else show_value(value),
    .envir = list2env(shown)
  )
}

fit_all <- function(values, properties) {
  for (name in names(properties)) {
    condition <- properties[[name]]
    fits <- if (is.null(condition$anyOf)) {
      is.list(values[[name]]) && fit_all(values[[name]], condition$properties)
    } else {
      fits_any(values[[name]], condition$anyOf, name)
    }
    if (!fits) {
      return(FALSE)
    }
  }
  TRUE
}
