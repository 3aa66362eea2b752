#' Boosted trees, which TensorFlow no longer has
#'
#' These functions are for scripts of tfestimators. TensorFlow removed boosted trees from Estimators after version 2.8,
#' so the functions raise an error that names alternatives: deep models of this package, or boosted trees of xgboost,
#' lightgbm or Python's TensorFlow Decision Forests.
#'
#' @param ... Arguments of tfestimators, which are ignored.
#' @returns Does not return.
#' @section Errors: `tfdistribute_unsupported_error`, from every call.
#' @references <https://github.com/advisories/GHSA-h6gw-r52c-724r>, "These APIs are now deprecated in TensorFlow 2.8."
#' @seealso [estimators]
#' @examples
#' try(boosted_trees_regressor(feature_columns(column_numeric("wt")), n_batches_per_layer = 1))
#' @name boosted_trees_estimators
NULL

#' @rdname boosted_trees_estimators
#' @export
boosted_trees_regressor <- function(...) {
  abort_boosted_trees("boosted_trees_regressor", "dnn_regressor")
}

#' @rdname boosted_trees_estimators
#' @export
boosted_trees_classifier <- function(...) {
  abort_boosted_trees("boosted_trees_classifier", "dnn_classifier")
}

abort_boosted_trees <- function(verb, instead) {
  abort_tfdistribute(
    "unsupported",
    problem = c(
      "{verb}() is not supported: ",
      "TensorFlow removed boosted trees after version 2.8."
    ),
    remedy = c(
      "Use {instead}(), or boosted trees of another package: ",
      "xgboost, lightgbm, or Python's TensorFlow Decision Forests."
    )
  )
}
