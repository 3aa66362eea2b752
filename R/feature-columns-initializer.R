# Starting values of learned vectors.

# As in models/initializers.py.
initializer_names <- c(
  "constant",
  "glorot_normal",
  "glorot_uniform",
  "he_normal",
  "he_uniform",
  "lecun_normal",
  "lecun_uniform",
  "ones",
  "orthogonal",
  "random_normal",
  "random_uniform",
  "truncated_normal",
  "variance_scaling",
  "zeros"
)

check_initializer <- function(value) {
  if (is.null(value) || inherits(value, "tfdistribute_initializer")) {
    return(value)
  }
  if (is.function(value) || is_python_object(value)) {
    return(new_description("initializer", "function", `function` = value))
  }
  parts <- named_settings(
    value,
    "initializer",
    "a name, a list such as list(\"truncated_normal\", stddev = 0.1), or a function"
  )
  name <- check_choice(tolower(parts$name), "initializer", initializer_names)
  new_named("initializer", name, parts$settings)
}

# list("adam", learning_rate = 0.1), or "adam": the name, and the settings by name.
named_settings <- function(value, argument, expected) {
  if (is.character(value)) {
    value <- as.list(unname(value))
  }
  labels <- names(value) %||% rep("", length(value))
  at <- position_of_name(value, labels)
  if (is.na(at)) {
    abort_argument(argument, value, expected)
  }
  if (!all(nzchar(labels[-at]))) {
    abort_tfdistribute(
      "argument",
      problem = paste0("`", argument, "` \"", value[[at]], "\" has a setting without a name."),
      remedy = "Name each setting, as in list(\"adam\", learning_rate = 0.01).",
      argument = argument,
      value = value[[at]]
    )
  }
  list(name = value[[at]], settings = value[-at])
}

# Where a list has its name: as `name`, or first of those without one. NA where it is no such list.
position_of_name <- function(value, labels) {
  if (!is.list(value) || is_python_object(value)) {
    return(NA_integer_)
  }
  at <- if ("name" %in% labels) match("name", labels) else match("", labels)
  is_name <- !is.na(at) &&
    is.character(value[[at]]) &&
    length(value[[at]]) == 1 &&
    !is.na(value[[at]])
  if (is_name) at else NA_integer_
}

# An empty list would reach Python as a list and not as named values.
new_named <- function(family, name, settings) {
  if (length(settings) == 0) {
    return(new_description(family, "named", name = name))
  }
  new_description(family, "named", name = name, settings = settings)
}
