#' Train in several processes, with a copy of the model in each
#'
#' The processes of a cluster train in step: each computes gradients from its part of every batch, and all take the
#' same step. With the same global batch and seed the result is that of one process, to six digits. It needs a
#' cluster, see [run_config()]; each process uses all GPUs of its machine, or one CPU device. Use
#' [strategy_mirrored()] for the devices of one machine, which is faster.
#'
#' @param communication How workers sum their gradients: `"auto"`, `"ring"` (CPUs or GPUs) or `"nccl"` (GPUs).
#' @param timeout_s Seconds to wait for another worker that does not answer, a positive number; NULL for as long as the
#'   cluster says.
#' @return A description of class `tfdistribute_multi_worker_strategy`.
#' @section Errors:
#' `tfdistribute_argument_error`. When a verb runs: `tfdistribute_unsupported_error` without a cluster;
#' `tfdistribute_strategy_error` for a cluster with parameter servers, or for `"nccl"` without GPUs;
#' `tfdistribute_lost_peer_error` where another process never comes or is gone.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/distribute/MultiWorkerMirroredStrategy>
#' @family strategies
#' @examples
#' strategy_multi_worker(communication = "ring", timeout_s = 60)
#' @export
strategy_multi_worker <- function(communication = c("auto", "ring", "nccl"), timeout_s = NULL) {
  communication <- check_default_choice(communication, "communication", c("auto", "ring", "nccl"))
  timeout_s <- check_positive(timeout_s, "timeout_s", null = TRUE)
  new_description("strategy", "multi_worker", communication = communication, timeout_s = timeout_s)
}

#' @export
format.tfdistribute_multi_worker_strategy <- function(x, ...) {
  communication <- if (x$communication != "auto") {
    paste0(", communication = \"", x$communication, "\"")
  }
  timeout <- if (!is.null(x$timeout_s)) paste0(", waiting ", format(x$timeout_s), " s at most")
  paste0("multi worker", communication, timeout)
}
