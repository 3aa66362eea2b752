#' Train on several devices of one machine, with a copy of the model on each
#'
#' Each device trains on its part of a batch; the gradients are summed after every step, so that all copies stay
#' equal. The result is that of one device with the same `batch_size`. It does not use other machines.
#'
#' @param devices NULL for all GPUs (or the CPU, where there is none), a count, or a character vector or list of
#'   names such as `"GPU:0"`. `devices = 2` on a machine without GPUs means two logical CPU devices.
#' @param cross_device How gradients are summed: `"auto"` (TensorFlow's collective operations),
#'   `"nccl"` or `"hierarchical_copy"` (GPUs only), or `"one_device"` (all on the first device).
#' @return A description of class `tfdistribute_mirrored_strategy`.
#' @section Errors:
#' `tfdistribute_argument_error` for an unknown `cross_device`, and `tfdistribute_strategy_error` for `devices` that
#' name no CPU or GPU, name one twice, mix the two, or do not suit `cross_device`. Whether the devices exist is seen
#' by the verb that trains.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/distribute/MirroredStrategy>
#' @family strategies
#' @examples
#' strategy_mirrored()
#' strategy_mirrored(devices = 2)
#' strategy_mirrored(c("GPU:0", "GPU:1"), cross_device = "nccl")
#' @export
strategy_mirrored <- function(
  devices = NULL,
  cross_device = c("auto", "nccl", "hierarchical_copy", "one_device")
) {
  choices <- c("auto", "nccl", "hierarchical_copy", "one_device")
  devices <- check_devices(devices)
  cross_device <- check_default_choice(cross_device, "cross_device", choices)
  if (is.character(devices)) {
    check_reduction(devices, cross_device)
  }
  new_description("strategy", "mirrored", devices = devices, cross_device = cross_device)
}

# Gradients can be summed over these devices as asked.
check_reduction <- function(devices, cross_device) {
  on_cpu <- grepl("CPU", devices, fixed = TRUE)
  if (cross_device %in% c("nccl", "hierarchical_copy") && any(on_cpu)) {
    abort_tfdistribute(
      "strategy",
      problem = paste0(
        "`cross_device = \"",
        cross_device,
        "\"` sums over GPUs only, and a device is a CPU."
      ),
      remedy = "Use `cross_device = \"auto\"`.",
      argument = "cross_device",
      value = cross_device
    )
  }
  if (cross_device == "auto" && any(on_cpu) && !all(on_cpu)) {
    abort_tfdistribute(
      "strategy",
      problem = "`devices` mixes CPUs and GPUs, over which gradients cannot be summed collectively.",
      remedy = "Use devices of one kind, or `cross_device = \"one_device\"`.",
      argument = "devices",
      value = show_value(devices)
    )
  }
}

#' @export
format.tfdistribute_mirrored_strategy <- function(x, ...) {
  reduction <- if (x$cross_device != "auto") paste0(", cross_device = \"", x$cross_device, "\"")
  paste0("mirrored ", format_devices(x$devices), reduction)
}
