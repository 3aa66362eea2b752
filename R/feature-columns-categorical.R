# Categorical feature columns, which assign each value to one of several buckets.

#' Categorical column with a list of categories
#'
#' Each value is one of the listed categories. Linear models learn a weight per category. For deep models, wrap the
#' column in [column_indicator()] or [column_embedding()].
#'
#' @inheritParams column_numeric
#' @eval help_of("column_categorical_with_vocabulary_list")
#' @inherit column_numeric return
#' @section New values:
#' An unlisted value is an error, like a new level in [predict.lm()], unless `default_value` or `num_oov_buckets`
#' defines how to handle it. Rows in memory are checked before the first step. Rows of [input_csv()], [input_parquet()],
#' [input_arrow()] and [input_generator()] are checked when they are read, which may be in the middle of a training.
#' Records, datasets, and features that a `transform` changes are not checked, so TensorFlow ignores an unlisted value
#' in them.
#' @section Missing values:
#' For TensorFlow, `""` in a feature of strings and -1 in a feature of whole numbers are missing values. They belong to
#' no category, even if they are listed, and are not an error.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error`, from a verb, if a category is listed twice, or if `default_value` and
#'   `num_oov_buckets` are both set.
#' * `tfdistribute_input_error`, from a verb, if the data has an unlisted value.
#' @references <https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_vocabulary_list>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' column_categorical_with_vocabulary_list("Species", vocabulary_list = levels(iris$Species))
#' @export
column_categorical_with_vocabulary_list <- function(
  ...,
  # Fields of feature_column$categorical_with_vocabulary_list without key
  vocabulary_list,
  dtype = NULL,
  default_value = NULL,
  num_oov_buckets = 0
) {
  selections <- rlang::quos(...)
  if (missing(vocabulary_list)) {
    vocabulary_list <- unnamed_vocabulary(selections)
    selections <- selections[-length(selections)]
  }
  keys <- select_features(selections)
  vocabulary_list <- if (is.factor(vocabulary_list)) {
    levels(vocabulary_list)
  } else {
    unlist(vocabulary_list)
  }
  keyed_columns("categorical_with_vocabulary_list", keys, as.list(environment()))
}

# For column_categorical_with_vocabulary_list("cut", levels(cut)), the last value, unless it can be a column's name.
unnamed_vocabulary <- function(selections) {
  last <- if (length(selections) > 1) {
    tryCatch(rlang::eval_tidy(selections[[length(selections)]]), error = function(error) NULL)
  }
  if (!is.atomic(last) || length(last) < 2) {
    abort_tfdistribute(
      "argument",
      problem = "`vocabulary_list` is missing: column_categorical_with_vocabulary_list() needs the categories.",
      remedy = "Give `vocabulary_list`, such as vocabulary_list = levels(x)."
    )
  }
  last
}

#' Categorical column with a file of categories
#'
#' Each value is one of the categories in a file, as for [column_categorical_with_vocabulary_list()]. Every verb
#' reads the file. Its lines belong to the model, so other lines than in training are an error.
#'
#' @inheritParams column_categorical_with_hash_bucket
#' @eval help_of("column_categorical_with_vocabulary_file")
#' @inherit column_numeric return
#' @inheritSection column_categorical_with_vocabulary_list Missing values
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error`, from a verb, if `default_value` and `num_oov_buckets` are both set.
#' * `tfdistribute_input_error`, from a verb, if the file does not exist.
#' * `tfdistribute_model_error`, from a verb, if the file has other lines than in training.
#' @references <https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_vocabulary_file>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' file <- tempfile(fileext = ".txt")
#' writeLines(levels(iris$Species), file)
#' column_categorical_with_vocabulary_file("Species", vocabulary_file = file, vocabulary_size = 3)
#' @export
column_categorical_with_vocabulary_file <- function(
  ...,
  # Fields of feature_column$categorical_with_vocabulary_file without key
  vocabulary_file,
  vocabulary_size = NULL,
  num_oov_buckets = 0,
  default_value = NULL,
  dtype = c("string", "int32", "int64")
) {
  keys <- select_features(rlang::quos(...))
  keyed_columns("categorical_with_vocabulary_file", keys, as.list(environment()))
}

#' Categorical column with hash buckets
#'
#' The hash of a value determines its bucket, so that categories can be unknown or too many to list. Different values
#' may share a bucket.
#'
#' @inheritParams column_numeric
#' @eval help_of("column_categorical_with_hash_bucket")
#' @inherit column_numeric return
#' @inheritSection column_categorical_with_vocabulary_list Missing values
#' @section Errors: `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' @references <https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_hash_bucket>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' column_categorical_with_hash_bucket("city", hash_bucket_size = 1000)
#' @export
column_categorical_with_hash_bucket <- function(
  ...,
  # Fields of feature_column$categorical_with_hash_bucket without key
  hash_bucket_size,
  dtype = c("string", "int32", "int64")
) {
  keys <- select_features(rlang::quos(...))
  keyed_columns("categorical_with_hash_bucket", keys, as.list(environment()))
}

#' Categorical column of numbered categories
#'
#' The feature contains whole numbers from 0 to `num_buckets - 1`, or is a factor, whose codes are used.
#'
#' @inheritParams column_numeric
#' @eval help_of("column_categorical_with_identity")
#' @inherit column_numeric return
#' @inheritSection column_categorical_with_vocabulary_list Missing values
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_input_error`, from a verb, if the data has a number out of range. Rows in memory are checked before
#'   the first step, and other rows when they are read.
#' @references <https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_identity>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' column_categorical_with_identity("gear", num_buckets = 6)
#' @export
column_categorical_with_identity <- function(
  ...,
  # Fields of feature_column$categorical_with_identity without key
  num_buckets,
  default_value = NULL
) {
  keys <- select_features(rlang::quos(...))
  keyed_columns("categorical_with_identity", keys, as.list(environment()))
}

#' @export
format.tfdistribute_categorical_with_vocabulary_list_feature_column <- function(x, ...) {
  listed <- show_several(x$vocabulary_list, 3)
  paste0("categorical, ", length(x$vocabulary_list), " listed: ", listed)
}

#' @export
format.tfdistribute_categorical_with_vocabulary_file_feature_column <- function(x, ...) {
  paste0("categorical, listed in ", x$vocabulary_file)
}

#' @export
format.tfdistribute_categorical_with_hash_bucket_feature_column <- function(x, ...) {
  paste0("categorical, ", x$hash_bucket_size, " hash buckets")
}

#' @export
format.tfdistribute_categorical_with_identity_feature_column <- function(x, ...) {
  paste0("categorical, numbered 0 to ", x$num_buckets - 1L)
}
