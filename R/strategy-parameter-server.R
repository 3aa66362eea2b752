#' Train in several processes, with the variables in parameter servers
#'
#' Chief and workers compute gradients, each from whole batches of its own, and change the variables out of step: a lost
#' worker holds up nobody, and no two trainings are the same. It needs a cluster with a chief and parameter servers
#' (`ps`), see [run_config()].
#'
#' @return A description of class `tfdistribute_parameter_server_strategy`.
#' @section Errors:
#' When a verb runs: `tfdistribute_unsupported_error` without a cluster, `tfdistribute_strategy_error` for a cluster
#' without parameter servers, `tfdistribute_lost_peer_error` where another process never comes or is gone.
#' @section Source:
#' <https://www.tensorflow.org/guide/distributed_training#parameterserverstrategy>
#' @family strategies
#' @examples
#' strategy_parameter_server()
#' @export
strategy_parameter_server <- function() {
  new_description("strategy", "parameter_server")
}

#' @export
format.tfdistribute_parameter_server_strategy <- function(x, ...) {
  "parameter server"
}
