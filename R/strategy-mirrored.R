#' Train on several devices of one machine, with a copy of the model on each
#'
#' Each device computes gradients from its part of a batch. The gradients are summed after every step, so all copies
#' stay equal. The result equals training on one device with the same `batch_size`. It does not use other machines.
#'
#' @eval help_of("strategy_mirrored")
#' @returns A description of class `tfdistribute_mirrored_strategy`.
#' @section Errors:
#' * `tfdistribute_argument_error` if `cross_device` is unknown.
#' * `tfdistribute_strategy_error`, from a verb, if `devices` contains something other than a CPU or GPU, the same
#'   device twice, or a CPU with `cross_device = "nccl"`, or if the number of devices is not a multiple of
#'   `devices_per_replica`. Whether the devices exist is checked when training starts.
#' @references <https://www.tensorflow.org/api_docs/python/tf/distribute/MirroredStrategy>
#' @seealso [strategies]
#' @examples
#' strategy_mirrored()
#' strategy_mirrored(devices = 2)
#' strategy_mirrored(c("GPU:0", "GPU:1"), cross_device = "nccl")
#' strategy_mirrored(devices = 4, devices_per_replica = 2)
#' @export
strategy_mirrored <- function(
  # Fields of strategy$mirrored
  devices = NULL,
  cross_device = c("auto", "nccl", "hierarchical_copy", "one_device"),
  devices_per_replica = 1,
  ...
) {
  check_call(...)
  describe("strategy", "mirrored", as.list(environment()))
}

#' @export
format.tfdistribute_mirrored_strategy <- function(x, ...) {
  reduction <- if (x$cross_device != "auto") paste0(", cross_device = \"", x$cross_device, "\"")
  paste0("mirrored ", format_devices(x$devices), reduction, format_per_replica(x))
}
