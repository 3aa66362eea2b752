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
#' @param workers Processes that train, including the chief, a count of at most 1000.
#' @param ps Parameter servers, a count of at most 1000.
#' @param evaluator Whether an additional process evaluates checkpoints, TRUE or FALSE.
#' @param devices_per_worker Devices of each training process, a count. On a machine with NVIDIA GPUs, each process sees
#'   that many GPUs of its own (`CUDA_VISIBLE_DEVICES`), or shares them if there are too few. The evaluator sees a
#'   remaining GPU, and parameter servers see none. Without GPUs, the count must be 1.
#' @param memory_limit_mb Memory that a process may allocate on each GPU, in megabytes, so that several processes can
#'   share a GPU. NULL sets no limit. TensorFlow cannot limit CPU memory, so without GPUs the processes fail after they
#'   have started.
#' @param start_timeout_s Seconds that each training process has for its first step, a number. A process that is
#'   computing has up to five times as long. After that, the job fails and names the processes that never started.
#' @param stall_timeout_s Seconds without a step of any process after which the job counts as stalled, a number.
#' @param restarts Maximum number of restarts of processes, a count.
#' @param network `"private"` for a network of the job's own, or `"open"` for the machine's network. `"auto"` (default)
#'   uses a private network if it is available and the model is stored on this machine. Otherwise it uses an open
#'   network, with a warning. From a private network, tasks cannot reach services on this machine, such as a database. A
#'   training that names one, such as `"localhost:5432"`, is an error.
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
