# Arguments that several estimators share.

# Checks of the arguments that several estimators have, in the order in which estimators print them.
estimator_checks <- rlang::exprs(
  hidden_units = check_hidden_units(hidden_units),
  feature_columns = check_some_columns(feature_columns),
  linear_feature_columns = as_feature_columns(linear_feature_columns),
  linear_optimizer = check_optimizer(linear_optimizer),
  dnn_feature_columns = as_feature_columns(dnn_feature_columns),
  dnn_optimizer = check_optimizer(dnn_optimizer),
  dnn_hidden_units = check_dnn_hidden_units(dnn_hidden_units, dnn_feature_columns),
  dnn_activation_fn = check_activation(dnn_activation_fn),
  dnn_dropout = check_dropout(dnn_dropout),
  label_dimension = check_count(label_dimension),
  standardize_response = if (!is.null(standardize_response)) check_flag(standardize_response),
  n_classes = check_count(n_classes, minimum = 2L),
  weight_column = check_weight_column(weight_column),
  label_vocabulary = check_label_vocabulary(label_vocabulary, n_classes),
  optimizer = check_optimizer(optimizer),
  activation_fn = check_activation(activation_fn),
  dropout = check_dropout(dropout),
  batch_norm = check_flag(batch_norm),
  weight_decay = check_number(weight_decay, minimum = 0),
  learning_rate = check_number(learning_rate, minimum = 0, null = TRUE),
  batch_size = check_count(batch_size, null = TRUE),
  epochs = check_count(epochs, null = TRUE),
  validation = check_dropout(validation),
  new_levels = check_choice(new_levels, c("error", "ignore")),
  time_limit_s = check_number(time_limit_s, minimum = 0, null = TRUE),
  sparse_combiner = check_choice(sparse_combiner, sparse_combiners),
  linear_sparse_combiner = check_choice(linear_sparse_combiner, sparse_combiners),
  params = check_params(params),
  loss_reduction = check_choice(loss_reduction, loss_reductions),
  warm_start_from = check_warm_start(warm_start_from)
)

# An estimator with the fields `...`, which are already checked, and the arguments of its constructor.
describe_estimator <- function(kind, ..., .frame = parent.frame()) {
  fields <- checked_fields(estimator_checks, ..., .frame = .frame)
  rlang::inject(
    new_estimator(kind, !!!fields, model_dir = .frame$model_dir, config = .frame$config)
  )
}

loss_reductions <- c("sum_over_batch_size", "sum")
sparse_combiners <- c("sum", "mean", "sqrtn")

# fmt: skip
activations <- c(
  "celu", "crelu", "elu", "exponential", "gelu", "hard_sigmoid", "hardshrink", "hardsigmoid",
  "hardtanh", "leaky_relu", "linear", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid",
  "silu", "softmax", "softplus", "softshrink", "softsign", "swish", "tanh", "tanhshrink"
)

check_activation <- function(value, argument = rlang::caller_arg(value)) {
  if (is.function(value) || is_python_object(value)) {
    return(value)
  }
  if (!is.character(value) || length(value) != 1 || is.na(value)) {
    abort_argument(value, "a name such as \"relu\", or a function", argument)
  }
  if (!value %in% activations) {
    abort_unknown_name(value, activations, "an activation function", argument)
  }
  value
}

check_dropout <- function(value, argument = rlang::caller_arg(value)) {
  share <- check_number(value, minimum = 0, null = TRUE, argument = argument)
  if (!is.null(share) && share >= 1) {
    abort_argument(value, "a share below 1, or NULL", argument)
  }
  share
}

# tfestimators also accepts a numeric column.
check_weight_column <- function(weight_column) {
  if (is_feature_column(weight_column) && is_raw_number(weight_column)) {
    return(weight_column$key)
  }
  check_string(weight_column, null = TRUE)
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
      argument = argument,
      value = column_name(bare[[1]])
    )
  }
  columns
}

check_label_vocabulary <- function(label_vocabulary, n_classes) {
  if (is.null(label_vocabulary)) {
    return(NULL)
  }
  labels <- if (is.factor(label_vocabulary)) levels(label_vocabulary) else label_vocabulary
  labels <- check_strings(labels, argument = "label_vocabulary")
  check_distinct(labels, "Name each class once.", "label_vocabulary", "model")
  if (length(labels) != n_classes) {
    abort_tfdistribute(
      "model",
      problem = c(
        "`n_classes` is {n_classes}, but `label_vocabulary` names {length(labels)} class{?es}: ",
        "{show_value(labels)}."
      ),
      remedy = "Give n_classes = {length(labels)}.",
      argument = "n_classes",
      value = show_value(n_classes)
    )
  }
  labels
}

check_params <- function(params) {
  if (!is.null(params) && !is.list(params)) {
    abort_argument(params, "a list or NULL")
  }
  params
}

refuse_partitioner <- function(value, argument = rlang::caller_arg(value)) {
  if (!is.null(value)) {
    abort_tfdistribute(
      "unsupported",
      problem = "`{argument}` is not supported: TensorFlow 2's canned models do not partition variables.",
      argument = argument
    )
  }
}
