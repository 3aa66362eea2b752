#' Describe training on several machines, with a copy of the model on each
#'
#' This version describes the strategy but does not train with it: the verbs raise
#' `tfdistribute_unsupported_error`. Use [strategy_mirrored()] for the devices of one machine.
#'
#' @param communication How workers sum their gradients: `"auto"`, `"ring"` (CPUs or GPUs) or `"nccl"` (GPUs).
#' @param timeout_s Seconds to wait for another worker, a positive number; NULL for TensorFlow's own.
#' @return A description of class `tfdistribute_multi_worker_strategy`.
#' @section Errors:
#' `tfdistribute_argument_error`.
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
