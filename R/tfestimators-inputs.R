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

# Descriptions of how tf.train.Example messages with labels are read.

#' Specify how TensorFlow parses examples in files
#'
#' These functions are for scripts of tfestimators. They describe how the features, label and weights of a model are
#' stored in `tf.train.Example` messages, the content of TFRecord files. The description is a plain R value. TensorFlow
#' functions such as `tf$io$parse_example()` accept it as the dictionary that they require.
#'
#' @param feature_columns Columns that the model reads, from [feature_columns()].
#' @param label_key Name of the label in the messages, a string.
#' @param label_dtype Type of the label: `"int64"`, `"float32"`, `"string"` or a TensorFlow dtype such as `tf$int64`.
#' @param label_default Label of messages without a label, a number or string. NULL makes such messages an error.
#' @param label_dimension Numbers in one label, a count.
#' @param weight_column Name of the weights in the messages, a string. NULL without weights.
#' @returns A description of class `tfdistribute_parse_example_spec`. [as_python()] returns TensorFlow's dictionary.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error` if the label or the weights are also a feature.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/classifier_parse_example_spec>
#' @examples
#' columns <- feature_columns(column_numeric("wt", "hp"))
#' spec <- classifier_parse_example_spec(columns, label_key = "am")
#' spec
#' @examplesIf tfdistribute_available()
#' as_python(spec)
#' # In an input function:
#' # tf$data$TFRecordDataset(files)$batch(32L)$map(function(x) tf$io$parse_example(x, spec))
#' @name parse_example_spec
NULL

#' @rdname parse_example_spec
#' @export
classifier_parse_example_spec <- function(
  feature_columns,
  label_key,
  label_dtype = "int64",
  label_default = NULL,
  weight_column = NULL,
  ...
) {
  check_call(...)
  new_parse_example_spec(feature_columns, label_key, label_dtype, label_default, 1L, weight_column)
}

#' @rdname parse_example_spec
#' @export
regressor_parse_example_spec <- function(
  feature_columns,
  label_key,
  label_dtype = "float32",
  label_default = NULL,
  label_dimension = 1L,
  weight_column = NULL,
  ...
) {
  check_call(...)
  new_parse_example_spec(
    feature_columns,
    label_key,
    label_dtype,
    label_default,
    check_count(label_dimension),
    weight_column
  )
}

new_parse_example_spec <- function(
  feature_columns,
  label_key,
  label_dtype,
  label_default,
  label_dimension,
  weight_column
) {
  columns <- check_some_columns(feature_columns)
  label_dtype <- plain_dtype(label_dtype)
  check_choice(label_dtype, c("int64", "float32", "string"))
  weight_column <- plain_weight_column(weight_column)
  check_string(weight_column, null = TRUE)
  structure(
    list(
      feature_columns = columns,
      label_key = check_not_read(check_string(label_key), columns, "label_key"),
      label_dtype = label_dtype,
      label_default = check_label_default(label_default, label_dtype),
      label_dimension = label_dimension,
      weight_column = check_not_read(weight_column, columns, "weight_column")
    ),
    class = "tfdistribute_parse_example_spec"
  )
}

check_not_read <- function(name, columns, argument) {
  if (!is.null(name) && name %in% features_of(as_feature_columns(columns))) {
    abort_tfdistribute(
      "model",
      problem = "`{argument}` is \"{name}\", which is also a feature.",
      remedy = "Leave it out of the feature columns.",
      value = name
    )
  }
  name
}

check_label_default <- function(label_default, dtype) {
  if (is.null(label_default)) {
    return(NULL)
  }
  switch(
    if (is_python_object(dtype)) dtype_name(dtype) else dtype,
    int64 = check_count(label_default, minimum = -.Machine$integer.max),
    float32 = check_number(label_default),
    check_string(label_default)
  )
}

#' @export
print.tfdistribute_parse_example_spec <- function(x, ...) {
  features <- features_of(x$feature_columns)
  label <- paste0(x$label_key, " (", x$label_dtype)
  if (x$label_dimension > 1) {
    label <- paste0(label, ", ", x$label_dimension, " values")
  }
  if (!is.null(x$label_default)) {
    label <- paste0(label, ", else ", x$label_default)
  }
  cat("<parse_example_spec>\n  label     ", label, ")\n", sep = "")
  cat("  features  ", toString(features), "\n", sep = "")
  if (!is.null(x$weight_column)) {
    cat("  weights   ", x$weight_column, "\n", sep = "")
  }
  invisible(x)
}

#' @rdname as_python
#' @export
as_python.tfdistribute_parse_example_spec <- function(x, ...) {
  check_call(...)
  kept <- rlang::inject(call_backend("parse_example_spec", !!!unclass(x)))
  unconverted_object(kept)
}
