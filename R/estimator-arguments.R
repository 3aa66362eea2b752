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

check_deep_columns <- function(value, argument = rlang::caller_arg(value)) {
  columns <- check_some_columns(value, argument)
  bare <- Filter(function(column) !is_dense(column), columns)
  if (length(bare) > 0) {
    abort_tfdistribute(
      "model",
      problem = c(
        "`{argument}` has the categorical column \"{column_name(bare[[1]])}\", which layers ",
        "cannot take as it is."
      ),
      remedy = "Wrap it in column_indicator() or column_embedding().",
      value = column_name(bare[[1]])
    )
  }
  columns
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
