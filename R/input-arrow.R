#' Describe examples in Arrow files
#'
#' Reads Arrow's file format, also called IPC or Feather 2, as [write_arrow()] and other programs write it.
#' Uncompressed, it is the fastest input from disk. Streams and Feather 1 are not supported. The files are read piece by
#' piece while a model trains; only the current record batches are in memory. Every row is read once per epoch, with any
#' number of devices and workers. The files are not opened until a verb runs.
#'
#' **Record batches are the blocks** that are shuffled, see "Order and sharding of rows" in [input_parquet()]. Each is
#' read whole, so memory use grows with the largest one. [write_arrow()] makes them about 2 MB large.
#'
#' @inheritParams input_parquet
#' @param paths Paths, strings: the directory that [write_arrow()] wrote, files, or patterns such as
#'   `"data/part-*.arrow"`; on this machine or with a scheme that TensorFlow knows, such as `gs://`. A directory without
#'   an index means its files, in the order of their names, without those that begin with `.` or `_`.
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
  paths,
  response = NULL,
  features = NULL,
  batch_size = 128,
  num_epochs = 1,
  shuffle = "auto",
  seed = NULL,
  types = NULL,
  impute = NULL,
  weights = NULL,
  transform = NULL,
  on_bad_row = c("error", "skip"),
  ...
) {
  check_call()
  new_table_input(
    "arrow",
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
    on_bad_row = check_default_choice(on_bad_row, c("error", "skip"))
  )
}

#' @export
as_wire.tfdistribute_arrow_input <- function(x) {
  table_wire(x)
}

#' @export
format.tfdistribute_arrow_input <- function(x, ...) {
  format_table_input(x, "Arrow files")
}
