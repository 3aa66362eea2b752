#' Describe examples in Arrow files
#'
#' Reads Arrow's file format, also called IPC or Feather 2. Streams and Feather 1 are not supported. The files are read
#' piece by piece while a model trains; only the current record batches are in memory. Every row is read once per epoch,
#' with any number of devices and workers. The files are not opened until a verb runs.
#'
#' **Record batches are the blocks** that are shuffled, see "Order and sharding of rows" in [input_parquet()]. Each is
#' read whole, so memory use grows with the largest one.
#'
#' @inheritParams input_parquet
#' @inherit input_fn return
#' @inheritSection input_parquet Types
#' @inheritSection input_parquet Errors
#' @references <https://arrow.apache.org/docs/python/ipc.html>
#' @seealso [input_parquet()], [input_csv()], [check_sharding()]
#' @examples
#' input_arrow(c("2023.feather", "2024.feather"), response = "price", types = list(zip = "string"))
#'
#' @examplesIf tfdistribute_available()
#' # A file written through Python.
#' path <- tempfile(fileext = ".feather")
#' arrow <- reticulate::import("pyarrow")
#' reticulate::import("pyarrow.feather")$write_feather(
#'   arrow$table(list(wt = mtcars$wt, mpg = mtcars$mpg)),
#'   path
#' )
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
