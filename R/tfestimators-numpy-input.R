#' Describe examples in arrays
#'
#' This function is for scripts of tfestimators. It is equivalent to [input_fn()] for a list of arrays, with the
#' response as a separate argument. The first dimension of each array counts the examples. Arrays of NumPy are converted
#' to R arrays.
#'
#' @param x Features: a named list of vectors, matrices and arrays with the same first dimension, or one array, which
#'   becomes the feature `x`.
#' @param y Response: a vector, factor or array with the same first dimension. NULL without a response.
#' @inheritParams input_fn
#' @param shuffle TRUE, FALSE, or NULL, which shuffles only in training.
#' @param weights Name of the element of `x` that contains the weight of each row, a string, or NULL. See
#'   [input_transform].
#' @param ... Must be empty.
#' @returns A description of class `tfdistribute_input`.
#' @section Errors: `tfdistribute_input_error` or `tfdistribute_argument_error` as in [input_fn()].
#' @references <https://www.tensorflow.org/api_docs/python/tf/compat/v1/estimator/inputs/numpy_input_fn>
#' @seealso [input_fn()]
#' @examples
#' numpy_input_fn(
#'   x = list(pixels = array(runif(10 * 4 * 4), c(10, 4, 4))),
#'   y = rep(0:1, 5),
#'   batch_size = 5
#' )
#' @export
numpy_input_fn <- function(
  x,
  y = NULL,
  batch_size = 128,
  epochs = 1,
  shuffle = NULL,
  queue_capacity = 1000,
  num_threads = 1,
  impute = NULL,
  factors = NULL,
  seed = NULL,
  weights = NULL,
  transform = NULL,
  ...
) {
  renamed <- check_call(..., .renames = TRUE)
  x <- as_r_array(x)
  if (is.atomic(x) && !is.null(x)) {
    x <- list(x = x)
  }
  if (!is.list(x) || is_python_object(x)) {
    remedy <- "Name each feature, as in list(x = x)."
    abort_argument(x, "an array or a named list of arrays", kind = "input", remedy = remedy)
  }
  y <- as_r_array(y)
  check_column_names(names(x), "x")
  weights <- check_string(weights, null = TRUE)
  if (!is.null(weights) && !weights %in% names(x)) {
    abort_unknown_column(weights, names(x), "weights")
  }
  features <- setdiff(names(x), weights)
  response <- if (!is.null(y)) utils::tail(make.unique(c(names(x), "y")), 1)
  data <- unclass_list(as.list(x))
  data[response] <- if (!is.null(y)) list(y)
  settings <- list(batch_size = batch_size, epochs = epochs, shuffle = shuffle, seed = seed)
  new_in_memory_input(
    data,
    features,
    response,
    source = "arrays",
    weights = weights,
    settings = replace(settings, names(renamed), renamed),
    impute = impute,
    factors = factors,
    transform = transform
  )
}
