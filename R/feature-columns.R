# All feature columns: names, checks, lists of columns, and printing.

#' Combine feature columns
#'
#' Feature columns describe how the features of an input become numbers for a model. They are plain R values, so
#' creating them reads no data and starts neither Python nor TensorFlow. `feature_columns()` combines them into one
#' list.
#'
#' * Numbers: [column_numeric()], [column_bucketized()].
#' * Categories: [column_categorical_with_vocabulary_list()], [column_categorical_with_vocabulary_file()],
#'   [column_categorical_with_hash_bucket()], [column_categorical_with_identity()], [column_categorical_weighted()],
#'   [column_crossed()].
#' * Categories for deep models: [column_indicator()], [column_embedding()].
#'
#' @param ... Feature columns, lists of feature columns, or formulas such as `starts_with("d") ~ column_numeric()`, with
#'   the features on the left. Columns that are selected twice with the same settings are kept once. Instead of columns,
#'   you can pass a formula and a data frame. See "From data".
#' @param names Names of features for tidyselect helpers such as [starts_with()]: a character vector, or an object with
#'   names or column names, such as the data frame. See [scoped_columns()].
#' @param standardize With a formula and data, TRUE transforms each numeric column to `(x - mean(x)) / sd(x)`, with the
#'   mean and the standard deviation of this data.
#' @param new_levels With a formula and data, how to handle levels and strings that do not occur in this data. With
#'   `"warn"` (default), they belong to no category, so that the indicators are zeros, and each verb raises one warning
#'   of class `tfdistribute_new_levels_warning`, which names them. `"ignore"` omits the warning. With `"error"`, they
#'   are an error, as in [predict.lm()].
#' @returns A list of class `tfdistribute_feature_columns`.
#' @section From data:
#' `feature_columns(y ~ ., data)` creates a column for each feature of the formula: [column_numeric()] for numbers and
#' logical values, and [column_indicator()] of the levels for factors and strings. Dates and times are always
#' standardized. The columns are plain values, and do not keep the data. For a Spark DataFrame, Spark computes levels,
#' means and standard deviations in one pass over the data, and the levels are sorted. Terms such as `log(x)`, `poly(x,
#' 2)` and `a:b` become columns, too. See "Formulas" in [input_fn()].
#'
#' To change how a trained model handles levels and strings that do not occur in this data, describe it again with its
#' `model_dir` and with columns that have other `new_levels`. See also "New values" in
#' [column_categorical_with_vocabulary_list()].
#' @section Names:
#' Features may have any name ("petal length"), including letters outside ASCII. In the names of a model's variables,
#' characters that TensorFlow does not accept become `_`, and a letter outside ASCII becomes `u` followed by its code.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument is not a feature column, or a helper has no names to select from.
#' * `tfdistribute_model_error`, from a verb, if two columns have the same name, or names that become equal in
#'   TensorFlow, such as "a b" and "a_b".
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/feature_column>
#' @examples
#' feature_columns(
#'   column_numeric("wt", "hp"),
#'   column_indicator(column_categorical_with_identity("gear", num_buckets = 6))
#' )
#' feature_columns(starts_with("d") ~ column_numeric(), names = mtcars)
#' feature_columns(Sepal.Length ~ ., iris, standardize = TRUE)
#' @export
feature_columns <- function(
  ...,
  names = NULL,
  standardize = FALSE,
  new_levels = c("warn", "error", "ignore")
) {
  standardize <- check_flag(standardize)
  new_levels <- check_default_choice(new_levels, c("warn", "error", "ignore"))
  if (!is.null(names)) {
    rlang::local_bindings(feature_scope = scope_names(names), .env = the)
  }
  # Evaluated after the scope is set, because tidyselect helpers in the arguments use it.
  parts <- rlang::list2(...)
  if (length(parts) == 2 && rlang::is_formula(parts[[1]]) && is_rows(parts[[2]])) {
    return(columns_from_data(parts[[1]], parts[[2]], standardize, new_levels))
  }
  # A column is not a plain value.
  extra <- Filter(function(part) is.atomic(part) && !is.null(part), parts)
  extra <- extra[nzchar(rlang::names2(extra))]
  if (length(extra) > 0) {
    abort_unknown_argument(extra, setdiff(names(formals()), "..."), "feature_columns()")
  }
  columns <- as_feature_columns(parts, "...")
  columns[!duplicated(unclass(columns))]
}

new_feature_columns <- function(columns) {
  structure(columns, class = "tfdistribute_feature_columns")
}

