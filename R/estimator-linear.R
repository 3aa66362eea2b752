#' Linear models
#'
#' Linear, logistic and multinomial regression, with a weight for each number and each category, and a bias. Categorical
#' columns need no wrapping. Features are not scaled.
#'
#' @param feature_columns Columns that the model reads, from [feature_columns()].
#' @param model_dir Directory of the model's checkpoints, a string. NULL uses `config$model_dir`, or else a temporary
#'   directory. A relative path refers to the current working directory, even after [setwd()]. See [estimators].
#' @param label_dimension Numbers per row of the response, a count.
#' @param n_classes Number of classes, a count of at least 2.
#' @param weight_column Feature that contains the weight of each row in the loss, a string. NULL for equal weights.
#' @param label_vocabulary Names of the classes, strings, of which the last of two is the positive class (see
#'   [estimators]). NULL uses a factor's levels, or else expects whole numbers from 0, or TRUE and FALSE.
#' @param optimizer Optimizer of the weights: a name, a list or a function. See [optimizers].
#' @param config A [run_config()]. NULL uses its defaults.
#' @param partitioner Must be NULL, because TensorFlow 2's canned models do not partition variables.
#' @param sparse_combiner How several categories of one row are combined: `"sum"`, `"mean"` or `"sqrtn"`.
#' @param loss_reduction `"sum_over_batch_size"` or `"sum"`. See [estimators].
#' @param warm_start_from Initial weights of the first training: the path of a trained model's `model_dir`, of a
#'   checkpoint or of an export, or an estimator. It can also be a list with one of these as `ckpt_to_initialize_from`,
#'   and optionally `vars_to_warm_start` (regular expressions for variables) and `var_name_to_prev_var_name` (a list of
#'   names in the checkpoint, named by this model's variables). NULL for new variables. A model with a checkpoint
#'   continues from its checkpoint instead. Weights and vectors of a vocabulary list follow their categories by name,
#'   and new categories begin with 0. Any other difference that changes the meaning of a weight, such as another
#'   `center`, is an error.
#' @param standardize_response Whether the model learns the response minus its mean, divided by its standard deviation,
#'   TRUE or FALSE. Losses, predictions, evaluations and `coef()` have the unit of the response. The first training
#'   computes both numbers from its rows, which must be in memory, and `model_dir` keeps them. Such a model reads the
#'   response in 64 bits, and others in 32. NULL standardizes if the first training has a formula and rows in memory.
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
  check_call(...)
  refuse_partitioner(partitioner)
  describe_estimator("linear_classifier", as.list(environment()))
}
