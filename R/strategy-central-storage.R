#' Train on several devices of one machine, with variables in one place
#'
#' The variables stay on the CPU, or on the device if there is only one. Each device computes its part of a batch, and
#' all devices wait for each other after every step. The result equals training on one device with the same
#' `batch_size`. Use this strategy if a GPU cannot hold its own copy of the variables. Otherwise [strategy_mirrored()]
#' transfers less data.
#'
#' @eval help_of("strategy_central_storage")
#' @returns A description of class `tfdistribute_central_storage_strategy`.
#' @section Errors: `tfdistribute_strategy_error`, from a verb, if `devices` contains something other than a CPU or GPU,
#'   or the same device twice. The devices and the optimizer are checked when training starts. `clipnorm`, `clipvalue`
#'   and `global_clipnorm` are not supported.
#' @references <https://www.tensorflow.org/api_docs/python/tf/distribute/experimental/CentralStorageStrategy>
#' @seealso [strategies]
#' @examples
#' strategy_central_storage(devices = 2)
#' @export
strategy_central_storage <- function(
  # Fields of strategy$central_storage
  devices = NULL,
  ...
) {
  check_call(...)
  describe("strategy", "central_storage", as.list(environment()))
}

#' @export
format.tfdistribute_central_storage_strategy <- function(x, ...) {
  paste("central storage", format_devices(x$devices))
}
