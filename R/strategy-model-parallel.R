#' Train one model on several devices of one machine
#'
#' This strategy is for a model that does not fit on one device, or whose parts can work at the same time. The model
#' function of [estimator()] assigns its parts to devices with [pipeline()] or [logical_device()], and everything else
#' is on the first device. The numbers are the same as on one device. To train several copies of such a model, each on
#' its own devices, use `devices_per_replica` of [strategy_mirrored()] or [strategy_multi_worker()].
#'
#' @eval help_of("strategy_model_parallel")
#' @returns A description of class `tfdistribute_model_parallel_strategy`.
#' @section Evaluation and prediction:
#' Evaluation and prediction use one device, so that the model also works on a machine with fewer devices. With
#' `run_config(eval_distribute = strategy_model_parallel(2))`, evaluation uses the same devices as training.
#' @section Errors: `tfdistribute_strategy_error`, from a verb, if `devices` contains something other than a CPU or GPU,
#'   or the same device twice, or, from a verb, if a device does not exist, or a [pipeline()] has fewer stages than
#'   there are devices.
#' @references "GPipe", <https://arxiv.org/abs/1811.06965>
#' @seealso [strategies], `vignette("models-in-parts")`
#' @examples
#' strategy_model_parallel(devices = 2)
#' @export
strategy_model_parallel <- function(
  # Fields of strategy$model_parallel
  devices = NULL,
  ...
) {
  check_call(...)
  describe("strategy", "model_parallel", as.list(environment()))
}

#' @export
format.tfdistribute_model_parallel_strategy <- function(x, ...) {
  paste("one model", format_devices(x$devices))
}
