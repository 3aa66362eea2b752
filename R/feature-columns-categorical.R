# Categorical feature columns: each value belongs to one of a number of buckets.

category_dtypes <- c("string", "int32", "int64")

#' Categorical column with a list of categories
#'
#' Each value is one of the listed categories. Linear models learn a weight per category. For deep models, wrap the
#' column in [column_indicator()] or [column_embedding()].
#'
#' @inheritParams column_numeric
#' @param vocabulary_list The categories, in the order of their indices: strings or whole numbers without duplicates,
#'   such as `levels(x)`. If it is not named, the last argument is used, if it has at least two elements.
#' @param dtype Type of the feature: `"string"`, `"int32"`, `"int64"` or a TensorFlow dtype; NULL for that of
#'   `vocabulary_list`.
#' @param default_value Index of the category that replaces values which are not listed, a whole number from 0; -1
#'   ignores such values, as TensorFlow does by default. NULL (default) makes them an error; see "New values".
#' @param num_oov_buckets Buckets for values that are not listed, a count. Requires `default_value = NULL` or -1.
#' @inherit column_numeric return
#' @section New values:
#' A value that is not listed is an error, as a new level is in [predict.lm()], unless `default_value` or
#' `num_oov_buckets` says what becomes of it. Rows in memory are checked before the first step; those of [input_csv()],
#' [input_parquet()], [input_arrow()] and [input_generator()] when they are read, which may be in the middle of a
#' training. Records, datasets, and features that a `transform` changes, are not checked: TensorFlow ignores a value
#' there that is not listed.
#' @section Missing values:
#' To TensorFlow, `""` in a feature of strings and -1 in a feature of whole numbers are missing values. They belong to
#' no category, even if they are listed, and are not an error.
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error`: a category is listed twice, or both `default_value` and `num_oov_buckets` are given.
#' * `tfdistribute_input_error`, when a verb runs: the data has a value that is not listed.
#' @references <https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_vocabulary_list>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' column_categorical_with_vocabulary_list("Species", vocabulary_list = levels(iris$Species))
#' @export
column_categorical_with_vocabulary_list <- function(
  ...,
  vocabulary_list,
  dtype = NULL,
  default_value = NULL,
  num_oov_buckets = 0L
) {
  verb <- "column_categorical_with_vocabulary_list"
  known <- c("vocabulary_list", "dtype", "default_value", "num_oov_buckets")
  selections <- rlang::quos(...)
  if (missing(vocabulary_list)) {
    vocabulary_list <- unnamed_vocabulary(selections)
    selections <- selections[-length(selections)]
  }
  names <- select_features(selections, verb, known)
  vocabulary_list <- check_vocabulary(vocabulary_list)
  dtype <- check_dtype(dtype, category_dtypes, null = TRUE)
  default_value <- check_count(default_value, minimum = -1L, null = TRUE)
  num_oov_buckets <- check_count(num_oov_buckets, minimum = 0L)
  check_unlisted(isTRUE(default_value >= 0L), num_oov_buckets)
  columns_of(names, function(name) {
    new_feature_column(
      "categorical_with_vocabulary_list",
      key = name,
      vocabulary_list = vocabulary_list,
      dtype = dtype,
      default_value = default_value,
      num_oov_buckets = num_oov_buckets
    )
  })
}

# For column_categorical_with_vocabulary_list("cut", levels(cut)): the last value, unless it can be a column's name.
unnamed_vocabulary <- function(selections) {
  last <- if (length(selections) > 1) {
    tryCatch(rlang::eval_tidy(selections[[length(selections)]]), error = function(error) NULL)
  }
  if (!is.atomic(last) || length(last) < 2) {
    abort_tfdistribute(
      "argument",
      problem = "`vocabulary_list` is missing: column_categorical_with_vocabulary_list() needs the categories.",
      remedy = "Give `vocabulary_list`, such as vocabulary_list = levels(x).",
      argument = "vocabulary_list"
    )
  }
  last
}

#' Categorical column with a file of categories
#'
#' Each value is one of the categories in a file, as for [column_categorical_with_vocabulary_list()]. The file is read
#' when a model trains, not here.
#'
#' @inheritParams column_categorical_with_hash_bucket
#' @param vocabulary_file Path of a text file with one category per line.
#' @param vocabulary_size Number of lines to use, a count; NULL for all.
#' @param num_oov_buckets Buckets for values that are not in the file, a count. Requires `default_value = NULL`.
#' @param default_value Index of the category that replaces values which are not in the file, a whole number; NULL
#'   ignores such values.
#' @inherit column_numeric return
#' @inheritSection column_categorical_with_vocabulary_list Missing values
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error`: both `default_value` and `num_oov_buckets` are given.
#' * `tfdistribute_input_error`, when a verb runs: the file does not exist.
#' @references <https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_vocabulary_file>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' file <- tempfile(fileext = ".txt")
#' writeLines(levels(iris$Species), file)
#' column_categorical_with_vocabulary_file("Species", vocabulary_file = file, vocabulary_size = 3)
#' @export
column_categorical_with_vocabulary_file <- function(
  ...,
  vocabulary_file,
  vocabulary_size = NULL,
  num_oov_buckets = 0L,
  default_value = NULL,
  dtype = "string"
) {
  verb <- "column_categorical_with_vocabulary_file"
  known <- c(
    "vocabulary_file",
    "vocabulary_size",
    "num_oov_buckets",
    "default_value",
    "dtype"
  )
  names <- select_features(rlang::quos(...), verb, known)
  check_required()
  vocabulary_file <- path.expand(check_string(vocabulary_file))
  vocabulary_size <- check_count(vocabulary_size, null = TRUE)
  num_oov_buckets <- check_count(num_oov_buckets, minimum = 0L)
  default_value <- check_count(default_value, minimum = -1L, null = TRUE)
  dtype <- check_dtype(dtype, category_dtypes)
  check_unlisted(!is.null(default_value), num_oov_buckets)
  columns_of(names, function(name) {
    new_feature_column(
      "categorical_with_vocabulary_file",
      key = name,
      vocabulary_file = vocabulary_file,
      vocabulary_size = vocabulary_size,
      num_oov_buckets = num_oov_buckets,
      default_value = default_value,
      dtype = dtype
    )
  })
}

