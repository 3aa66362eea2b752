#' Describe a cluster of processes on this machine
#'
#' Several processes on one machine that train together: a chief, `workers - 1` workers, and parameter servers and an
#' evaluator where they are wanted. Ports are chosen when the processes are started. A plain R value: nothing is
#' started. This version describes clusters but does not train in one.
#'
#' @param workers Processes that train, the chief included, a count.
#' @param ps Parameter servers, a count.
#' @param evaluator Whether one more process evaluates checkpoints, TRUE or FALSE.
#' @param devices_per_worker Devices of each process that trains, a count.
#' @param memory_limit_mb Memory that each of these devices may use, in megabytes; NULL for no limit.
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
#' @export
local_cluster <- function(
  workers,
  ps = 0,
  evaluator = TRUE,
  devices_per_worker = 1,
  memory_limit_mb = NULL
) {
  new_description(
    "cluster",
    "local",
    workers = check_count(workers, "workers"),
    ps = check_count(ps, "ps", minimum = 0L),
    evaluator = check_flag(evaluator, "evaluator"),
    devices_per_worker = check_count(devices_per_worker, "devices_per_worker"),
    memory_limit_mb = check_number(memory_limit_mb, "memory_limit_mb", minimum = 1, null = TRUE)
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
      paste0("  memory     ", format(x$memory_limit_mb), " MB for each device at most")
    }
  )
}
