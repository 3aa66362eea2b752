# Writers of sharded files with an index.

#' Write data to sharded files
#'
#' Writes the examples of a data frame or of any input to several files with an index of columns, levels and rows.
#' [input_arrow()] reads the files of `write_arrow()` (Arrow's file format, the fastest to read), and [input_tfrecord()]
#' reads the files of `write_tfrecord()` (`tf.train.Example` messages). Other programs can read them, too. Rows keep
#' their order, so shuffle sorted data first if there will be several workers. Files are not compressed.
#'
#' `write_arrow()` writes factors and strings as dictionaries, matrices and arrays as fixed-size lists, and date-times
#' rounded to microseconds. The index contains the levels of factors and shapes of more than one dimension.
#'
#' A file gets its name when it is complete, and the index is written last, so incomplete data is never read. After an
#' interruption, call the function again with the same data. It keeps finished files and continues.
#'
#' @section Data that is not in memory:
#' The number of rows must be known before the first file is written. Rows from files and functions are therefore read
#' once, batch by batch, into temporary files in `path`, which use as many bytes as the data and are deleted at the end.
#' Memory contains one batch and the unique strings of each column. Features, weights and response are written, after
#' the input's `transform`, if there is one. After an interruption, the rows are read again.
#'
#' @param data A data frame, a matrix with column names, a named list of vectors and arrays, or an input such as
#'   [input_fn()] or [input_csv()], whose examples are written for one epoch. Types are converted as in [input_fn()].
#' @param path Directory to write to, a string. It is created, and must be empty.
#' @param shards Number of files, a count. Use a multiple of the number of workers if possible.
#' @returns `path`, invisibly.
#' @section Errors:
#' * `tfdistribute_input_error` if the data cannot be read, or has missing values, columns that cannot be written (for
#'   `write_tfrecord()`, also date-times), strings that are not UTF-8, or more than two million unique strings.
#' * `tfdistribute_backend_error` if Python's pyarrow is not installed (`write_arrow()`).
#' * `tfdistribute_argument_error` if `path` cannot be written or contains other files, or there are fewer rows than
#'   `shards`.
#' @references <https://www.tensorflow.org/tutorials/load_data/tfrecord>, "TFRecords format details".
#' @examplesIf tfdistribute_available()
#' path <- tempfile()
#' write_arrow(mtcars, path, shards = 2)
#' list.files(path)
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' train(model, input_arrow(path, "mpg", c("wt", "hp"), batch_size = 16))
#' @name write_shards
NULL

#' @rdname write_shards
#' @export
write_arrow <- function(data, path, shards = 1, ...) {
  check_call(...)
  write_shards("arrow", data, path, shards)
}

#' @rdname write_shards
#' @export
write_tfrecord <- function(data, path, shards = 1, ...) {
  check_call(...)
  write_shards("tfrecord", data, path, shards)
}

write_shards <- function(format, data, path, shards) {
  path <- check_string(path)
  shards <- check_count(shards)
  input <- as_input_to_write(data)
  if (isTRUE(input$rows < shards)) {
    abort_argument(shards, "at most the number of rows, {input$rows}")
  }
  progress <- if (isTRUE(getOption("tfdistribute.progress", TRUE))) new_writing_progress()
  on.exit(if (!is.null(progress)) progress$finish())
  call_backend(
    "write_shards",
    format = format,
    input = input,
    directory = path.expand(path),
    shards = shards,
    listener = progress$listener
  )
  invisible(path)
}

# A bar for the rows that are read, without a known total, and a bar for the files that are written.
new_writing_progress <- function() {
  shown <- new.env(parent = emptyenv())
  shown$bar <- NULL
  shown$what <- ""
  finish <- function() {
    if (!is.null(shown$bar)) {
      cli::cli_progress_done(id = shown$bar)
    }
    shown$bar <- NULL
  }
  listener <- function(event) {
    what <- if (is.null(event$read)) "Writing files" else "Reading rows"
    if (what != shown$what) {
      finish()
      shown$what <- what
      shown$bar <- cli::cli_progress_bar(what, total = event$shards %||% NA, .auto_close = FALSE)
    }
    cli::cli_progress_update(id = shown$bar, set = event$read %||% event$shard)
  }
  list(listener = listener, finish = finish)
}

as_input_to_write <- function(data) {
  if (inherits(data, "tfdistribute_input") || is.function(data)) {
    return(as_input(data))
  }
  is_plain <- is.data.frame(data) || is.matrix(data) || is_plain_list(data)
  if (!is_plain || is_python_object(data)) {
    abort_argument(data, "a data frame, a matrix, a named list or an input")
  }
  names <- column_names(data)
  check_column_names(names, "data")
  settings <- list(batch_size = 128, epochs = 1, shuffle = NULL, seed = NULL)
  new_in_memory_input(data, names, response = NULL, source = "data", settings = settings)
}
