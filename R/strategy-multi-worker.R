#' Train synchronously on several workers, with a copy of the model on each
#'
#' Each worker of a cluster computes gradients from its part of every batch, and all apply the same update. With the
#' same global batch and seed, the result equals the result of one process to six digits. The strategy requires a
#' cluster. See [run_config()]. Each worker uses all GPUs that it can see, or one CPU device. For the devices of one
#' machine, [strategy_mirrored()] is faster.
#'
#' Workers on one machine without GPUs sum their gradients (an all-reduce) in anonymous shared memory, which the
#' operating system frees even if a process crashes. Between machines, gradients are sent through the network.
#'
#' @eval help_of("strategy_multi_worker")
#' @returns A description of class `tfdistribute_multi_worker_strategy`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range, or `compression` does not fit
#'   `communication`.
#' * `tfdistribute_unsupported_error`, from a verb, without a cluster.
#' * `tfdistribute_strategy_error`, from a verb, if the cluster has parameter servers, `communication` is `"nccl"`
#'   without GPUs or `"shared_memory"` with GPUs or on several machines, or a worker's GPUs cannot be divided into
#'   groups of `devices_per_replica`.
#' * `tfdistribute_lost_peer_error`, from a verb, if another process never started or was lost.
#' @references <https://www.tensorflow.org/api_docs/python/tf/distribute/MultiWorkerMirroredStrategy>
#' @seealso [strategies]
#' @examples
#' strategy_multi_worker(communication = "ring", timeout_s = 60)
#' strategy_multi_worker(devices_per_replica = 2)
#' @export
strategy_multi_worker <- function(
  # Fields of strategy$multi_worker
  communication = c("auto", "ring", "nccl", "shared_memory"),
  timeout_s = NULL,
  devices_per_replica = 1,
  compression = c("none", "bfloat16"),
  ...
) {
  check_call(...)
  describe("strategy", "multi_worker", as.list(environment()))
}

#' @export
format.tfdistribute_multi_worker_strategy <- function(x, ...) {
  communication <- if (x$communication != "auto") {
    paste0(", communication = \"", x$communication, "\"")
  }
  timeout <- if (!is.null(x$timeout_s)) paste0(", waiting ", format(x$timeout_s), " s at most")
  # A description that an older version saved does not have this field.
  compressed <- !identical(x$compression %||% "none", "none")
  compression <- if (compressed) paste0(", compression = \"", x$compression, "\"")
  paste0("multi worker", communication, timeout, format_per_replica(x), compression)
}
