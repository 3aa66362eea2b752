#' Train on a TPU
#'
#' Places a copy of the model on each core of the TPU of this machine, a TPU VM. Each core computes gradients from its
#' part of a batch, and the gradients are summed after every step. Many steps run on the TPU before control returns to
#' the host, where hooks are called and checkpoints are written. Evaluation and prediction run on the host's CPU, and
#' training can continue from a checkpoint under any other strategy.
#'
#' The authors of this package have no TPU. Graphs and rules are tested with the description of a TPU, and the numbers
#' with the TPU compiler on a CPU. On a TPU VM, `source(system.file("examples", "verify-tpu.R", package =
#' "tfdistribute"))` tests in a few minutes whether training works there with the numbers of a CPU, to three digits,
#' because a TPU multiplies in 16 bits.
#'
#' A TPU computes with numbers, in batches of one size. Therefore `batch_size` must be a multiple of the number of
#' copies of the model, and the number of rows must be a multiple of `batch_size` unless the input repeats forever
#' (`epochs = NULL`). Factors are read as codes.
#'
#' @eval help_of("strategy_tpu")
#' @returns A description of class `tfdistribute_tpu_strategy`.
#' @section Errors:
#' * `tfdistribute_argument_error` if `address` is not a string, or another argument is not a count.
#' * `tfdistribute_unsupported_error`, from a verb, if `address` is not `"local"`.
#'
#' When a training starts:
#' * `tfdistribute_strategy_error` if the machine has no TPU (`/dev/accel0` or `/dev/vfio/0`), no driver (`libtpu.so`),
#'   or a TensorFlow without TPU kernels. The error names the missing part before anything starts.
#' * `tfdistribute_sharding_error` if batches would differ in size.
#' * `tfdistribute_input_error` if a feature or the response contains strings.
#' * `tfdistribute_run_config_error` if `precision`, `micro_batches`, `eval_distribute` or `save_checkpoints_steps` does
#'   not work on a TPU.
#' @references <https://www.tensorflow.org/api_docs/python/tf/compat/v1/distribute/experimental/TPUStrategy>,
#'   <https://cloud.google.com/tpu/docs/runtimes>
#' @seealso [strategies]
#' @examples
#' strategy_tpu()
#' strategy_tpu(steps_per_run = 50)
#' @export
strategy_tpu <- function(
  # Fields of strategy$tpu
  address = "local",
  steps_per_run = "auto",
  ...
) {
  check_call(...)
  describe("strategy", "tpu", as.list(environment()))
}

#' @export
format.tfdistribute_tpu_strategy <- function(x, ...) {
  # A description that an older version saved does not have this field.
  steps <- x$steps_per_run %||% "auto"
  paste0("TPU", if (steps != "auto") paste0(", steps_per_run = ", steps))
}
