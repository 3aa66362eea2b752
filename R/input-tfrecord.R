#' Describe examples in TFRecord files
#'
#' `tf.train.Example` messages are read in blocks of about a megabyte while a model trains, and parsed by whole batches.
#' The files are not opened until a verb runs. It finds the records in one fast pass, whose result is kept while R runs.
#' Compressed files are not supported.
#'
#' A message that lacks a column, or holds it with another type or shape, raises `tfdistribute_input_error` with its
#' file and number when it is parsed. Rows are ordered and sharded as described in [input_parquet()].
#'
#' @inheritParams input_fixed_length
#' @param columns Columns of the messages, for files without an index: a named vector of dtypes, optionally with shapes,
#'   such as `c(label = "int64", pixels = "float32[28, 28]", name = "string")`. The dtypes are float32, int64, int32 and
#'   bool (stored as int64, given to the model as int32) and string. Every message must have all columns.
#'   [example_spec()] derives this argument from feature columns. NULL reads the index that [write_tfrecord()] wrote.
#' @param verify Whether the checksum of each record is compared with its content, TRUE or FALSE. A damaged record
#'   raises `tfdistribute_input_error` with its file and number; with FALSE it is read as it is.
#' @inherit input_fn return
#' @inheritSection input_fixed_length Errors
#' @references <https://www.tensorflow.org/tutorials/load_data/tfrecord>
#' @seealso [write_tfrecord()]; [input_fixed_length()], which is faster.
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
  new_record_input(
    "tfrecord",
    paths = paths,
    response = response,
    features = features,
    batch_size = batch_size,
    num_epochs = num_epochs,
    shuffle = shuffle,
    seed = seed,
    columns = columns,
    weights = weights,
    transform = transform,
    dtypes = c("float32", "int64", "int32", "bool", "string"),
    verify = check_flag(verify)
  )
}

#' @export
format.tfdistribute_tfrecord_input <- function(x, ...) {
  format_record_input(x, "TFRecord files")
}
