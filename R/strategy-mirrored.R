#' Train on several devices of one machine, with a copy of the model on each
#'
#' Each device computes gradients from its part of a batch. The gradients are summed after every step, so all copies
#' stay equal. The result equals training on one device with the same `batch_size`. It does not use other machines.
#'
#' @param devices NULL for all GPUs, or the CPU if there are none. Alternatively, a count, or a character vector or list
#'   of names such as `"GPU:0"`. On a machine without GPUs, `devices = 2` means two logical CPU devices.
#' @param cross_device How gradients are summed: `"auto"` (NCCL between GPUs, on one device if a CPU takes part),
#'   `"nccl"` (GPUs only), `"hierarchical_copy"` (in groups of neighbors) or `"one_device"` (all on the first device).
#' @param devices_per_replica Devices that share one copy of the model, a count. `devices` is divided into groups of
#'   this size. The model function places its parts with [pipeline()] or [logical_device()]. See
#'   `vignette("models-in-parts")`. Without GPUs, `devices = NULL` then means one replica of as many logical CPUs.
#' @returns A description of class `tfdistribute_mirrored_strategy`.
#' @section Errors:
#' * `tfdistribute_argument_error` if `cross_device` is unknown.
#' * `tfdistribute_strategy_error`, from a verb, if `devices` contains something other than a CPU or GPU, the same device twice, or a
#'   CPU with `cross_device = "nccl"`, or if the number of devices is not a multiple of `devices_per_replica`. Whether
#'   the devices exist is checked when training starts.
#' @references <https://www.tensorflow.org/api_docs/python/tf/distribute/MirroredStrategy>
#' @seealso [strategies]
#' @examples
#' strategy_mirrored()
#' strategy_mirrored(devices = 2)
#' strategy_mirrored(c("GPU:0", "GPU:1"), cross_device = "nccl")
#' strategy_mirrored(devices = 4, devices_per_replica = 2)
#' @export
strategy_mirrored <- function(
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
