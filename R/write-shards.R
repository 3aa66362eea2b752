# Data as sharded files with an index.

#' Write data into sharded files
#'
#' Writes a data frame, or what any input describes, into several files and an index of their columns, levels and rows,
#' for [input_fixed_length()] (packed numbers, the fastest to read) or [input_tfrecord()] (`tf.train.Example` messages,
#' which other programs read too). Rows keep their order: shuffle them first where they are sorted and there are several
#' workers. It does not compress.
#'
#' A file gets its name when it is complete, and the index is written last: half-written data is never read. Called
#' again after an interruption, with the same data, it goes on where it stopped: finished files are kept.
#'
#' @section Data that is not in memory:
#' Rows of files and of functions are read once, batch by batch, into temporary files in `path` (as many bytes as the
#' data, gone at the end), because their number is needed before the first file is written. Memory holds a batch, and
#' the different strings of each column. Features, weights and response are written, after the input's `transform` if
#' there is one; after an interruption the rows are read anew.
#'
#' @param data A data frame, a matrix with column names, a named list of vectors and arrays, or an input such as
#'   [input_fn()] or [input_csv()] makes, of which one epoch is written. What columns become is said in [input_fn()]; in
#'   [write_fixed_length()] strings stand in the index once, as labels.
#' @param path Directory to write into, a string; it is made, and has to be empty.
#' @param shards Number of files, a count: a multiple of the number of workers is best.
#' @return `path`, invisibly.
#' @section Errors:
#' `tfdistribute_input_error`: the data has missing values or columns of a kind that cannot be written, or cannot be
#' read; strings that are not UTF-8 or more than two million different ones; for `write_tfrecord()` also date-times.
#' `tfdistribute_argument_error`: `path` cannot be written or holds other files, or there are fewer rows than `shards`.
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
  if (isTRUE(input$rows < shards)) {
    abort_argument("shards", shards, paste("at most the number of rows,", input$rows))
  }
  progress <- if (isTRUE(getOption("tfdistribute.progress", TRUE))) writing_progress()
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

# One bar for the rows that are read, whose number nobody knows, and one for the files.
writing_progress <- function() {
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

as_written <- function(data) {
  if (inherits(data, "tfdistribute_input") || is.function(data)) {
    return(as_input(data))
  }
  if ((!is.list(data) && !is.matrix(data)) || is_python_object(data)) {
    abort_argument("data", data, "a data frame, a matrix, a named list or an input")
  }
  names <- if (is.matrix(data)) colnames(data) else names(data)
  check_column_names(names)
  new_in_memory_input(data, features = names, response = NULL, source = "data")
}
