#' Baseline models
#'
#' Baseline models ignore the features. They learn the mean of the response, or the share of each class. Every other
#' model should do better.
#'
#' @inheritParams linear_estimators
#' @param ... Must be empty.
#' @returns A description of class `tfdistribute_baseline_regressor_estimator` or
#'   `tfdistribute_baseline_classifier_estimator`, and `tfdistribute_estimator`.
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error`: `label_vocabulary` does not have `n_classes` elements.
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
  check_call()
  new_estimator(
    "baseline_regressor",
    label_dimension = check_count(label_dimension),
    weight_column = check_weight_column(weight_column),
    optimizer = check_optimizer(optimizer),
    loss_reduction = check_choice(loss_reduction, loss_reductions),
    model_dir = model_dir,
    config = config
  )
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
  check_call()
  n_classes <- check_count(n_classes, minimum = 2L)
  new_estimator(
    "baseline_classifier",
    n_classes = n_classes,
    weight_column = check_weight_column(weight_column),
    label_vocabulary = check_label_vocabulary(label_vocabulary, n_classes),
    optimizer = check_optimizer(optimizer),
    loss_reduction = check_choice(loss_reduction, loss_reductions),
    model_dir = model_dir,
    config = config
  )
}
