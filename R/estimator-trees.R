#' Boosted trees
#'
#' Gradient boosted decision trees, which Google's library Yggdrasil Decision Forests (ydf) grows. A formula and a data
#' frame are enough. The cores of this machine grow the trees, or the processes of a cluster.
#' TensorFlow evaluates the trees and predicts with them, so this needs no ydf.
#'
#' `install_tfdistribute(trees = TRUE)` installs ydf.
#'
#' @section Columns:
#' Without `feature_columns`, the trees learn from all features, as [tabular_regressor()] does: numbers, factors,
#' strings, TRUE and FALSE, dates and times. A missing number counts as the median, and trees can tell it from the
#' median. A missing label is a category of its own. The first training learns levels, medians and the scale of the
#' response from its rows, and `model_dir` keeps them.
#' @section Training:
#' `train()` reads all rows once, so it accepts no `epochs` and no `batch_size`, and ignores `steps` and `max_steps`.
#' Rows of the `validation` do not train. Their loss after each tree chooses how many trees are kept, and the history
#' contains it as an evaluation. The global step is the number of trees for each output. A later [train()] begins anew
#' with the columns and levels of the first one.
#'
#' There is one thread for each 20,000 rows, and at most one per core, because more threads take longer for few rows.
#' `session_config$intra_op_parallelism_threads` of [run_config()] sets another number. A strategy of devices is an
#' error, because trees need no devices of TensorFlow.
#' @section Clusters:
#' With a cluster, workers of ydf run in the processes of the job, and share the columns. The trees are the trees of one
#' process, except for rows with equal residuals, which a response of classes often has. ydf can divide the categories
#' of such rows in another way, and their predictions can differ in the last digits.
#'
#' The chief writes the rows once as files below `model_dir`, which all processes must see. Therefore, it may be in a
#' bucket only if they are on one machine. A lost process is restarted, and the training continues from a snapshot. If
#' you start the processes yourself, the others end with an error that names the lost one. The workers listen at the
#' addresses of the tasks, without a password, as TensorFlow's servers do.
#' @eval help_of("boosted_trees_regressor", "boosted_trees_classifier")
#' @param n_batches_per_layer Has no meaning, because trees read all rows. A message says so once.
#' @inheritParams linear_estimators
#' @returns A description of class `tfdistribute_boosted_trees_regressor_estimator` or
#'   `tfdistribute_boosted_trees_classifier_estimator`, and `tfdistribute_estimator`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error` if trees do not read a feature column, or `label_dimension` is not 1.
#' * `tfdistribute_unsupported_error` if `tree_complexity` is not 0, and from [train()] for what a cluster lacks.
#' * `tfdistribute_backend_error`, from [train()], if Python lacks ydf.
#' @references Guillame-Bert, Bruch, Stotz and Pfeifer (2023), Yggdrasil Decision Forests: A Fast and Extensible
#'   Decision Forests Library, \doi{10.1145/3580305.3599933}.
#' @seealso [estimators]
#' @examples
#' boosted_trees_regressor(n_trees = 50)
#' columns <- feature_columns(column_numeric("wt", "hp"))
#' boosted_trees_classifier(columns, max_depth = 4)
#' @name boosted_trees_estimators
NULL

#' @rdname boosted_trees_estimators
#' @export
boosted_trees_regressor <- function(
  # Fields of estimator$boosted_trees_regressor without loss_reduction, warm_start_from, standardize_response
  feature_columns = NULL,
  n_batches_per_layer = NULL,
  model_dir = NULL,
  label_dimension = 1,
  weight_column = NULL,
  n_trees = 300,
  max_depth = 6,
  learning_rate = 0.1,
  l1_regularization = 0,
  l2_regularization = 0,
  tree_complexity = 0,
  min_node_weight = 5,
  config = NULL,
  validation = 0.1,
  splits = c("axis", "oblique"),
  increasing = NULL,
  decreasing = NULL,
  new_levels = c("warn", "error", "ignore"),
  loss = c("squared_error", "poisson"),
  ...
) {
  check_call(...)
  describe_trees("boosted_trees_regressor", as.list(environment()))
}

#' @rdname boosted_trees_estimators
#' @export
boosted_trees_classifier <- function(
  # Fields of estimator$boosted_trees_classifier without loss_reduction, warm_start_from
  feature_columns = NULL,
  n_batches_per_layer = NULL,
  model_dir = NULL,
  n_classes = 2,
  weight_column = NULL,
  label_vocabulary = NULL,
  n_trees = 300,
  max_depth = 6,
  learning_rate = 0.1,
  l1_regularization = 0,
  l2_regularization = 0,
  tree_complexity = 0,
  min_node_weight = 5,
  config = NULL,
  validation = 0.1,
  splits = c("axis", "oblique"),
  increasing = NULL,
  decreasing = NULL,
  new_levels = c("warn", "error", "ignore"),
  class_weights = NULL,
  ...
) {
  check_call(...)
  describe_trees("boosted_trees_classifier", as.list(environment()))
}

describe_trees <- function(kind, arguments) {
  if (!is.null(arguments$n_batches_per_layer)) {
    rlang::inform(
      "`n_batches_per_layer` has no meaning: trees read all rows.",
      .frequency = "once",
      .frequency_id = "n_batches_per_layer"
    )
  }
  left_out <- c("n_batches_per_layer", if (is.null(arguments$feature_columns)) "feature_columns")
  describe_estimator(kind, arguments[setdiff(names(arguments), left_out)])
}

is_trees <- function(object) {
  isTRUE(object$kind %in% c("boosted_trees_regressor", "boosted_trees_classifier"))
}
