#' Describe training on a TPU
#'
#' This version can describe a TPU but not train on it: the verbs raise `tfdistribute_unsupported_error`. Use
#' [strategy_mirrored()] for the devices of one machine.
#'
#' @param address Name or gRPC address of the TPU, a string; `"local"` on a TPU machine.
#' @param ... Must be empty.
#' @returns A description of class `tfdistribute_tpu_strategy`.
#' @section Errors: `tfdistribute_argument_error`: `address` is not a string.
#' @references <https://www.tensorflow.org/api_docs/python/tf/distribute/TPUStrategy>
#' @seealso [strategies]
#' @examples
#' strategy_tpu("grpc://10.0.0.2:8470")
#' @export
strategy_tpu <- function(address, ...) {
  check_call()
  new_description("strategy", "tpu", address = check_string(address))
}

#' @export
format.tfdistribute_tpu_strategy <- function(x, ...) {
  paste0("TPU ", encodeString(x$address, quote = "\""))
}
