#' Describe training on several machines, with the variables on parameter servers
#'
#' This version describes the strategy but does not train with it: the verbs raise
#' `tfdistribute_unsupported_error`. Use [strategy_mirrored()] for the devices of one machine.
#'
#' @return A description of class `tfdistribute_parameter_server_strategy`.
#' @section Errors:
#' None.
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
