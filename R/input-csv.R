#' Describe examples in CSV files
#'
#' Reads the files block by block while a model trains; a file may be larger than memory. Every row is read once per
#' epoch, whatever the number of devices and workers. Making the input does not look at the files: a verb does. It first
#' counts the rows in one fast pass over each file, whose result is kept for as long as the file does not change.
#'
#' The first line of every file names its columns, which may stand in another order. Text is UTF-8; fields that hold the
#' delimiter, quotes or newlines are quoted as RFC 4180 says, and as [utils::write.csv()] does. Compressed files are
#' refused.
#'
#' @inheritParams input_parquet
#' @param types Types of columns: a named list or vector of `"float"`, `"integer"`, `"integer64"`, `"string"`,
#'   `"logical"`, `"date"` or `"datetime"`. What is not given is inferred from the first megabyte of the first file that
#'   has rows, and is then fixed for all.
#' @param na Strings that stand for missing values. In quotes they are strings like any other.
#' @param delim What stands between fields, one ASCII character.
#' @param on_bad_row What to do with a row that cannot be used because it has too many or too few fields, a value that
#'   does not fit its column's type, text that is not UTF-8, or a missing value that `impute` does not fill: `"error"`,
#'   or `"skip"`. Skipping takes a pass that parses all files each time a verb runs, and each verb warns at its end how
#'   many rows were left out.
#' @inherit input_parquet return
#' @section Types:
#' Inferred are whole numbers (int32, or int64 where the first of them do not fit), other numbers (float32), `true` and
#' `false` in the usual spellings (int32), dates as 2024-01-31 (days since 1970-01-01 as float32), times as
#' 2024-01-31 12:00:00 (seconds since then as float64, UTC), and strings.
#' @inheritSection input_fixed_length Order and division of rows
#' @section Errors:
#' `tfdistribute_argument_error`: an argument is no such value. When a verb runs, `tfdistribute_input_error`: a file is
#' missing, cannot be read, has no rows, lacks a column, has rows that cannot be used, or was changed while it was read;
#' the text names the file and the line. `tfdistribute_sharding_error`: the batch or the rows cannot be divided over the
#' replicas. `tfdistribute_backend_error`: Python's pyarrow is missing.
#' A verb that skips rows raises a warning of class `tfdistribute_skipped_rows_warning` with the fields `count` and
#' `places` (the first five).
#' @section Source:
#' <https://www.rfc-editor.org/rfc/rfc4180>, <https://arrow.apache.org/docs/python/csv.html>
#' @seealso [input_parquet()], which is faster; [check_sharding()]
#' @examples
#' path <- tempfile(fileext = ".csv")
#' write.csv(mtcars, path, row.names = FALSE)
#' input_csv(path, response = "mpg", features = c("wt", "hp"), batch_size = 8)
#'
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' train(model, input_csv(path, response = "mpg", features = c("wt", "hp"), types = list(hp = "float")))
#' @export
input_csv <- function(
  paths,
  response = NULL,
  features = NULL,
  batch_size = 128,
  num_epochs = 1,
  shuffle = "auto",
  seed = NULL,
  types = NULL,
  impute = NULL,
  na = c("", "NA"),
  delim = ",",
  on_bad_row = c("error", "skip"),
  weights = NULL,
  transform = NULL
) {
  if (!is.character(na) || anyNA(na)) {
    abort_argument("na", na, "strings")
  }
  if (!is.character(delim) || length(delim) != 1 || !grepl("^[ -~\t]$", delim) || delim == "\"") {
    abort_argument("delim", delim, "one ASCII character")
  }
  new_table_input(
    "csv",
    paths = paths,
    response = response,
    features = features,
    types = types,
    impute = impute,
    batch_size = batch_size,
    num_epochs = num_epochs,
    shuffle = shuffle,
    seed = seed,
    weights = weights,
    transform = transform,
    na = enc2utf8(na),
    delimiter = delim,
    on_bad_row = check_default_choice(on_bad_row, "on_bad_row", c("error", "skip"))
  )
}

#' @export
as_wire.tfdistribute_csv_input <- function(x) {
  table_wire(x)
}

#' @export
format.tfdistribute_csv_input <- function(x, ...) {
  format_table_input(
    x,
    "CSV files",
    extra = if (x$delimiter != ",") {
      paste0("  delim       ", encodeString(x$delimiter, quote = "\""))
    }
  )
}
