# Initial values of embeddings.

check_initializer <- function(initializer) {
  if (is.null(initializer) || inherits(initializer, "tfdistribute_initializer")) {
    return(initializer)
  }
  if (is.function(initializer) || is_python_object(initializer)) {
    return(new_description("initializer", "function", `function` = initializer))
  }
  expected <- "a name, a list such as list(\"truncated_normal\", stddev = 0.1), or a function"
  parts <- named_settings(initializer, expected)
  known <- schema$initializer$named$name
  name <- check_field(tolower(parts$name), known, "initializer")
  new_named_description("initializer", name, parts$settings)
}

# The name and the settings of list("adam", learning_rate = 0.1) or "adam".
named_settings <- function(value, expected, argument = rlang::caller_arg(value)) {
  parts <- if (is.character(value)) as.list(unname(value)) else value
  labels <- names(parts) %||% rep("", length(parts))
  at <- position_of_name(parts, labels)
  if (is.na(at)) {
    abort_argument(parts, expected, argument)
  }
  if (!all(nzchar(labels[-at]))) {
    abort_tfdistribute(
      "argument",
      problem = "`{argument}` \"{parts[[at]]}\" has a setting without a name.",
      remedy = "Name each setting, as in list(\"adam\", learning_rate = 0.01).",
      value = parts[[at]]
    )
  }
  list(name = parts[[at]], settings = parts[-at])
}

# Position of the name in a list: the element `name`, or the first element without a name. NA if there is neither.
position_of_name <- function(value, labels) {
  if (!is.list(value) || is_python_object(value)) {
    return(NA_integer_)
  }
  at <- if ("name" %in% labels) match("name", labels) else match("", labels)
  is_name <- !is.na(at) &&
    is.character(value[[at]]) &&
    length(value[[at]]) == 1 &&
    !is.na(value[[at]]) &&
    validEnc(value[[at]])
  if (is_name) at else NA_integer_
}

# Settings are omitted if there are none, because an empty R list would become a list in Python, not a dictionary.
new_named_description <- function(family, name, settings) {
  if (length(settings) == 0) {
    return(new_description(family, "named", name = name))
  }
  new_description(family, "named", name = name, settings = settings)
}
