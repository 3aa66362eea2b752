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
