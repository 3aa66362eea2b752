#' Describe a cluster of processes on this machine
#'
#' Describes several processes on one machine that train together: a chief, `workers - 1` workers, and optional
#' parameter servers and an evaluator. It is a plain R value and starts nothing. For an estimator with this cluster in
#' its [run_config()], [train()], [train_and_evaluate()] and [launch()] start the processes, supervise them and end
#' them.
#'
#' The processes are separate R processes, and this session is not one of them. Ports are chosen when they start.
#' TensorFlow's ports are unauthenticated and unencrypted, so anyone who can connect can run code. In a private network,
#' only the processes of the job can connect. A private network requires a Linux that allows users to create namespaces.
#' In an open network, other machines can connect unless a firewall blocks the ports.
#'
#' Without GPUs, each process that trains has its share of the cores. A single process would use all cores and exchange
#' nothing. It is several times faster if a step takes less than a millisecond, as in most models of tables, and about
#' as fast if a step takes tens of milliseconds. `vignette("from-one-machine-to-a-cluster")` has measurements. Use a
#' local cluster for GPUs, for large models, and to try out a training for several machines.
#'
#' A lost process is restarted. With [strategy_multi_worker()], all training processes restart from the newest
#' checkpoint. With [strategy_parameter_server()], only the lost process restarts. An error in the model or the data is
#' raised without another attempt.
#'
#' @eval help_of("local_cluster")
#' @returns A description of class `tfdistribute_local_cluster`, `tfdistribute_cluster`.
#' @section Errors: `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' @references <https://www.tensorflow.org/tutorials/distribute/multi_worker_with_estimator>, which also simulates
#'   several machines with processes on one machine.
#' @family clusters
#' @examples
#' local_cluster(workers = 2)
#' local_cluster(workers = 2, ps = 1, evaluator = FALSE)
#' local_cluster(workers = 2, start_timeout_s = 120, restarts = 0)
#' @export
local_cluster <- function(
  # Fields of cluster$local
  workers,
  ps = 0,
  evaluator = TRUE,
  devices_per_worker = 1,
  memory_limit_mb = NULL,
  start_timeout_s = 60,
  stall_timeout_s = 300,
  restarts = 3,
  network = c("auto", "private", "open"),
  ...
) {
  check_call(...)
  describe("cluster", "local", as.list(environment()))
}

#' @export
format.tfdistribute_local_cluster <- function(x, ...) {
  limit <- x$memory_limit_mb
  format_started(
    x,
    "process{?es} on this machine",
    devices = show_devices(x),
    memory = if (!is.null(limit)) paste(format(limit), "MB of each GPU at most"),
    watched = show_watched(x),
    network = if (x$network != "auto") x$network
  )
}
