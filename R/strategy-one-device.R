#' Train on one device
#'
#' Places all variables and all computation on one device. It uses the same code path as the other strategies, so you
#' can use it to prepare a training with [strategy_mirrored()]. It is not faster than `strategy = NULL`.
#'
#' @eval help_of("strategy_one_device")
#' @returns A description of class `tfdistribute_one_device_strategy`.
#' @section Errors:
#' * `tfdistribute_argument_error` if `device` is not a string.
#' * `tfdistribute_strategy_error`, from a verb, if `device` is not the name of a CPU or GPU. Whether the device exists
#'   is checked when training starts.
#' @references <https://www.tensorflow.org/api_docs/python/tf/distribute/OneDeviceStrategy>
#' @seealso [strategies]
#' @examples
#' strategy_one_device("CPU:0")
#' @export
strategy_one_device <- function(
  # Fields of strategy$one_device
  device,
  ...
) {
  check_call(...)
  describe("strategy", "one_device", as.list(environment()))
}

#' @export
format.tfdistribute_one_device_strategy <- function(x, ...) {
  paste("one device:", short_device(x$device))
}
