#' Describe a cluster of processes on this machine
#'
#' Several processes on one machine that train together: a chief, `workers - 1` workers, and parameter servers and an
#' evaluator where they are wanted. A plain R value: nothing is started. [train()], [train_and_evaluate()] and
#' [launch()] start the processes for an estimator whose [run_config()] has the cluster, watch over them, and end
#' them.
#'
#' The processes are R processes of their own, which this session is not one of. Ports are chosen when they are started.
#' TensorFlow's ports have neither password nor encryption, and who reaches one can run code: in a private network only
#' the processes of the job see them. Making one needs a Linux that lets users make namespaces. In an open network the
#' ports can be reached from other machines unless a firewall closes them.
#'
#' A process that is lost is started again: with [strategy_multi_worker()] all that train, from the newest checkpoint;
#' with [strategy_parameter_server()] only that one. An error of the model or the data is not repeated but raised.
#'
#' @param workers Processes that train, the chief included, a count.
#' @param ps Parameter servers, a count.
#' @param evaluator Whether one more process evaluates checkpoints, TRUE or FALSE.
#' @param devices_per_worker Devices of each process that trains, a count. Where the machine has NVIDIA GPUs, each
#'   process sees as many of its own (`CUDA_VISIBLE_DEVICES`), or shares them where there are fewer; the evaluator sees
#'   one that is left over, parameter servers see none.
#' @param memory_limit_mb Memory that a process takes of each GPU at most, in megabytes, so that several share one;
#'   NULL for no limit. TensorFlow has no such limit for a CPU: without GPUs it is refused when the processes have
#'   started.
#' @param start_timeout_s Seconds that every process which trains has for its first step, a number, and up to five times
#'   as many while it computes; else the job fails, and names those that never came.
#' @param stall_timeout_s Seconds without a step of any process after which the job counts as stalled, a number.
#' @param restarts How often processes may be started again, a count.
#' @param network `"private"` for a network of the job's own, `"open"` for that of this machine, `"auto"` for a private
#'   one where it can be had and the model is stored on this machine, else an open one, with a warning.
#' @return A description of class `tfdistribute_local_cluster`, `tfdistribute_cluster`.
#' @section Errors:
#' `tfdistribute_argument_error`.
#' @section Source:
#' <https://www.tensorflow.org/tutorials/distribute/multi_worker_with_estimator>, where processes of one machine stand
#' for several machines.
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
  network = c("auto", "private", "open")
) {
  new_description(
    "cluster",
    "local",
    workers = check_count(workers, "workers"),
    ps = check_count(ps, "ps", minimum = 0L),
    evaluator = check_flag(evaluator, "evaluator"),
    devices_per_worker = check_count(devices_per_worker, "devices_per_worker"),
    memory_limit_mb = check_number(memory_limit_mb, "memory_limit_mb", minimum = 1, null = TRUE),
    start_timeout_s = check_number(start_timeout_s, "start_timeout_s", minimum = 1),
    stall_timeout_s = check_number(stall_timeout_s, "stall_timeout_s", minimum = 1),
    restarts = check_count(restarts, "restarts", minimum = 0L),
    network = check_default_choice(network, "network", c("auto", "private", "open"))
  )
}

#' @export
count_tasks.tfdistribute_local_cluster <- function(x) {
  counts <- c(chief = 1L, worker = x$workers - 1L, ps = x$ps, evaluator = as.integer(x$evaluator))
  counts[counts > 0]
}

#' @export
format.tfdistribute_local_cluster <- function(x, ...) {
  count <- sum(count_tasks(x))
  c(
    paste0(
      "<local_cluster> ",
      count,
      if (count == 1) " process" else " processes",
      " on this machine"
    ),
    paste0("  ", paste(task_names(x), collapse = ", ")),
    paste0("  devices    ", x$devices_per_worker, " for each process that trains"),
    if (!is.null(x$memory_limit_mb)) {
      paste0("  memory     ", format(x$memory_limit_mb), " MB of each GPU at most")
    },
    paste0(
      "  watched    ",
      format(x$start_timeout_s),
      " s for the first step, ",
      format(x$stall_timeout_s),
      " s for any other, ",
      x$restarts,
      if (x$restarts == 1) " restart" else " restarts"
    ),
    if (x$network != "auto") paste0("  network    ", x$network)
  )
}
