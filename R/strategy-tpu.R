#' Describe training on a TPU
#'
#' This version describes the strategy but does not train with it: the verbs raise
#' `tfdistribute_unsupported_error`. Use [strategy_mirrored()] for the devices of one machine.
#'
#' @param address Name or gRPC address of the TPU, a string; `"local"` on a TPU machine.
#' @return A description of class `tfdistribute_tpu_strategy`.
#' @section Errors:
#' `tfdistribute_argument_error`.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/distribute/TPUStrategy>
#' @family strategies
#' @examples
#' strategy_tpu("grpc://10.0.0.2:8470")
#' @export
strategy_tpu <- function(address) {
  new_description("strategy", "tpu", address = check_string(address, "address"))
}

#' @export
format.tfdistribute_tpu_strategy <- function(x, ...) {
  paste0("TPU ", encodeString(x$address, quote = "\""))
}
