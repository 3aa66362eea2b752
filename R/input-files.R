#' Describe examples in Parquet files
#'
#' The files are read piece by piece while a model trains, so only the current row groups are in memory. Every row is
#' read once per epoch, with any number of devices and workers. The files are not opened until a verb runs.
#'
#' **Row groups are the blocks** that are shuffled. See "Order and sharding of rows". A row group larger than 64 MB
#' needs twice its size in memory, but is read in pieces, so that no step waits for it.
#'
#' @inheritParams input_fn
#' @eval help_of("input_parquet")
#' @param weights Name of the column that contains the weight of each row, a string. NULL for equal weights. See
#'   [input_transform].
#' @param ... Must be empty.
#' @inherit input_fn return
#' @section Types:
#' Signed integers of up to 32 bits become int32, other integers int64, decimals and floating-point numbers float32,
#' logicals int32, strings and dictionaries (R's factors) strings, dates days since 1970-01-01 as float32, timestamps
#' seconds since then as float64, and fixed-size lists one row of a matrix. Every file must have the same types, but the
#' order of columns may differ. NULL and NaN are missing values. Numbers beyond 3.4e38 are an error, and numbers closer
#' to 0 than 1.2e-38 become 0.
#' @section Order and sharding of rows:
#' Every row is read once per epoch. Before rows are shuffled, each worker gets a contiguous range of the rows. The
#' sizes of the ranges differ by at most one row. All workers run the same number of steps, and no row is dropped,
#' repeated or padded. The section about the last batch in [input_fn()] explains this.
#'
#' Shuffling puts the blocks of a worker's range (about 1 MB of a file, a row group of Parquet, a record batch of Arrow)
#' into random order, groups them into windows of 64 MB, and shuffles the rows of each window. This has three
#' consequences:
#'
#' * A range of up to 64 MB in memory is shuffled completely, so every order is equally likely.
#' * In a larger range, a row can occur anywhere in the epoch, but the rows of one block stay in the same window, mixed
#'   with rows from random other blocks. A block larger than 64 MB is a window of its own.
#' * Data that is sorted, for example by class or by day, should be shuffled once before it is written.
#'
#' Each epoch and worker has another order, which depends only on the seed and their numbers. Two windows are in memory.
#' Evaluation and prediction keep the order of the files.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_input_error`, from a verb, if a file is missing, cannot be read, has no rows, lacks a column, has
#'   rows that cannot be used (such as another type than the first file, or missing or infinite values), or changes
#'   while it is read. The message contains the file and the row or line.
#' * `tfdistribute_sharding_error`, from a verb, if the batch or the rows cannot be divided over the replicas.
#' * `tfdistribute_backend_error`, from a verb, if Python's pyarrow is not installed.
#' * `tfdistribute_skipped_rows_warning`, a warning, if a verb skipped rows. It has the fields `count` and `places` (the
#'   first five).
#' @references <https://arrow.apache.org/docs/python/parquet.html>
#' @seealso [input_arrow()], [input_csv()], [check_sharding()]
#' @examples
#' input_parquet("data/part-*.parquet", response = "price", batch_size = 512)
#' input_parquet("flights.parquet", "arr_delay", c("distance", "origin"), impute = list(distance = 0))
#'
#' @examplesIf tfdistribute_available()
#' # A file written through Python.
#' path <- tempfile(fileext = ".parquet")
#' arrow <- reticulate::import("pyarrow")
#' reticulate::import("pyarrow.parquet")$write_table(
#'   arrow$table(list(wt = mtcars$wt, mpg = mtcars$mpg)),
#'   path
#' )
#' check_sharding(input_parquet(path, response = "mpg", batch_size = 8), 2)
#' @export
input_parquet <- function(
  # Fields of input$parquet
  paths,
  response = NULL,
  features = NULL,
  batch_size = 128,
  epochs = 1,
  shuffle = "auto",
  seed = NULL,
  types = NULL,
  impute = NULL,
  weights = NULL,
  transform = NULL,
  on_bad_row = c("error", "skip"),
  ...
) {
  renamed <- check_call(..., .renames = TRUE)
  streamed_input("parquet", environment(), renamed)
}

