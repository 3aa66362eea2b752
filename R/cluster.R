# Clusters described by addresses or on this machine, and functions that all clusters share.

cluster_roles <- c("chief", "worker", "ps", "evaluator")

#' Describe a cluster by the addresses of its tasks
#'
#' Describes the tasks that train together and where they run. It is a plain R value, so it starts nothing and contacts
#' no address. [check_cluster()] lists all mistakes, [plan_training()] shows the role of each task, and [as_tf_config()]
#' writes the `TF_CONFIG` of each task.
#'
#' [train()], [train_and_evaluate()] and [launch()] start the tasks of a [run_config()]'s cluster if all tasks are on
#' this machine and `task` is NULL. With `task`, this process trains as that task. To train on several machines, start
#' the same script on each machine, with the `TF_CONFIG` that [as_tf_config()] writes. [evaluate()], `predict()` and
#' [export_savedmodel()] ignore the cluster and use only this machine.
#'
#' @eval help_of("address_cluster")
#' @returns A description of class `tfdistribute_addresses_cluster`, `tfdistribute_cluster`.
#' @section Errors:
#' * `tfdistribute_cluster_error`, from a verb, if a string is not an address, for example because a shell would
#'   interpret one of its characters, a port is not from 1 to 65535, two tasks have the same address, or no task trains.
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' @inherit as_tf_config references
#' @family clusters
#' @examples
#' address_cluster(
#'   chief = "host-a:2222",
#'   worker = c("host-b:2222", "host-c:2222"),
#'   evaluator = "host-a"
#' )
#' @export
address_cluster <- function(
  # Fields of cluster$addresses
  chief = NULL,
  worker = NULL,
  ps = NULL,
  evaluator = NULL,
  task = NULL,
  start_timeout_s = 60,
  stall_timeout_s = 300,
  ...
) {
  check_call(...)
  task <- check_task(task)
  describe("cluster", "addresses", as.list(environment()), source = NULL)
}

# "worker 1" or list(type = "worker", index = 1)
check_task <- function(task) {
  if (is.null(task)) {
    return(NULL)
  }
  if (is.character(task) && length(task) == 1 && grepl("^[a-z_]+ [0-9]{1,6}$", task)) {
    parts <- strsplit(task, " ", fixed = TRUE)[[1]]
    task <- list(type = parts[[1]], index = as.integer(parts[[2]]))
  }
  if (!is.list(task) || !setequal(names(task), c("type", "index"))) {
    abort_argument(task, "a string such as \"worker 0\", or a list with type and index")
  }
  list(type = check_string(task$type), index = check_count(task$index, minimum = 0L))
}

check_cluster_argument <- function(cluster, null = FALSE) {
  check_class(
    cluster,
    "tfdistribute_cluster",
    "a cluster such as local_cluster(2)",
    null
  )
}

is_managed <- function(cluster) {
  inherits(cluster, c("tfdistribute_kubernetes_cluster", "tfdistribute_vertex_cluster"))
}

# The tasks of each role. Most clusters have numbers of tasks but no addresses.
count_tasks <- function(x) {
  counts <- if (x$kind == "addresses") {
    lengths(unclass(x)[cluster_roles])
  } else {
    c(chief = 1L, worker = max(x$workers) - 1L, ps = x$ps, evaluator = as.integer(x$evaluator))
  }
  counts[counts > 0]
}

# "chief 0", "worker 0", ...
task_names <- function(x) {
  counts <- count_tasks(x)
  unlist(
    Map(function(role, count) paste(role, seq_len(count) - 1L), names(counts), counts),
    use.names = FALSE
  )
}

# "chief 0, worker 0, worker 1", or "chief 0, worker 0 to 98".
show_task_names <- function(x) {
  counts <- count_tasks(x)
  if (sum(counts) <= 8) {
    return(toString(task_names(x)))
  }
  toString(paste0(names(counts), " 0", ifelse(counts > 1, paste(" to", counts - 1L), "")))
}

show_task <- function(task) {
  paste(task$type, task$index)
}

#' @export
`$<-.tfdistribute_cluster` <- function(x, name, value) {
  constructor <- if (x$kind == "addresses") "address_cluster" else paste0(x$kind, "_cluster")
  fields <- unclass_list(x)
  changed <- change_field(fields, name, value, constructor)
  if ("source" %in% names(x)) {
    changed["source"] <- x["source"]
  }
  changed
}

#' @export
`[[<-.tfdistribute_cluster` <- `$<-.tfdistribute_cluster`

# The lines of a printed cluster whose tasks are started for a job. `what` is a template for the words after the number
# of tasks, and `...` are values by their labels.
format_started <- function(x, what, ...) {
  values <- list(
    workers = if (length(x$workers) == 2) {
      paste0("at least ", x$workers[[1]], ", if hosts are lost")
    },
    ...,
    # The values of variables may be secret.
    variables = if (length(x$environment) > 0) toString(names(x$environment))
  )
  c(
    interpolate(c("<{x$kind}_cluster> {sum(count_tasks(x))} ", what)),
    paste0("  ", show_task_names(x)),
    sprintf("  %-10s %s", rep(names(values), lengths(values)), unlist(values))
  )
}

# "this machine", "2 hosts", "2 nodes of Slurm", "Ray" or "Kubernetes", for a message.
show_hosts <- function(x) {
  UseMethod("show_hosts")
}

#' @export
show_hosts.default <- function(x) {
  hosts <- length(unique(x$hosts))
  if (hosts == 0) "this machine" else several(hosts, "host")
}

show_devices <- function(x) {
  paste(x$devices_per_worker, "for each process that trains")
}

show_watched <- function(x, hosts = NULL) {
  interpolate(c(
    "{format(x$start_timeout_s)} s for the first step, ",
    "{format(x$stall_timeout_s)} s for any other, {x$restarts} restart{?s}",
    if (!is.null(hosts)) ", {hosts} lost after {format(x$lease_s)} s"
  ))
}

#' @export
format.tfdistribute_addresses_cluster <- function(x, ...) {
  shown <- Filter(length, unclass(x)[cluster_roles])
  shown <- vapply(shown, paste, "", collapse = ", ")
  if (!is.null(x$task)) {
    shown[["this task"]] <- show_task(x$task)
  }
  if (!is.null(x$source)) {
    shown[["read from"]] <- x$source
  }
  shown[["watched"]] <- interpolate(
    "{format(x$start_timeout_s)} s for a task to answer, {format(x$stall_timeout_s)} s for any step"
  )
  c(
    interpolate("<cluster> {sum(count_tasks(x))} task{?s}"),
    paste0("  ", format(names(shown)), "  ", shown)
  )
}

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
#' raised without another attempt. The number of workers is fixed, because all of them have the same host.
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
