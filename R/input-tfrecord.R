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
