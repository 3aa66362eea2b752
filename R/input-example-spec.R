# What the messages in TFRecord files hold, as the columns of a model read them.

#' Derive the columns of TFRecord messages from a model
#'
#' Derives the `columns` of [input_tfrecord()] from feature columns, for files that other programs wrote. The result is
#' a plain vector that you can change. No file is read.
#'
#' Numeric columns read floating-point numbers unless they have another `dtype`. Categorical columns read strings or
#' whole numbers, according to their `dtype` or vocabulary. Each reads one value per message; a numeric column with a
#' `shape` reads as many as that. Features that are only crossed are strings. If two columns read a feature as a number
#' and as a whole number, it is a whole number.
#'
#' @param feature_columns Columns that the model reads, as [feature_columns()] returns them.
#' @param response Name of the response in the messages, a string; NULL if there is none.
#' @param response_type Dtype of the response: `"float32"`, `"int64"` (class numbers) or `"string"` (class names),
#'   optionally with a shape, as in `"float32[3]"`.
#' @param weights Name of the weights in the messages, a string, or NULL.
#' @returns A named character vector of dtypes, for `columns` of [input_tfrecord()].
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error`: the response or the weights are also a feature, or a feature is read both as string and
#'   as number.
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
  weights = NULL
) {
  columns <- check_some_columns(feature_columns)
  response <- check_not_read(check_string(response, null = TRUE), columns, "response")
  weights <- check_not_read(check_string(weights, null = TRUE), columns, "weights")
  read <- unlist(lapply(columns, read_by_column))
  features <- unique(names(read))
  spec <- vapply(features, function(name) joint_dtype(name, read[names(read) == name]), "")
  added <- c(response_type, "float32")[c(!is.null(response), !is.null(weights))]
  names(added) <- c(response, weights)
  unlist(check_record_columns(c(spec, added), c("float32", "int64", "int32", "bool", "string")))
}

# dtypes by feature, of the columns within a column too.
read_by_column <- function(column) {
  if (is.character(column)) {
    return(rlang::set_names("string", column))
  }
  inner <- c(column[c("source_column", "categorical_column")], column$keys)
  # `keys` of crossed columns must not be taken for it.
  key <- column[["key"]]
  weights <- column$weight_feature_key
  c(
    if (!is.null(key)) rlang::set_names(dtype_in_message(column), key),
    if (!is.null(weights)) rlang::set_names(stored_dtype(column$dtype), weights),
    unlist(lapply(Filter(Negate(is.null), unname(inner)), read_by_column))
  )
}

dtype_in_message <- function(column) {
  if (column$kind == "categorical_with_identity") {
    return("int64")
  }
  if (column$kind != "numeric") {
    numbers <- is.null(column$dtype) && is.numeric(column$vocabulary_list)
    return(if (numbers) "int64" else stored_dtype(column$dtype %||% "string"))
  }
  dtype <- stored_dtype(column$dtype)
  shape <- column$shape
  if (prod(shape) == 1) dtype else paste0(dtype, "[", toString(shape), "]")
}

# Messages have numbers of two kinds.
stored_dtype <- function(dtype) {
  if (startsWith(dtype, "float")) {
    "float32"
  } else if (dtype == "string") {
    "string"
  } else {
    "int64"
  }
}

joint_dtype <- function(name, dtypes) {
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
  # A shape, where one column gives it; whole numbers serve as numbers and as categories.
  shape <- sub("^[^[]*", "", dtypes)
  paste0("int64", shape[which.max(nchar(shape))])
}
