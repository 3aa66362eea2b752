# Numeric feature columns, and numbers in ranges.

#' Numeric column
#'
#' Passes the numbers of a feature to the model. They are not scaled unless you set `center` and `scale`, or
#' `normalizer_fn`. Networks learn best from numbers of similar size. [feature_columns()] can standardize all columns of
#' a data frame.
#'
#' @param ... Names of features: strings, bare names, or tidyselect helpers inside a scope (see [scoped_columns()]).
#'   Several names give several columns.
#' @eval help_of("column_numeric")
#' @returns A description of class `tfdistribute_feature_column`, and of a class for its kind, such as
#'   `tfdistribute_numeric_feature_column`. Several columns are returned as a list of class
#'   `tfdistribute_feature_columns`.
#' @section Errors: `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/feature_column/numeric_column>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' column_numeric("wt")
#' column_numeric("wt", "hp")
#' column_numeric("wt", center = mean(mtcars$wt), scale = sd(mtcars$wt))
#' feature_columns(column_numeric(everything(), -mpg), names = mtcars)
#' @export
column_numeric <- function(
  ...,
  # Fields of feature_column$numeric without key
  shape = 1,
  default_value = NULL,
  dtype = c("float32", "float64", "int32", "int64"),
  normalizer_fn = NULL,
  center = NULL,
  scale = NULL
) {
  keys <- select_features(rlang::quos(...))
  shape <- sizes_of(shape)
  keyed_columns("numeric", keys, as.list(environment()))
}

is_raw_number <- function(column) {
  identical(column$kind, "numeric") &&
    is.null(column$normalizer_fn) &&
    is.null(column$center) &&
    is.null(column$scale)
}

#' Bucketized column: numbers as ranges
#'
#' Replaces each number with the range that contains it. Linear models learn a weight per range. Deep models use the
#' column without a wrapper.
#'
#' @eval help_of("column_bucketized")
#' @inherit column_numeric return
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_argument_error`, from a verb, if the source is not a numeric column.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/feature_column/bucketized_column>
#' @seealso [feature_columns()], which lists all feature columns.
#' @examples
#' column_bucketized(column_numeric("age"), boundaries = c(18, 30, 65))
#' @export
column_bucketized <- function(
  # Fields of feature_column$bucketized
  source_column,
  boundaries,
  ...
) {
  check_call(...)
  wrap_columns("bucketized", "source_column", as.list(environment()))
}

#' @export
format.tfdistribute_numeric_feature_column <- function(x, ...) {
  paste0(
    "numeric",
    if (!identical(x$shape, 1L)) paste0(" of shape ", paste(x$shape, collapse = " x ")),
    if (x$dtype != "float32") paste0(" (", x$dtype, ")"),
    if (!is.null(x$normalizer_fn)) ", normalized",
    if (!is.null(x$center) || !is.null(x$scale)) {
      center <- if (is.null(x$center)) "x" else paste0("x - ", show_numbers(x$center))
      scale <- if (!is.null(x$scale)) paste0(" / ", show_numbers(x$scale))
      paste0(", ", if (is.null(scale)) center else paste0("(", center, ")", scale))
    }
  )
}

#' @export
format.tfdistribute_bucketized_feature_column <- function(x, ...) {
  ranges <- length(x$boundaries) + 1
  paste0("bucketized into ", ranges, " ranges at ", show_several(x$boundaries))
}

show_numbers <- function(numbers) {
  text <- show_several(signif(numbers, 4))
  if (length(numbers) == 1) text else paste0("c(", text, ")")
}

# "1, 2, 3, ..." without quotes, for printing.
show_several <- function(values, shown = 5) {
  text <- toString(utils::head(values, shown))
  if (length(values) > shown) paste0(text, ", ...") else text
}