# Describe rows that are read while a model trains, by the environment with the arguments of the constructor, and what
# else describe() takes.
streamed_input <- function(kind, environment, ...) {
  arguments <- tryCatch(as.list(environment), error = abort_bare_name(environment))
  if ("impute" %in% names(arguments)) {
    arguments$impute <- check_table_impute(arguments$impute, arguments$response)
  }
  source <- describe("input", kind, arguments, ...)
  weights <- check_field(arguments$weights, schema$input$transformed$weights, "weights")
  check_chosen(NULL, source$features %||% "", source$response)
  check_weights_apart(weights, source$features, source$response)
  if (!is.null(source$features)) {
    source["features"] <- list(c(source$features, weights))
  }
  transformed_input(source, weights, arguments$transform)
}

# The columns of a file are not known yet, so bare names and tidyselect helpers, which input_fn() accepts, fail here.
abort_bare_name <- function(environment) {
  # R warns that it evaluates an argument again.
  fails <- function(name) {
    inherits(suppressWarnings(try(environment[[name]], silent = TRUE)), "try-error")
  }
  function(error) {
    argument <- Find(fails, c("features", "response", "weights"))
    if (is.null(argument)) {
      rlang::cnd_signal(error)
    }
    abort_tfdistribute(
      "argument",
      problem = "`{argument}` cannot be evaluated: {without_details(root_message(error))}.",
      remedy = "Name columns of files by strings, as in {argument} = \"x\"."
    )
  }
}

without_details <- function(message) {
  sub("[.]?\n.*$", "", message)
}

# Dates and times become numbers, as in their columns.
check_table_impute <- function(impute, response) {
  if (is.null(impute)) {
    return(list())
  }
  usable <- function(value) is.atomic(value) && length(value) == 1 && !is.na(value)
  if (!has_own_names(impute) || !all(vapply(as.list(impute), usable, NA))) {
    abort_argument(impute, "a named list of single values, or NULL")
  }
  if (any(names(impute) %in% response)) {
    abort_tfdistribute(
      "input",
      problem = "`impute` names `{response}`, which is the response.",
      remedy = "Name only features; remove the rows without a response.",
      value = response
    )
  }
  lapply(as.list(impute), function(value) {
    if (is.character(value)) {
      as_utf8(value, "impute")
    } else if (is.numeric(value) || inherits(value, c("Date", "POSIXct"))) {
      as.double(value)
    } else {
      value
    }
  })
}

# Methods of the inputs that read tables from files.
#' @rawNamespace
#' S3method(as_wire, tfdistribute_arrow_input, table_wire)
#' S3method(as_wire, tfdistribute_csv_input, table_wire)
#' S3method(as_wire, tfdistribute_parquet_input, table_wire)
#' S3method(format, tfdistribute_arrow_input, format_table_input)
#' S3method(format, tfdistribute_csv_input, format_table_input)
#' S3method(format, tfdistribute_parquet_input, format_table_input)
NULL

# The fields, and the function that Python calls when it has skipped rows.
table_wire <- function(x) {
  fields <- lapply(unclass_list(x), as_wire)
  c(fields, list(on_skipped = as_wire(warn_of_skipped)))
}

# Python calls this function once for each verb.
warn_of_skipped <- function(count, places) {
  places <- unlist(places)
  shown <- utils::head(places, 5)
  message <- c(
    interpolate("{count_rows(count)} {cli::qty(count)}{?was/were} skipped."),
    rlang::set_names(shown, rep("*", length(shown))),
    if (count > length(shown)) c("*" = "...")
  )
  keep_warning(rlang::warning_cnd(
    "tfdistribute_skipped_rows_warning",
    message = rlang::format_error_bullets(message),
    count = as.integer(count),
    places = places
  ))
}

