#' Train asynchronously on several workers, with variables on parameter servers
#'
#' The chief and the workers each compute gradients from whole batches of their own, and update the variables without
#' waiting for each other. A lost worker does not delay the others, but no two trainings give the same result. The
#' strategy requires a cluster with a chief and parameter servers (`ps`). See [run_config()].
#'
#' @eval help_of("strategy_parameter_server")
#' @returns A description of class `tfdistribute_parameter_server_strategy`.
#' @section Errors:
#' * `tfdistribute_unsupported_error`, from a verb, without a cluster.
#' * `tfdistribute_strategy_error`, from a verb, if the cluster has no parameter servers.
#' * `tfdistribute_lost_peer_error`, from a verb, if another process never started or was lost.
#' @references <https://www.tensorflow.org/guide/distributed_training#parameterserverstrategy>
#' @seealso [strategies]
#' @examples
#' strategy_parameter_server()
#' @export
strategy_parameter_server <- function(
  # Fields of strategy$parameter_server
  ...
) {
  check_call(...)
  describe("strategy", "parameter_server", as.list(environment()))
}

#' @export
format.tfdistribute_parameter_server_strategy <- function(x, ...) {
  "parameter server"
}
