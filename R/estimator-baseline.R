#' Baseline models
#'
#' Baseline models ignore the features. They learn the mean of the response, or the share of each class. Every other
#' model should do better.
#'
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
  model_dir = NULL,
  label_dimension = 1L,
  weight_column = NULL,
  optimizer = "Ftrl",
  config = NULL,
  loss_reduction = "sum_over_batch_size",
  ...
) {
  check_call(...)
  describe_estimator("baseline_regressor", as.list(environment()))
}

#' @rdname baseline_estimators
#' @export
baseline_classifier <- function(
  model_dir = NULL,
  n_classes = 2L,
  weight_column = NULL,
  label_vocabulary = NULL,
  optimizer = "Ftrl",
  config = NULL,
  loss_reduction = "sum_over_batch_size",
  ...
) {
  check_call(...)
  describe_estimator("baseline_classifier", as.list(environment()))
}
