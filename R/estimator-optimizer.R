# The `optimizer` argument of estimators.

#' Optimizers of estimators
#'
#' The `optimizer` argument of an estimator determines how gradients change its weights. It can have five forms:
#'
#' * A name, in any case: `r quoted(names(schema$optimizer_settings))`. The learning rate is then TensorFlow's default
#'   for the kind of model: 0.2 for linear models, 0.3 for baseline models, 0.001 for deep models (0.01 with `"sgd"`),
#'   and in combined models 0.001 for the deep part and at most 0.005 for the linear part. These rates are small for
#'   deep models, so set your own.
#' * A list of a name and settings with Keras's names, such as `list("adam", learning_rate = 0.01, beta_1 = 0.95)`. All
#'   optimizers accept
#'   `r backquoted(Reduce(intersect, lapply(schema$optimizer_settings, \(each) names(each))))`. With
#'   `l2_penalty`, the loss grows by that number times the sum of the squared weights. Intercepts and biases are not
#'   penalized.
#' * A list in which the learning rate is a schedule, which is itself a list: `list("sgd", learning_rate =
#'   list("exponential_decay", initial_learning_rate = 0.1, decay_steps = 1000, decay_rate = 0.9))`. Schedules:
#'   `r quoted(schema_names$schedules)`.
#' * A Python optimizer of `tf$keras$optimizers$legacy`, or a new optimizer if the legacy optimizer of the same name has
#'   all its settings.
#' * A function without arguments that returns such an optimizer.
#'
#' Each training creates a new optimizer, so an estimator can be trained many times and on several devices. A training
#' that continues from a checkpoint uses the current learning rate, not the rate in the checkpoint.
#'
#' @section Errors:
#' * `tfdistribute_argument_error` if the name or a setting is unknown.
#' * `tfdistribute_model_error`, from a verb, if canned models cannot use the Python object, for example a TensorFlow 1
#'   optimizer.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/keras/optimizers/legacy>
#' @examples
#' columns <- feature_columns(column_numeric("wt"))
#' linear_regressor(columns, optimizer = "sgd")
#' linear_regressor(columns, optimizer = list("adam", learning_rate = 0.01))
#' @name optimizers
NULL

check_optimizer <- function(value, argument = rlang::caller_arg(value)) {
  if (inherits(value, "tfdistribute_optimizer")) {
    return(value)
  }
  if (is_python_object(value)) {
    return(new_description("optimizer", "object", object = value))
  }
  if (is.function(value)) {
    return(new_description("optimizer", "function", `function` = value))
  }
  parts <- named_settings(value, "list(\"adam\", learning_rate = 0.01)", argument)
  name <- tolower(parts$name)
  if (!name %in% names(schema$optimizer_settings)) {
    abort_unknown_name(parts$name, names(schema$optimizer_settings), "an optimizer", argument)
  }
  known <- names(schema$optimizer_settings[[name]])
  unknown <- setdiff(names(parts$settings), known)
  if (length(unknown) > 0) {
    abort_tfdistribute(
      "argument",
      problem = "`{argument}` \"{parts$name}\" has no setting `{unknown[[1]]}`.",
      remedy = "Its settings are {toString(known)}.",
      value = unknown[[1]]
    )
  }
  settings <- parts$settings
  if (is.list(settings$learning_rate)) {
    settings$learning_rate <- check_schedule(settings$learning_rate)
  }
  settings <- check_fields(schema$optimizer_settings[[name]], settings)
  new_named_description("optimizer", name, settings)
}

check_schedule <- function(learning_rate) {
  parts <- named_settings(learning_rate, "list(\"exponential_decay\", decay_steps = 100)")
  if (!parts$name %in% schema_names$schedules) {
    abort_unknown_name(parts$name, schema_names$schedules, "a schedule", "learning_rate")
  }
  c(list(schedule = parts$name), parts$settings)
}

abort_unknown_name <- function(name, known, what, argument) {
  abort_tfdistribute(
    "argument",
    problem = "`{argument}` \"{name}\" is not {what}.",
    remedy = "{did_you_mean(name, known, quote = '\"')}Use one of {quoted(known)}.",
    value = name
  )
}

#' @export
format.tfdistribute_optimizer <- function(x, ...) {
  if (x$kind == "function") {
    return("made by a function")
  }
  if (x$kind == "object") {
    return(paste0("Python's ", sub("^.*[.]", "", class(x$object)[[1]])))
  }
  settings <- vapply(
    names(x$settings),
    function(name) {
      value <- x$settings[[name]]
      paste0(name, " = ", if (is.list(value)) value$schedule else format(value))
    },
    ""
  )
  paste0(x$name, if (length(settings) > 0) paste0(" (", toString(settings), ")"))
}

# The name and the settings of list("adam", learning_rate = 0.1) or "adam".
named_settings <- function(value, example, argument = rlang::caller_arg(value)) {
  parts <- if (is.character(value)) as.list(unname(value)) else value
  labels <- names(parts) %||% rep("", length(parts))
  at <- position_of_name(parts, labels)
  if (is.na(at)) {
    abort_argument(parts, "a name, a list such as {example}, or a function", argument)
  }
  if (!all(nzchar(labels[-at]))) {
    abort_tfdistribute(
      "argument",
      problem = "`{argument}` \"{parts[[at]]}\" has a setting without a name.",
      remedy = "Name each setting, as in {example}.",
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
