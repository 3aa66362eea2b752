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
