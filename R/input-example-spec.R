# The contents of tf.train.Example messages in TFRecord files, as feature columns read them.

#' Derive the columns of TFRecord messages from a model
#'
#' Derives the `columns` of [input_tfrecord()] from feature columns, for files that other programs wrote. The result is
#' a plain vector that you can change. No file is read.
#'
#' Numeric columns read floating-point numbers unless they have another `dtype`. Categorical columns read strings or
#' whole numbers, according to their `dtype` or vocabulary. Each column reads one value per message, or as many values
#' as its `shape` defines. Features that are only crossed are strings. If one column reads a feature as a number and
#' another as a whole number, the feature is a whole number.
#'
#' @param feature_columns Columns that the model reads, from [feature_columns()].
#' @param response Name of the response in the messages, a string. NULL if there is none.
#' @param response_type Dtype of the response: `"float32"`, `"int64"` (class numbers) or `"string"` (class names),
#'   optionally with a shape, as in `"float32[3]"`.
#' @param weights Name of the weights in the messages, a string, or NULL.
#' @param ... Must be empty.
#' @returns A named character vector of dtypes, for `columns` of [input_tfrecord()].
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error` if the response or the weights are also a feature, or a feature is read both as string
#'   and as number.
#' @references <https://www.tensorflow.org/api_docs/python/tf/feature_column/make_parse_example_spec>
#' @seealso [classifier_parse_example_spec()] for TensorFlow's own parsing functions.
#' @examples
#' columns <- feature_columns(
#'   column_numeric("wt", "hp"),
#'   column_indicator(column_categorical_with_vocabulary_list("gear", c("3", "4", "5")))
#' )
#' example_spec(columns, response = "mpg")
#' input_tfrecord("cars/*.tfrecord", response = "mpg", columns = example_spec(columns, "mpg"))
#' @export
example_spec <- function(
  feature_columns,
  response = NULL,
  response_type = "float32",
  weights = NULL,
  ...
) {
  check_call(...)
  columns <- check_some_columns(feature_columns)
  response_type <- check_string(response_type)
  response <- check_not_read(check_string(response, null = TRUE), columns, "response")
  weights <- check_not_read(check_string(weights, null = TRUE), columns, "weights")
  read <- unlist(lapply(columns, dtypes_read_by))
  features <- unique(names(read))
  spec <- vapply(features, function(name) common_dtype(name, read[names(read) == name]), "")
  added <- c(response_type, "float32")[c(!is.null(response), !is.null(weights))]
  names(added) <- c(response, weights)
  unlist(check_field(c(spec, added), schema$input$tfrecord$columns, "response_type"))
}

features_of <- function(columns) {
  unique(unlist(lapply(columns, function(column) names(dtypes_read_by(column)))))
}

# dtypes by feature, including the dtypes of columns within a column.
dtypes_read_by <- function(column) {
  if (is.character(column)) {
    return(rlang::set_names("string", column))
  }
  inner <- c(column[c("source_column", "categorical_column")], column$keys)
  # Exact matching is necessary, because `$key` would also match `keys` of crossed columns.
  key <- column[["key"]]
  weights <- column$weight_feature_key
  c(
    if (!is.null(key)) rlang::set_names(feature_dtype(column), key),
    if (!is.null(weights)) rlang::set_names(message_dtype(column$dtype), weights),
    unlist(lapply(Filter(Negate(is.null), unname(inner)), dtypes_read_by))
  )
}

feature_dtype <- function(column) {
  if (column$kind == "categorical_with_identity") {
    return("int64")
  }
  if (column$kind != "numeric") {
    numbers <- is.null(column$dtype) && is.numeric(column$vocabulary_list)
    return(if (numbers) "int64" else message_dtype(column$dtype %||% "string"))
  }
  dtype <- message_dtype(column$dtype)
  shape <- column$shape
  if (prod(shape) == 1) dtype else paste0(dtype, "[", toString(shape), "]")
}

# Messages store numbers as float32 or int64.
message_dtype <- function(dtype) {
  if (startsWith(dtype, "float")) {
    "float32"
  } else if (dtype == "string") {
    "string"
  } else {
    "int64"
  }
}

common_dtype <- function(name, dtypes) {
  dtypes <- unique(unname(dtypes))
  if (length(dtypes) == 1) {
    return(dtypes)
  }
  plain <- unique(sub("\\[.*", "", dtypes))
  if (setequal(plain, c("float32", "string"))) {
    abort_tfdistribute(
      "model",
      problem = "The columns read the feature `{name}` as a string and as a number.",
      remedy = "Bucketize the number before it is crossed.",
      argument = "feature_columns",
      value = name
    )
  }
  # The shape, if a column has one. Whole numbers can be both numbers and categories.
  shape <- sub("^[^[]*", "", dtypes)
  paste0("int64", shape[which.max(nchar(shape))])
}
