#' Train on one device
#'
#' All variables and all computation on one device, through the same code path as with many: for trying out what
#' will later run under [strategy_mirrored()]. It does not train faster than `train_distribute = NULL`.
#'
#' @param device Name of the device, a string such as `"GPU:0"`, `"/gpu:1"` or `"cpu:0"`.
#' @return A description of class `tfdistribute_one_device_strategy`.
#' @section Errors:
#' `tfdistribute_argument_error` when `device` is not a string, `tfdistribute_strategy_error` when it names no
#' CPU or GPU. Whether the device exists is seen by the verb that trains.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/distribute/OneDeviceStrategy>
#' @family strategies
#' @examples
#' strategy_one_device("CPU:0")
#' @export
strategy_one_device <- function(device) {
  device <- check_string(device, "device")
  new_description("strategy", "one_device", device = canonical_device(device, "device"))
}

#' @export
format.tfdistribute_one_device_strategy <- function(x, ...) {
  paste("one device:", short_device(x$device))
}
