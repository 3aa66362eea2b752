#' Describe examples in TFRecord files
#'
#' Reads `tf.train.Example` messages in blocks of about a megabyte while a model trains, and parses them by whole
#' batches. Making the input does not look at the files: a verb does, which finds the records in one fast pass
#' (remembered while R runs). It does not verify the checksums of records, nor read compressed files.
#'
#' @inheritSection input_fixed_length Order and division of rows
#' @inheritParams input_fixed_length
#' @param columns What the messages hold, for files without an index: a named vector of dtypes, each with its shape
#'   where it has one, such as `c(label = "int64", pixels = "float32[28, 28]", name = "string")`. The dtypes are
#'   float32, int64, int32 and bool (stored as int64, given to the model as int32) and string. Every message must have
#'   all of them. [example_spec()] derives it from feature columns. NULL takes the index that [write_tfrecord()] wrote.
#' @inherit input_fixed_length return
#' @section Errors:
#' `tfdistribute_argument_error`: an argument is no such value. When a verb runs, `tfdistribute_input_error`: a file
#' is missing, is no such file, has no rows, cannot be read, is cut off (named with the record), or was changed while
#' it was read; there is no such column. `tfdistribute_sharding_error`: the batch or the rows cannot be divided over
#' the replicas. A message that lacks a column, or holds it with another type or shape, is found when it is parsed, and
#' named with its file and number, as `tfdistribute_input_error`.
#' @section Source:
#' <https://www.tensorflow.org/tutorials/load_data/tfrecord>
#' @seealso [write_tfrecord()], [input_fixed_length()], which is faster.
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
  transform = NULL
) {
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
    dtypes = c("float32", "int64", "int32", "bool", "string")
  )
}

#' @export
format.tfdistribute_tfrecord_input <- function(x, ...) {
  format_record_input(x, "TFRecord files")
}
