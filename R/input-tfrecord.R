#' Describe examples in TFRecord files
#'
#' `tf.train.Example` messages are read in blocks of about a megabyte while a model trains, and parsed by whole batches.
#' The files are not opened until a verb runs. It finds the records in one fast pass, whose result is kept while R runs.
#' Compressed files are not supported.
#'
#' A message that lacks a column, or holds it with another type or shape, raises `tfdistribute_input_error` with its
#' file and number when it is parsed. Rows are ordered and sharded as described in [input_parquet()].
#'
#' @inheritParams input_parquet
#' @param paths Paths, strings: the directory that [write_tfrecord()] wrote, files, or patterns such as
#'   `"data/part-*.tfrecord"`; on this machine or with a scheme that TensorFlow knows, such as `gs://`.
#' @param columns Columns of the messages, for files without an index: a named vector of dtypes, optionally with shapes,
#'   such as `c(label = "int64", pixels = "float32[28, 28]", name = "string")`. The dtypes are float32, int64, int32 and
#'   bool (stored as int64, given to the model as int32) and string. Every message must have all columns.
#'   [example_spec()] derives this argument from feature columns. NULL reads the index that [write_tfrecord()] wrote.
#' @param verify Whether the checksum of each record is compared with its content, TRUE or FALSE. A damaged record
#'   raises `tfdistribute_input_error` with its file and number; with FALSE it is read as it is.
#' @inherit input_fn return
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' * `tfdistribute_input_error`, when a verb runs: a file is missing, has another format, has no rows, cannot be read,
#'   is cut off, has an infinite response (the message names the record), or changes while it is read; or a column does
#'   not exist.
#' * `tfdistribute_sharding_error`, when a verb runs: the batch or the rows cannot be divided over the replicas.
#' @references <https://www.tensorflow.org/tutorials/load_data/tfrecord>
#' @seealso [write_tfrecord()]; [input_arrow()], which is faster.
#' @examples
#' input_tfrecord("data/diamonds", response = "price", batch_size = 512)
#' input_tfrecord("data/*.tfrecord", response = "y", columns = c(y = "int64", x = "float32[20]"))
#' @export
input_tfrecord <- function(
  paths,
  response = NULL,
  features = NULL,
  batch_size = 128,
  num_epochs = 1,
  shuffle = "auto",
  seed = NULL,
  columns = NULL,
  weights = NULL,
  transform = NULL,
  verify = TRUE,
  ...
) {
  check_call()
  new_file_input(
    "tfrecord",
    paths = paths,
    response = response,
    features = features,
    batch_size = batch_size,
    num_epochs = num_epochs,
    shuffle = shuffle,
    seed = seed,
    weights = weights,
    transform = transform,
    columns = check_record_columns(columns),
    verify = check_flag(verify)
  )
}

check_record_columns <- function(columns, argument = "columns") {
  dtypes <- c("float32", "int64", "int32", "bool", "string")
  if (is.null(columns)) {
    return(list())
  }
  values <- unlist(columns)
  named <- has_own_names(columns) && length(values) == length(columns)
  if (!named || !is.character(values)) {
    abort_argument(columns, "a named vector of dtypes or NULL")
  }
  pattern <- paste0("^(", paste(dtypes, collapse = "|"), ")(\\[[0-9]+( *, *[0-9]+)*\\])?$")
  unknown <- values[!grepl(pattern, values)]
  if (length(unknown) > 0) {
    abort_tfdistribute(
      "argument",
      problem = c(
        "`{if (argument == 'columns') paste0('columns$', names(unknown)[[1]]) else argument}` ",
        "is {show_value(unknown[[1]])}, which is not a dtype."
      ),
      remedy = c(
        "Use one of {toString(dtypes)}, ",
        "with a shape such as \"{dtypes[[1]]}[28, 28]\" if it has one."
      ),
      argument = argument,
      value = unknown[[1]]
    )
  }
  as.list(rlang::set_names(as.vector(values), names(columns)))
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