is_feature_column <- function(x) {
  inherits(x, "tfdistribute_feature_column")
}

# One column per name. The result is a single column for one name, and otherwise a list of columns.
columns_of <- function(names, make) {
  columns <- lapply(names, make)
  if (length(columns) == 1) columns[[1]] else new_feature_columns(columns)
}

# A column for each key, the name of a feature, by the arguments of the constructor.
keyed_columns <- function(kind, keys, arguments) {
  arguments["dtype"] <- list(plain_dtype(arguments$dtype))
  described <- describe("feature_column", kind, c(list(key = keys[[1]]), arguments))
  columns_of(keys, function(key) replace(described, "key", key))
}

# A column, or nested lists of columns, as one list without names.
as_feature_columns <- function(value, argument = rlang::caller_arg(value)) {
  if (is.null(value)) {
    return(new_feature_columns(list()))
  }
  if (is_feature_column(value)) {
    return(new_feature_columns(list(value)))
  }
  if (rlang::is_formula(value)) {
    return(as_feature_columns(formula_columns(value, argument), argument))
  }
  if (is_python_object(value)) {
    return(as_feature_columns(column_of_python(value), argument))
  }
  check_whole_columns(value, argument)
  if (!is_list_of_columns(value)) {
    name <- if (is.character(value) && length(value) > 0) show_value(value[[1]])
    abort_argument(
      value,
      "feature columns",
      argument,
      remedy = if (!is.null(name) && argument == "categorical_column") {
        c(
          "For text write column_categorical_with_hash_bucket({name}, hash_bucket_size = 100), for numbers ",
          "from 0 column_categorical_with_identity({name}, num_buckets = 10)."
        )
      } else if (!is.null(name)) {
        "For a feature of numbers write column_numeric({name})."
      } else {
        "Make them with column_numeric() or another column_*() function."
      }
    )
  }
  flat <- lapply(unname(unclass(value)), function(each) {
    unclass(as_feature_columns(each, argument))
  })
  new_feature_columns(unlist(flat, recursive = FALSE) %||% list())
}

is_list_of_columns <- function(value) {
  is_plain_list(value) || inherits(value, "tfdistribute_feature_columns")
}

check_some_columns <- function(value, argument = rlang::caller_arg(value)) {
  columns <- as_feature_columns(value, argument)
  if (length(columns) == 0) {
    abort_tfdistribute(
      "model",
      problem = "`{argument}` is empty.",
      remedy = "Give at least one column."
    )
  }
  columns
}

# Names -----------------------------------------------------------------------------------------

column_name <- function(column) {
  switch(
    column$kind,
    bucketized = paste0(column_name(column$source_column), "_bucketized"),
    categorical_weighted = paste0(
      column_name(column$categorical_column),
      "_weighted_by_",
      column$weight_feature_key
    ),
    # Sorted by bytes, as in Python.
    crossed = paste(sort(crossed_names(column), method = "radix"), collapse = "_X_"),
    embedding = paste0(column_name(column$categorical_column), "_embedding"),
    indicator = paste0(column_name(column$categorical_column), "_indicator"),
    column$key
  )
}

crossed_names <- function(column) {
  unlist(lapply(column$keys, function(key) {
    if (is.character(key)) {
      key
    } else if (key$kind == "crossed") {
      crossed_names(key)
    } else {
      column_name(key)
    }
  }))
}

# A name for use in names of variables, by the same rule as safe_key() in Python.
safe_key <- function(name) {
  letters <- utf8ToInt(enc2utf8(name))
  coded <- ifelse(letters < 128L, intToUtf8(letters, multiple = TRUE), sprintf("u%04x", letters))
  gsub("[^A-Za-z0-9_.-]", "_", paste(coded, collapse = ""))
}

# Printing --------------------------------------------------------------------------------------

#' @export
print.tfdistribute_feature_column <- function(x, ...) {
  print_description(x, paste0("<feature_column> ", column_name(x), ": ", format(x)))
}

#' @export
print.tfdistribute_feature_columns <- function(x, ...) {
  print_description(x, format_columns(x))
}

format_columns <- function(x) {
  names <- encodeString(vapply(x, column_name, ""), width = NA)
  kinds <- vapply(x, format, "")
  shown <- if (length(x) > 0) paste0("  ", first_of(paste0(names, "  ", kinds)))
  c(interpolate("<feature_columns> {length(x)} column{?s}"), shown)
}

# A part of a list of columns is a list of columns.
#' @export
`[.tfdistribute_feature_columns` <- function(x, i) {
  new_feature_columns(unclass(x)[i])
}
