# Arguments that several estimators share.

# An estimator by the arguments of its constructor, and fields `...` that only R has.
describe_estimator <- function(kind, arguments, ...) {
  for (name in intersect(names(arguments), names(argument_converters))) {
    arguments[name] <- list(argument_converters[[name]](arguments[[name]], name))
  }
  fields <- setdiff(names(arguments), c("model_dir", "config"))
  columns <- arguments[grep("feature_columns$", fields, value = TRUE)]
  described <- check_fields(schema$estimator[[kind]], arguments[fields], columns)
  new_estimator(kind, c(list(...), described), arguments$model_dir, arguments$config)
}

# tfestimators also accepts a numeric column.
plain_weight_column <- function(weight_column, ...) {
  is_column <- is_feature_column(weight_column) && is_raw_number(weight_column)
  if (is_column) weight_column$key else weight_column
}

check_params <- function(params) {
  if (!is.null(params) && !is.list(params)) {
    abort_argument(params, "a list or NULL")
  }
  params
}

# The forms of arguments that only R has: a function of the value and the name of the argument.
argument_converters <- list(
  feature_columns = function(value, name) check_some_columns(value, name),
  linear_feature_columns = function(value, name) as_feature_columns(value, name),
  dnn_feature_columns = function(value, name) as_feature_columns(value, name),
  hidden_units = function(value, name) check_not_columns(value, name),
  dnn_hidden_units = function(value, name) check_not_columns(value, name),
  linear_optimizer = function(value, name) check_optimizer(value, name),
  dnn_optimizer = function(value, name) check_optimizer(value, name),
  optimizer = function(value, name) check_optimizer(value, name),
  label_vocabulary = function(value, name) if (is.factor(value)) levels(value) else value,
  weight_column = function(value, name) plain_weight_column(value),
  params = function(value, name) check_params(value),
  warm_start_from = function(value, name) check_warm_start(value)
)

refuse_partitioner <- function(value, argument = rlang::caller_arg(value)) {
  if (!is.null(value)) {
    abort_tfdistribute(
      "unsupported",
      problem = "`{argument}` is not supported: TensorFlow 2's canned models do not partition variables."
    )
  }
}

# The `warm_start_from` argument of estimators.

# NULL, or the named list that Python reads.
check_warm_start <- function(warm_start_from) {
  if (is.null(warm_start_from) || inherits(warm_start_from, "tfdistribute_warm_start")) {
    return(warm_start_from)
  }
  # Estimators are lists too.
  fields <- if (is_plain_list(warm_start_from)) {
    warm_start_from
  } else {
    list(ckpt_to_initialize_from = warm_start_from)
  }
  known <- names(schema$warm_start)
  unknown <- setdiff(names(fields), known)
  if (length(unknown) > 0 || is.null(names(fields))) {
    abort_unknown_warm_start(unknown, known)
  }
  path <- warm_start_path(fields$ckpt_to_initialize_from)
  fields <- Filter(Negate(is.null), replace(fields, "ckpt_to_initialize_from", path))
  structure(check_fields(schema$warm_start, fields), class = "tfdistribute_warm_start")
}

abort_unknown_warm_start <- function(unknown, known) {
  abort_tfdistribute(
    "argument",
    problem = if (length(unknown) == 0) {
      "`warm_start_from` is a list without names."
    } else {
      "`warm_start_from` has no field `{unknown[[1]]}`."
    },
    remedy = "Use only {backquoted(known)}.",
    argument = "warm_start_from"
  )
}

warm_start_path <- function(warm_start_from) {
  path <- if (inherits(warm_start_from, "tfdistribute_estimator")) {
    warm_start_from$model_dir
  } else if (inherits(warm_start_from, "tf_estimator")) {
    warm_start_from$estimator$model_dir
  } else {
    warm_start_from
  }
  if (!is.character(path)) {
    abort_argument(warm_start_from, "a path, an estimator, or a list")
  }
  absolute_path(check_string(path, argument = "warm_start_from"))
}

#' @export
format.tfdistribute_warm_start <- function(x, ...) {
  paste0(
    x$ckpt_to_initialize_from,
    if (!is.null(x$vars_to_warm_start)) {
      paste0(" (", toString(x$vars_to_warm_start), ")")
    }
  )
}
