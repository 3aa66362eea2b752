# As in cluster/spec.py: each process that trains takes about 650 MB.
most_processes <- 1000L

#' Describe a cluster of processes on this machine
#'
#' Describes several processes on one machine that train together: a chief, `workers - 1` workers, and optional
#' parameter servers and an evaluator. It is a plain R value and starts nothing. [train()], [train_and_evaluate()] and
#' [launch()] start the processes for an estimator with this cluster in its [run_config()], supervise them and end them.
#'
#' The processes are separate R processes; this session is not one of them. Ports are chosen when they start.
#' TensorFlow's ports are unauthenticated and unencrypted: anyone who can connect can run code. In a private network,
#' only the processes of the job can connect; this requires a Linux that lets users create namespaces. In an open
#' network, other machines can connect unless a firewall blocks the ports.
#'
#' Without GPUs, each process that trains has its share of the cores. One process would use all of them, and exchange
#' nothing: it is several times faster if a step takes less than a millisecond, as those of most models of tables, and
#' about as fast if a step takes tens of milliseconds. `vignette("from-one-machine-to-a-cluster")` has figures. A local
#' cluster is for GPUs, for large models, and for trying out what will run on several machines.
#'
#' A lost process is restarted. With [strategy_multi_worker()] all training processes restart from the newest
#' checkpoint; with [strategy_parameter_server()] only the lost one does. An error in the model or the data is raised,
#' not retried.
#'
#' @section Idle processes:
#' Loading R and TensorFlow takes most of the time to the first step. So when a training that this session has waited
#' for is done, its processes are started again, one after another, load TensorFlow, and wait: a second training takes
#' them and makes its first step within a few seconds. In the same way, processes for restarts are started once a
#' training has run for ten seconds. Each takes about 400 MB of memory, and a few seconds of one core to start; none is
#' started while less than a quarter of the memory of the machine, or of its container, is available, and all end when
#' less than a tenth is.
#'
#' Idle processes are kept for `options(tfdistribute.idle_s = 300)` seconds and end with the session; 0 starts none.
#' They are used only if nothing has changed that shapes a process: environment variables, working directory, package
#' libraries and what was installed into them, Python, TensorFlow, cores and GPUs. Otherwise new processes are started.
#' A training finds the same options, packages, random numbers and files in either.
#'
#' @param workers Processes that train, including the chief, a count of at most 1000.
#' @param ps Parameter servers, a count of at most 1000.
#' @param evaluator Whether an additional process evaluates checkpoints, TRUE or FALSE.
#' @param devices_per_worker Devices of each training process, a count. On a machine with NVIDIA GPUs, each process sees
#'   that many of its own (`CUDA_VISIBLE_DEVICES`), or shares them if there are too few; the evaluator sees one that is
#'   left over, and parameter servers see none. Without GPUs it must be 1.
#' @param memory_limit_mb Memory that a process may take on each GPU, in megabytes, so that several can share one; NULL
#'   for no limit. TensorFlow cannot limit CPU memory: without GPUs the processes fail after they have started.
#' @param start_timeout_s Seconds that each training process has for its first step, a number; up to five times as long
#'   while it is computing. Then the job fails and names the processes that never started.
#' @param stall_timeout_s Seconds without a step of any process after which the job counts as stalled, a number.
#' @param restarts How often processes may be restarted, a count.
#' @param network `"private"` for a network of the job's own, `"open"` for the machine's network. `"auto"` (default)
#'   uses a private one if it is available and the model is stored on this machine, and otherwise an open one, with a
#'   warning.
#' @param ... Must be empty.
#' @returns A description of class `tfdistribute_local_cluster`, `tfdistribute_cluster`.
#' @section Errors: `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' @references <https://www.tensorflow.org/tutorials/distribute/multi_worker_with_estimator>, which also simulates
#'   several machines with processes on one.
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
  check_call()
  new_description(
    "cluster",
    "local",
    workers = check_count(workers, maximum = most_processes),
    ps = check_count(ps, minimum = 0L, maximum = most_processes),
    evaluator = check_flag(evaluator),
    devices_per_worker = check_count(devices_per_worker),
    memory_limit_mb = check_number(memory_limit_mb, minimum = 1, null = TRUE),
    start_timeout_s = check_number(start_timeout_s, minimum = 1),
    stall_timeout_s = check_number(stall_timeout_s, minimum = 1),
    restarts = check_count(restarts, minimum = 0L),
    network = check_default_choice(network, c("auto", "private", "open"))
  )
}

#' @export
count_tasks.tfdistribute_local_cluster <- function(x) {
  count_described_tasks(x)
}

#' @export
format.tfdistribute_local_cluster <- function(x, ...) {
  c(
    interpolate("<local_cluster> {sum(count_tasks(x))} process{?es} on this machine"),
    paste0("  ", show_task_names(x)),
    paste0("  devices    ", x$devices_per_worker, " for each process that trains"),
    if (!is.null(x$memory_limit_mb)) {
      paste0("  memory     ", format(x$memory_limit_mb), " MB of each GPU at most")
    },
    interpolate(c(
      "  watched    {format(x$start_timeout_s)} s for the first step, ",
      "{format(x$stall_timeout_s)} s for any other, {x$restarts} restart{?s}"
    )),
    if (x$network != "auto") paste0("  network    ", x$network)
  )
}
