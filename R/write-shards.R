# Data in R as sharded files with an index.

#' Write data into sharded files
#'
#' Writes a data frame, or what an [input_fn()] describes, into several files and an index of their columns, levels
#' and rows, for [input_fixed_length()] (packed numbers, the fastest to read) or [input_tfrecord()]
#' (`tf.train.Example` messages, which other programs read too). Rows keep their order: shuffle them first where they
#' are sorted and there are several workers. It does not compress.
#'
#' A file gets its name when it is complete, and the index is written last: half-written data is never read. Called
#' again after an interruption, with the same data, it goes on where it stopped.
#'
#' @param data A data frame, a matrix with column names, a named list of vectors and arrays, or an [input_fn()], whose
#'   columns are written. What columns become is said in [input_fn()]; in [write_fixed_length()] strings stand in the
#'   index once, as labels.
#' @param path Directory to write into, a string; it is made, and has to be empty.
#' @param shards Number of files, a count: a multiple of the number of workers is best.
#' @return `path`, invisibly.
#' @section Errors:
#' `tfdistribute_input_error`: the data has missing values or columns of a kind that cannot be written; for
#' `write_tfrecord()` also date-times. `tfdistribute_argument_error`: `path` cannot be written or holds other files,
#' or there are fewer rows than `shards`.
#' @section Source:
#' <https://www.tensorflow.org/tutorials/load_data/tfrecord>, "TFRecords format details".
#' @examplesIf tfdistribute_available()
#' path <- tempfile()
#' write_fixed_length(mtcars, path, shards = 2)
#' list.files(path)
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' train(model, input_fixed_length(path, "mpg", c("wt", "hp"), batch_size = 16))
#' @name write_shards
NULL

#' @rdname write_shards
#' @export
write_fixed_length <- function(data, path, shards = 1) {
  write_shards("fixed_length", data, path, shards)
}

#' @rdname write_shards
#' @export
write_tfrecord <- function(data, path, shards = 1) {
  write_shards("tfrecord", data, path, shards)
}

write_shards <- function(format, data, path, shards) {
  path <- check_string(path, "path")
  shards <- check_count(shards, "shards")
  input <- as_written(data)
  if (input$rows < shards) {
    abort_argument("shards", shards, paste("at most the number of rows,", input$rows))
  }
  show <- isTRUE(getOption("tfdistribute.progress", TRUE)) && shards > 1
  bar <- if (show) cli::cli_progress_bar("Writing files", total = shards, .auto_close = FALSE)
  on.exit(if (show) cli::cli_progress_done(id = bar))
  call_backend(
    "write_shards",
    format = format,
    input = input,
    directory = path.expand(path),
    shards = shards,
    listener = if (show) function(event) cli::cli_progress_update(id = bar, set = event$shard)
  )
  invisible(path)
}

as_written <- function(data) {
  if (inherits(data, "tfdistribute_in_memory_input")) {
    return(data)
  }
  if (inherits(data, "tfdistribute_input") || is_python_object(data)) {
    abort_argument("data", data, "a data frame, a matrix, a named list or an input_fn()")
  }
  if (!is.list(data) && !is.matrix(data)) {
    abort_argument("data", data, "a data frame, a matrix, a named list or an input_fn()")
  }
  names <- if (is.matrix(data)) colnames(data) else names(data)
  check_column_names(names)
  new_in_memory_input(data, features = names, response = NULL, source = "data")
}