format_table_input <- function(x, ...) {
  names <- c(arrow = "Arrow files", csv = "CSV files", parquet = "Parquet files")
  format_input(
    x,
    paste(names[[x$kind]], format_paths(x$paths)),
    types = if (length(x$types) > 0) format_values(x$types),
    delim = if (isTRUE(x$delim != ",")) quoted(x$delim)
  )
}

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

#' Describe examples in Arrow files
#'
#' Reads Arrow's file format, also called IPC or Feather 2, as [write_arrow()] and other programs write it.
#' Uncompressed, it is the fastest input from disk. Streams and Feather 1 are not supported. The files are read piece by
#' piece while a model trains, so only the current record batches are in memory. Every row is read once per epoch, with
#' any number of devices and workers. The files are not opened until a verb runs.
#'
#' **Record batches are the blocks** that are shuffled. See "Order and sharding of rows" in [input_parquet()]. Each
#' record batch is read whole, so memory use grows with the largest one. [write_arrow()] writes record batches of about
#' 2 MB.
#'
#' @inheritParams input_parquet
#' @eval help_of("input_arrow")
#' @inherit input_fn return
#' @inheritSection input_parquet Types
#' @inheritSection input_parquet Errors
#' @references <https://arrow.apache.org/docs/python/ipc.html>
#' @seealso [write_arrow()], [input_parquet()], [check_sharding()]
#' @examples
#' input_arrow(c("2023.feather", "2024.feather"), response = "price", types = list(zip = "string"))
#'
#' @examplesIf tfdistribute_available()
#' path <- write_arrow(mtcars, tempfile())
#' check_sharding(input_arrow(path, response = "mpg", batch_size = 8), 2)
#' @export
input_arrow <- function(
  # Fields of input$arrow
  paths,
  response = NULL,
  features = NULL,
  batch_size = 128,
  epochs = 1,
  shuffle = "auto",
  seed = NULL,
  types = NULL,
  impute = NULL,
  weights = NULL,
  transform = NULL,
  on_bad_row = c("error", "skip"),
  ...
) {
  check_call(...)
  streamed_input("arrow", environment())
}

#' Describe examples in TFRecord files
#'
#' `tf.train.Example` messages are read in blocks of about a megabyte while a model trains, and parsed in whole batches.
#' The files are not opened until a verb runs. The verb finds the records in one fast pass, whose result is kept while R
#' runs. Compressed files are not supported.
#'
#' If a message lacks a column, or has another type or shape, its parsing raises `tfdistribute_input_error` with the
#' file and the number of the message. Rows are ordered and sharded as described in [input_parquet()].
#'
#' @inheritParams input_parquet
#' @eval help_of("input_tfrecord")
#' @inherit input_fn return
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_input_error`, from a verb, if a file is missing, has another format, has no rows, cannot be read, is
#'   truncated, has an infinite response (the message contains the record), or changes while it is read, or if a column
#'   does not exist.
#' * `tfdistribute_sharding_error`, from a verb, if the batch or the rows cannot be divided over the replicas.
#' @references <https://www.tensorflow.org/tutorials/load_data/tfrecord>
#' @seealso [write_tfrecord()], and [input_arrow()], which is faster.
#' @examples
#' input_tfrecord("data/diamonds", response = "price", batch_size = 512)
#' input_tfrecord("data/*.tfrecord", response = "y", columns = c(y = "int64", x = "float32[20]"))
#' @export
input_tfrecord <- function(
  # Fields of input$tfrecord
  paths,
  response = NULL,
  features = NULL,
  batch_size = 128,
  epochs = 1,
  shuffle = "auto",
  seed = NULL,
  columns = NULL,
  weights = NULL,
  transform = NULL,
  verify = TRUE,
  ...
) {
  check_call(...)
  streamed_input("tfrecord", environment())
}

#' @export
format.tfdistribute_tfrecord_input <- function(x, ...) {
  columns <- toString(paste(names(x$columns), "=", unlist(x$columns)))
  format_input(
    x,
    paste("TFRecord files", format_paths(x$paths)),
    columns = if (length(x$columns) > 0) columns
  )
}
