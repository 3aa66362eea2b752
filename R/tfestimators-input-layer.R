#' Combine features into one layer of a model function
#'
#' This function is for scripts of tfestimators. It applies feature columns to features and returns one tensor of
#' numbers, for use in a [model function][estimator]. Canned models do this themselves.
#'
#' @param features Named list of tensors, as in a model function.
#' @param feature_columns Columns to read, from [feature_columns()]. Categorical columns must be wrapped in
#'   [column_indicator()] or [column_embedding()].
#' @param weight_collections Collections of the graph to which variables are added, strings, or NULL. See
#'   [graph_keys()].
#' @param trainable Whether training changes the variables, TRUE or FALSE.
#' @returns A tensor of shape (batch, width), with columns in the order of their names.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error` if a categorical column is not wrapped.
#' @references <https://www.tensorflow.org/api_docs/python/tf/compat/v1/feature_column/input_layer>
#' @examples
#' columns <- feature_columns(column_numeric("wt", "hp"))
#' model <- estimator(function(features, labels, mode) {
#'   inputs <- input_layer(features, columns)
#'   predicted <- tf$squeeze(tf$compat$v1$layers$dense(inputs, 1L), 1L)
#'   list(
#'     predictions = list(mpg = predicted),
#'     loss = if (mode != "infer") tf$reduce_mean(tf$math$squared_difference(labels, predicted)),
#'     optimizer = "sgd"
#'   )
#' })
#' @export
input_layer <- function(
  features,
  feature_columns,
  weight_collections = NULL,
  trainable = TRUE,
  ...
) {
  check_call(...)
  if (!is.list(features) && !is_python_object(features)) {
    abort_argument(features, "a named list of tensors")
  }
  call_backend(
    "input_layer",
    features = as.list(features),
    feature_columns = check_deep_columns(feature_columns),
    weight_collections = check_strings(weight_collections, null = TRUE),
    trainable = check_flag(trainable)
  )
}
