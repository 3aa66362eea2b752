#' Train on several devices of one machine, with variables in one place
#'
#' The variables stay on the CPU, or on the device if there is only one. Each device computes its part of a batch, and
#' all devices wait for each other after every step. The result equals training on one device with the same
#' `batch_size`. Use it if a GPU cannot hold its own copy of the variables; otherwise [strategy_mirrored()] moves less
#' data.
#'
#' @inheritParams strategy_mirrored
#' @param ... Must be empty.
#' @returns A description of class `tfdistribute_central_storage_strategy`.
#' @section Errors: `tfdistribute_strategy_error`: `devices` contains something other than a CPU or GPU, or the same
#'   device twice. Whether the devices exist is checked when training starts, and so is the optimizer: `clipnorm`,
#'   `clipvalue` and `global_clipnorm` are not supported.
#' @references <https://www.tensorflow.org/api_docs/python/tf/distribute/experimental/CentralStorageStrategy>
#' @seealso [strategies]
#' @examples
#' strategy_central_storage(devices = 2)
#' @export
strategy_central_storage <- function(devices = NULL, ...) {
  check_call()
  new_description("strategy", "central_storage", devices = check_devices(devices))
}

#' @export
format.tfdistribute_central_storage_strategy <- function(x, ...) {
  paste("central storage", format_devices(x$devices))
}
