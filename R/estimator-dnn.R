#' Deep models
#'
#' Models with fully connected hidden layers. Categorical columns must be wrapped in [column_indicator()] or
#' [column_embedding()]. Features are not scaled.
#'
#' @inheritParams linear_estimators
#' @eval help_of("dnn_regressor", "dnn_classifier")
#' @param input_layer_partitioner Must be NULL, because TensorFlow 2's canned models do not partition variables.
#' @returns A description of class `tfdistribute_dnn_regressor_estimator` or `tfdistribute_dnn_classifier_estimator`,
#'   and `tfdistribute_estimator`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error` if two columns have the same name, a categorical column is not wrapped, or
#'   `label_vocabulary` does not have `n_classes` elements.
#' * `tfdistribute_unsupported_error` if a partitioner is not NULL.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/estimator/DNNRegressor>
#' @seealso [estimators]
#' @examples
#' columns <- feature_columns(column_numeric("wt", "hp"))
#' dnn_regressor(hidden_units = c(16, 8), columns, optimizer = list("adam", learning_rate = 0.01))
#' dnn_classifier(hidden_units = 16, columns, n_classes = 3, activation_fn = "tanh", dropout = 0.1)
#' @name dnn_estimators
NULL

#' @rdname dnn_estimators
#' @export
dnn_regressor <- function(
  # Fields of estimator$dnn_regressor
  hidden_units,
  feature_columns,
  model_dir = NULL,
  label_dimension = 1,
  weight_column = NULL,
  optimizer = "Adagrad",
  activation_fn = "relu",
  dropout = NULL,
  input_layer_partitioner = NULL,
  config = NULL,
  batch_norm = FALSE,
  loss_reduction = c("sum_over_batch_size", "sum"),
  warm_start_from = NULL,
  standardize_response = NULL,
  ...
) {
  check_call(...)
  refuse_partitioner(input_layer_partitioner)
  hidden_units <- check_not_columns(hidden_units, "hidden_units")
  feature_columns <- check_deep_columns(feature_columns)
  describe_estimator("dnn_regressor", as.list(environment()))
}

#' @rdname dnn_estimators
#' @export
dnn_classifier <- function(
  # Fields of estimator$dnn_classifier
  hidden_units,
  feature_columns,
  model_dir = NULL,
  n_classes = 2,
  weight_column = NULL,
  label_vocabulary = NULL,
  optimizer = "Adagrad",
  activation_fn = "relu",
  dropout = NULL,
  input_layer_partitioner = NULL,
  config = NULL,
  batch_norm = FALSE,
  loss_reduction = c("sum_over_batch_size", "sum"),
  warm_start_from = NULL,
  ...
) {
  check_call(...)
  refuse_partitioner(input_layer_partitioner)
  hidden_units <- check_not_columns(hidden_units, "hidden_units")
  feature_columns <- check_deep_columns(feature_columns)
  describe_estimator("dnn_classifier", as.list(environment()))
}

# In tfestimators' oldest scripts, the columns come first.
check_not_columns <- function(value, argument) {
  if (
    inherits(value, c("tfdistribute_feature_column", "tfdistribute_feature_columns", "formula"))
  ) {
    remedy <- "Name the arguments, as in {argument} = c(64, 32)."
    abort_argument(value, "whole numbers of at least 1", argument, remedy = remedy)
  }
  value
}
