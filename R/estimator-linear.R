#' Linear models
#'
#' Models with a weight for each number and each category, and a bias: linear, logistic and multinomial regression.
#' Categorical columns need no wrapping. Features are not scaled.
#'
#' @param feature_columns Columns that the model reads, as [feature_columns()] returns them.
#' @param model_dir Directory of the model's checkpoints, a string; NULL for `config$model_dir`, or else a temporary
#'   one. A relative path is that of the current working directory, also after [setwd()]. See [estimators].
#' @param label_dimension Numbers per row of the response, a count.
#' @param n_classes Number of classes, a count of at least 2.
#' @param weight_column Feature that holds the weight of each row in the loss, a string; NULL for equal weights.
#' @param label_vocabulary Names of the classes, strings; NULL uses a factor's levels, or else expects whole numbers
#'   from 0.
#' @param optimizer Optimizer of the weights: a name, a list or a function. See [optimizers].
#' @param config What [run_config()] returns; NULL for its defaults.
#' @param partitioner Must be NULL: TensorFlow 2's canned models do not partition variables.
#' @param sparse_combiner How several categories of one row are combined: `"sum"`, `"mean"` or `"sqrtn"`.
#' @param loss_reduction `"sum_over_batch_size"` or `"sum"`. See [estimators].
#' @param warm_start_from Initial weights of the first training: the path of a trained model's `model_dir`, of a
#'   checkpoint or of an export; or an estimator; or a list with one of these as `ckpt_to_initialize_from`, and
#'   optionally `vars_to_warm_start` (regular expressions for variables) and `var_name_to_prev_var_name` (a list of
#'   names in the checkpoint, named by this model's variables). NULL for new variables. A model with a checkpoint
#'   continues from that instead.
#' @param ... Must be empty.
#' @returns A description of class `tfdistribute_linear_regressor_estimator` or
#'   `tfdistribute_linear_classifier_estimator`, and `tfdistribute_estimator`.
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error`: two columns have the same name, or `label_vocabulary` does not have `n_classes`
#'   elements.
#' * `tfdistribute_unsupported_error`: a partitioner was given.
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
  feature_columns,
  model_dir = NULL,
  label_dimension = 1L,
  weight_column = NULL,
  optimizer = "Ftrl",
  config = NULL,
  partitioner = NULL,
  sparse_combiner = "sum",
  loss_reduction = "sum_over_batch_size",
  warm_start_from = NULL,
  ...
) {
  check_call()
  refuse_partitioner(partitioner)
  new_estimator(
    "linear_regressor",
    feature_columns = check_some_columns(feature_columns),
    label_dimension = check_count(label_dimension),
    weight_column = check_weight_column(weight_column),
    optimizer = check_optimizer(optimizer),
    sparse_combiner = check_choice(sparse_combiner, sparse_combiners),
    loss_reduction = check_choice(loss_reduction, loss_reductions),
    warm_start_from = check_warm_start(warm_start_from),
    model_dir = model_dir,
    config = config
  )
}

#' @rdname linear_estimators
#' @export
linear_classifier <- function(
  feature_columns,
  model_dir = NULL,
  n_classes = 2L,
  weight_column = NULL,
  label_vocabulary = NULL,
  optimizer = "Ftrl",
  config = NULL,
  partitioner = NULL,
  sparse_combiner = "sum",
  loss_reduction = "sum_over_batch_size",
  warm_start_from = NULL,
  ...
) {
  check_call()
  refuse_partitioner(partitioner)
  n_classes <- check_count(n_classes, minimum = 2L)
  new_estimator(
    "linear_classifier",
    feature_columns = check_some_columns(feature_columns),
    n_classes = n_classes,
    weight_column = check_weight_column(weight_column),
    label_vocabulary = check_label_vocabulary(label_vocabulary, n_classes),
    optimizer = check_optimizer(optimizer),
    sparse_combiner = check_choice(sparse_combiner, sparse_combiners),
    loss_reduction = check_choice(loss_reduction, loss_reductions),
    warm_start_from = check_warm_start(warm_start_from),
    model_dir = model_dir,
    config = config
  )
}
