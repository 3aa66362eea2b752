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
#' * `tfdistribute_model_error` if two columns have the same name, or `label_vocabulary` does not have `n_classes`
#'   elements.
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
