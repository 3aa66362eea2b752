#' Describe examples in CSV files
#'
#' The files are read block by block while a model trains, so they may be larger than memory. Every row is read once per
#' epoch, with any number of devices and workers. The files are not opened until a verb runs. The verb first counts the
#' rows in one fast pass over each file, and keeps the count until the file changes.
#'
#' The first line of every file contains the names of its columns, in any order. Text is UTF-8. Fields that contain the
#' delimiter, quotes or newlines are quoted as in RFC 4180 and by [utils::write.csv()]. Compressed files are not
#' supported.
#'
#' Rows are ordered and sharded as described in [input_parquet()].
#'
#' @inheritParams input_parquet
#' @eval help_of("input_csv")
#' @inherit input_fn return
#' @section Types:
#' The inferred types are whole numbers (int32, or int64 if the first of them do not fit), other numbers (float32),
#' `true` and `false` in the usual spellings (int32), dates as 2024-01-31 (days since 1970-01-01 as float32), times as
#' 2024-01-31 12:00:00 (seconds since 1970-01-01 UTC as float64), and strings. A number beyond 3.4e38, such as 1e999, is
#' an error, but `inf` is a value. Numbers closer to 0 than 1.2e-38 become 0.
#' @inheritSection input_parquet Errors
#' @references <https://www.rfc-editor.org/rfc/rfc4180>, <https://arrow.apache.org/docs/python/csv.html>
#' @seealso [input_parquet()], which is faster, and [check_sharding()]
#' @examples
#' path <- tempfile(fileext = ".csv")
#' write.csv(mtcars, path, row.names = FALSE)
#' input_csv(path, response = "mpg", features = c("wt", "hp"), batch_size = 8)
#'
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' input <- input_csv(path, response = "mpg", features = c("wt", "hp"), types = list(hp = "float"))
#' train(model, input)
#' @export
input_csv <- function(
  # Fields of input$csv
  paths,
  response = NULL,
  features = NULL,
  batch_size = 128,
  epochs = 1,
  shuffle = "auto",
  seed = NULL,
  types = NULL,
  impute = NULL,
  na = c("", "NA"),
  delim = ",",
  on_bad_row = c("error", "skip"),
  weights = NULL,
  transform = NULL,
  ...
) {
  check_call(...)
  streamed_input("csv", environment())
}
