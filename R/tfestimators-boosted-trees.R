#' Boosted trees, which TensorFlow no longer has
#'
#' tfestimators has these functions, but TensorFlow removed boosted trees from Estimators after version 2.8. They raise
#' an error that names alternatives: deep models of this package, or boosted trees of xgboost, lightgbm or Python's
#' TensorFlow Decision Forests.
#'
#' @inheritParams linear_estimators
#' @param n_batches_per_layer,n_trees,max_depth,learning_rate As in tfestimators; not used.
#' @param l1_regularization,l2_regularization,tree_complexity,min_node_weight As in tfestimators; not used.
#' @param ... Must be empty.
#' @returns Does not return.
#' @section Errors: `tfdistribute_unsupported_error`: always.
#' @references <https://github.com/advisories/GHSA-h6gw-r52c-724r>, "These APIs are now deprecated in TensorFlow 2.8."
#' @seealso [estimators]
#' @examples
#' try(boosted_trees_regressor(feature_columns(column_numeric("wt")), n_batches_per_layer = 1))
#' @name boosted_trees_estimators
NULL

#' @rdname boosted_trees_estimators
#' @export
boosted_trees_regressor <- function(
  feature_columns,
  n_batches_per_layer,
  model_dir = NULL,
  label_dimension = 1L,
  weight_column = NULL,
  n_trees = 100L,
  max_depth = 6L,
  learning_rate = 0.1,
  l1_regularization = 0,
  l2_regularization = 0,
  tree_complexity = 0,
  min_node_weight = 0,
  config = NULL,
  ...
) {
  abort_boosted_trees("boosted_trees_regressor", "dnn_regressor")
}

#' @rdname boosted_trees_estimators
#' @export
boosted_trees_classifier <- function(
  feature_columns,
  n_batches_per_layer,
  model_dir = NULL,
  n_classes = 2L,
  weight_column = NULL,
  label_vocabulary = NULL,
  n_trees = 100L,
  max_depth = 6L,
  learning_rate = 0.1,
  l1_regularization = 0,
  l2_regularization = 0,
  tree_complexity = 0,
  min_node_weight = 0,
  config = NULL,
  ...
) {
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