#' Categorical column with hash buckets
#'
#' The hash of a value determines its bucket, so that categories can be unknown or too many to list. Different values
#' may share a bucket.
#'
#' @inheritParams column_numeric
#' @param hash_bucket_size Number of buckets, a count of at least 2.
#' @param dtype Type of the feature: `"string"`, `"int32"`, `"int64"` or a TensorFlow dtype.
#' @inherit column_numeric return
#' @inheritSection column_categorical_with_vocabulary_list Missing values
#' @section Errors: `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' @references <https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_hash_bucket>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' column_categorical_with_hash_bucket("city", hash_bucket_size = 1000)
#' @export
column_categorical_with_hash_bucket <- function(..., hash_bucket_size, dtype = "string") {
  verb <- "column_categorical_with_hash_bucket"
  names <- select_features(rlang::quos(...), verb, c("hash_bucket_size", "dtype"))
  check_required()
  hash_bucket_size <- check_count(hash_bucket_size, minimum = 2L)
  dtype <- check_dtype(dtype, category_dtypes)
  columns_of(names, function(name) {
    new_feature_column(
      "categorical_with_hash_bucket",
      key = name,
      hash_bucket_size = hash_bucket_size,
      dtype = dtype
    )
  })
}

#' Categorical column of numbered categories
#'
#' The feature holds whole numbers from 0 to `num_buckets - 1`, or is a factor, whose codes are read.
#'
#' @inheritParams column_numeric
#' @param num_buckets Number of categories, a count.
#' @param default_value Category that replaces numbers out of range, a whole number; NULL makes them an error.
#' @inherit column_numeric return
#' @inheritSection column_categorical_with_vocabulary_list Missing values
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' * `tfdistribute_input_error`, when a verb runs: the data has a number out of range. Rows in memory are checked before
#'   the first step, others when they are read.
#' @references <https://www.tensorflow.org/api_docs/python/tf/feature_column/categorical_column_with_identity>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' column_categorical_with_identity("gear", num_buckets = 6)
#' @export
column_categorical_with_identity <- function(..., num_buckets, default_value = NULL) {
  verb <- "column_categorical_with_identity"
  names <- select_features(rlang::quos(...), verb, c("num_buckets", "default_value"))
  check_required()
  num_buckets <- check_count(num_buckets)
  default_value <- check_count(default_value, minimum = 0L, null = TRUE)
  if (!is.null(default_value) && default_value >= num_buckets) {
    abort_argument(default_value, "below `num_buckets` ({num_buckets})")
  }
  columns_of(names, function(name) {
    new_feature_column(
      "categorical_with_identity",
      key = name,
      num_buckets = num_buckets,
      default_value = default_value
    )
  })
}

# Listed categories: strings, or whole numbers.
check_vocabulary <- function(value, argument = rlang::caller_arg(value)) {
  categories <- if (is.factor(value)) levels(value) else unlist(value)
  is_integer <- is.numeric(categories) && length(categories) > 0 && is_whole(categories)
  is_text <- is.character(categories) && length(categories) > 0 && !anyNA(categories)
  if (!is_integer && !is_text) {
    abort_argument(categories, "strings or whole numbers, such as levels(x)", argument)
  }
  categories <- if (is_integer) as.integer(categories) else as_utf8(categories, argument)
  twice <- anyDuplicated(categories)
  if (twice > 0) {
    abort_tfdistribute(
      "model",
      problem = "`{argument}` lists {show_value(categories[[twice]])} twice.",
      remedy = "List each category once, for example with unique().",
      argument = argument,
      value = show_value(categories[[twice]])
    )
  }
  categories
}

check_unlisted <- function(has_default, num_oov_buckets) {
  if (has_default && num_oov_buckets > 0) {
    abort_tfdistribute(
      "model",
      problem = "A column cannot have both `default_value` and `num_oov_buckets`.",
      remedy = "Give one of them.",
      argument = "num_oov_buckets",
      value = show_value(num_oov_buckets)
    )
  }
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
