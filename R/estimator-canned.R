#' Linear models
#'
#' Linear, logistic and multinomial regression, with a weight for each number and each category, and a bias. Categorical
#' columns need no wrapping. Features are not scaled.
#'
#' @eval help_of("linear_regressor", "linear_classifier")
#' @param config A [run_config()]. NULL uses its defaults.
#' @param partitioner Must be NULL, because TensorFlow 2's canned models do not partition variables.
#' @returns A description of class `tfdistribute_linear_regressor_estimator` or
#'   `tfdistribute_linear_classifier_estimator`, and `tfdistribute_estimator`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error`, from a verb, if two columns have the same name, or `label_vocabulary` does not have
#'   `n_classes` elements.
#' * `tfdistribute_model_error`, from [train()], if weights of `warm_start_from` have another meaning in this model, or
#'   `vars_to_warm_start` matches no variable.
#' * `tfdistribute_unsupported_error` if a partitioner is not NULL.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/estimator/LinearRegressor>
#' @seealso [estimators]
#' @examples
#' linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' columns <- feature_columns(column_numeric("wt", "hp"))
#' linear_classifier(columns, optimizer = list("sgd", learning_rate = 0.1))
#' @name linear_estimators
NULL

#' @rdname linear_estimators
#' @export
linear_regressor <- function(
  # Fields of estimator$linear_regressor
  feature_columns,
  model_dir = NULL,
  label_dimension = 1,
  weight_column = NULL,
  optimizer = "Ftrl",
  config = NULL,
  partitioner = NULL,
  sparse_combiner = c("sum", "mean", "sqrtn"),
  loss_reduction = c("sum_over_batch_size", "sum"),
  warm_start_from = NULL,
  standardize_response = NULL,
  ...
) {
  check_call(...)
  refuse_partitioner(partitioner)
  describe_estimator("linear_regressor", as.list(environment()))
}

#' @rdname linear_estimators
#' @export
linear_classifier <- function(
  # Fields of estimator$linear_classifier
  feature_columns,
  model_dir = NULL,
  n_classes = 2,
  weight_column = NULL,
  label_vocabulary = NULL,
  optimizer = "Ftrl",
  config = NULL,
  partitioner = NULL,
  sparse_combiner = c("sum", "mean", "sqrtn"),
  loss_reduction = c("sum_over_batch_size", "sum"),
  warm_start_from = NULL,
  ...
) {
  check_call(...)
  refuse_partitioner(partitioner)
  describe_estimator("linear_classifier", as.list(environment()))
}

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
#' * `tfdistribute_model_error`, from a verb, if two columns have the same name, a categorical column is not wrapped, or
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
#' * `tfdistribute_model_error`, from a verb, if no columns are given, two columns have the same name, a categorical
#'   column of the deep part is not wrapped, or `label_vocabulary` does not have `n_classes` elements.
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
  describe_estimator("dnn_linear_combined_classifier", as.list(environment()))
}

#' Baseline models
#'
#' Baseline models ignore the features. They learn the mean of the response, or the share of each class. Every other
#' model should do better.
#'
#' @eval help_of("baseline_regressor", "baseline_classifier")
#' @inheritParams linear_estimators
#' @returns A description of class `tfdistribute_baseline_regressor_estimator` or
#'   `tfdistribute_baseline_classifier_estimator`, and `tfdistribute_estimator`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error` if `label_vocabulary` does not have `n_classes` elements.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/estimator/BaselineRegressor>
#' @seealso [estimators]
#' @examples
#' baseline_regressor()
#' baseline_classifier(n_classes = 3)
#' @name baseline_estimators
NULL

#' @rdname baseline_estimators
#' @export
baseline_regressor <- function(
  # Fields of estimator$baseline_regressor without warm_start_from, standardize_response
  model_dir = NULL,
  label_dimension = 1,
  weight_column = NULL,
  optimizer = "Ftrl",
  config = NULL,
  loss_reduction = c("sum_over_batch_size", "sum"),
  ...
) {
  check_call(...)
  describe_estimator("baseline_regressor", as.list(environment()))
}

#' @rdname baseline_estimators
#' @export
baseline_classifier <- function(
  # Fields of estimator$baseline_classifier without warm_start_from
  model_dir = NULL,
  n_classes = 2,
  weight_column = NULL,
  label_vocabulary = NULL,
  optimizer = "Ftrl",
  config = NULL,
  loss_reduction = c("sum_over_batch_size", "sum"),
  ...
) {
  check_call(...)
  describe_estimator("baseline_classifier", as.list(environment()))
}
