#' Train on several devices of one machine, with the variables in one place
#'
#' The variables stay on the CPU (or on the one device); each device computes on its part of a batch, and all wait
#' for each other after every step. The result is that of one device with the same `batch_size`. Useful where a
#' model's variables do not fit into one GPU several times; otherwise [strategy_mirrored()] moves less data.
#'
#' @param devices NULL for all GPUs (or the CPU, where there is none), a count, or a character vector or list of
#'   names such as `"GPU:0"`. `devices = 2` on a machine without GPUs means two logical CPU devices.
#' @return A description of class `tfdistribute_central_storage_strategy`.
#' @section Errors:
#' `tfdistribute_strategy_error` for `devices` that name no CPU or GPU, or name one twice. Whether the devices exist
#' is seen by the verb that trains.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/distribute/experimental/CentralStorageStrategy>
#' @family strategies
#' @examples
#' strategy_central_storage(devices = 2)
#' @export
strategy_central_storage <- function(devices = NULL) {
  new_description("strategy", "central_storage", devices = check_devices(devices))
}

#' @export
format.tfdistribute_central_storage_strategy <- function(x, ...) {
  paste("central storage", format_devices(x$devices))
}
