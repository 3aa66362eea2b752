#' Wide and deep models
#'
#' A linear part, which memorizes categories and their combinations, and hidden layers, which generalize, train
#' together, each with its own optimizer. Either part can be omitted.
#'
#' @inheritParams dnn_estimators
#' @eval help_of("dnn_linear_combined_regressor", "dnn_linear_combined_classifier")
#' @returns A description of class `tfdistribute_dnn_linear_combined_regressor_estimator` or
#'   `tfdistribute_dnn_linear_combined_classifier_estimator`, and `tfdistribute_estimator`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error` if no columns are given, two columns have the same name, a categorical column of the
#'   deep part is not wrapped, or `label_vocabulary` does not have `n_classes` elements.
#' * `tfdistribute_unsupported_error` if a partitioner is not NULL.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/estimator/DNNLinearCombinedRegressor>
#' @seealso [estimators]
#' @examples
#' gear <- column_categorical_with_identity("gear", num_buckets = 6)
#' dnn_linear_combined_regressor(
#'   linear_feature_columns = feature_columns(gear),
#'   dnn_feature_columns = feature_columns(column_numeric("wt", "hp"), column_indicator(gear)),
#'   dnn_hidden_units = c(16, 8),
#'   dnn_optimizer = list("adam", learning_rate = 0.01)
#' )
#' @name combined_estimators
NULL

#' @rdname combined_estimators
#' @export
dnn_linear_combined_regressor <- function(
  # Fields of estimator$dnn_linear_combined_regressor
  model_dir = NULL,
  linear_feature_columns = NULL,
  linear_optimizer = "Ftrl",
  dnn_feature_columns = NULL,
  dnn_optimizer = "Adagrad",
  dnn_hidden_units = NULL,
  dnn_activation_fn = "relu",
  dnn_dropout = NULL,
  label_dimension = 1,
  weight_column = NULL,
  input_layer_partitioner = NULL,
  config = NULL,
  batch_norm = FALSE,
  linear_sparse_combiner = c("sum", "mean", "sqrtn"),
  loss_reduction = c("sum_over_batch_size", "sum"),
  warm_start_from = NULL,
  standardize_response = NULL,
  ...
) {
  check_call(...)
  refuse_partitioner(input_layer_partitioner)
  check_parts(linear_feature_columns, dnn_feature_columns)
  dnn_hidden_units <- check_dnn_hidden_units(dnn_hidden_units, dnn_feature_columns)
  describe_estimator("dnn_linear_combined_regressor", as.list(environment()))
}

#' @rdname combined_estimators
#' @export
dnn_linear_combined_classifier <- function(
  # Fields of estimator$dnn_linear_combined_classifier
  model_dir = NULL,
  linear_feature_columns = NULL,
  linear_optimizer = "Ftrl",
  dnn_feature_columns = NULL,
  dnn_optimizer = "Adagrad",
  dnn_hidden_units = NULL,
  dnn_activation_fn = "relu",
  dnn_dropout = NULL,
  n_classes = 2,
  weight_column = NULL,
  label_vocabulary = NULL,
  input_layer_partitioner = NULL,
  config = NULL,
  batch_norm = FALSE,
  linear_sparse_combiner = c("sum", "mean", "sqrtn"),
  loss_reduction = c("sum_over_batch_size", "sum"),
  warm_start_from = NULL,
  ...
) {
  check_call(...)
  refuse_partitioner(input_layer_partitioner)
  check_parts(linear_feature_columns, dnn_feature_columns)
  dnn_hidden_units <- check_dnn_hidden_units(dnn_hidden_units, dnn_feature_columns)
  describe_estimator("dnn_linear_combined_classifier", as.list(environment()))
}

check_parts <- function(linear_feature_columns, dnn_feature_columns) {
  linear <- as_feature_columns(linear_feature_columns)
  dnn <- as_feature_columns(dnn_feature_columns)
  if (length(linear) + length(dnn) == 0) {
    abort_tfdistribute(
      "model",
      problem = "Both `linear_feature_columns` and `dnn_feature_columns` are empty.",
      remedy = "Give at least one column.",
      argument = "linear_feature_columns"
    )
  }
  if (length(linear) > 0) {
    check_distinct_columns(linear, "linear_feature_columns")
  }
  if (length(dnn) > 0) {
    check_deep_columns(dnn_feature_columns)
  }
}

check_dnn_hidden_units <- function(dnn_hidden_units, dnn_feature_columns) {
  is_used <- length(dnn_hidden_units) > 0 || length(as_feature_columns(dnn_feature_columns)) > 0
  if (is_used) {
    units <- check_not_columns(dnn_hidden_units, "dnn_hidden_units")
    check_field(units, schema$estimator$dnn_regressor$hidden_units, "dnn_hidden_units")
  }
}
