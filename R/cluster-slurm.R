#' Describe a cluster on nodes that Slurm allocates
#'
#' Describes processes that train together on the nodes of a job of the Slurm workload manager: a chief, `workers - 1`
#' workers, and optional parameter servers and an evaluator. It is a plain R value and starts nothing. [train()],
#' [train_and_evaluate()] and [launch()] submit a job for an estimator with this cluster in its [run_config()]; its
#' script supervises the processes on the nodes. `job_script()` returns what `sbatch` would get.
#'
#' The job does not depend on this session. With `launch(wait = FALSE)` it has the same [handle][jobs] as one of a
#' [local_cluster()], and `find_job(model_dir)` returns the handle in another session. [train()] and `launch()` wait for
#' the end: Ctrl-C stops the job, and the end of the session does not.
#'
#' @section What it needs:
#' * `sbatch`, `squeue` and `scancel` on this machine, a login node, and `srun` and `scontrol` on the nodes.
#' * `model_dir` on a file system that this machine and the nodes share, under the same path, or remote storage; then
#'   the working directory is shared. Files that the input reads, R's library with this package, and Python likewise.
#'   Data in memory is written to the private folder of the job below `model_dir`, and removed with it.
#' * Ports that the nodes reach on each other.
#'
#' When the job starts, its first node checks the others as described in [ssh_cluster()], and everything that is wrong
#' is one error. The processes get the environment of a login on their node, what `setup` sets, and `environment`: no
#' variable of this session.
#' @section When the time is up:
#' Slurm signals the job `stop_signal_s` seconds before its time limit, or up to 60 seconds earlier. The chief writes a
#' checkpoint, all processes end, and with `requeue = TRUE` the job queues again under its number and continues from
#' there, as often as necessary. The same happens when Slurm takes the nodes back (a preemption) and when a node fails;
#' without a warning the job continues from the checkpoint before. After `scancel` and [stop_job()] the chief writes a
#' checkpoint, too, and the job has ended. A lost process is restarted as in a [local_cluster()].
#'
#' A node that was lost counts as such after `lease_s` seconds. If it does not come back within the restarts, and the
#' job has written a checkpoint since its last start, it queues again for other nodes; otherwise it fails and names the
#' node.
#' @section Arrays:
#' The elements of a job array would write one `model_dir`, so `options` refuses `--array`. Call [launch()] once for
#' each `model_dir`. In a script of your own, [cluster_from_environment()] gives each element of an array, and each
#' `srun`, a cluster of its own.
#'
#' @param nodes Nodes of the job, a count of at most `workers + ps`.
#' @param workers Processes that train, including the chief, a count of at most 1000; by default one for each node. The
#'   chief is on the first node, and the others follow in turn.
#' @param ps Parameter servers, a count of at most 1000; on the nodes in turn.
#' @param evaluator Whether an additional process, on the first node, evaluates checkpoints, TRUE or FALSE.
#' @param devices_per_worker Devices of each training process, a count; as in [local_cluster()].
#' @param time_limit Time after which Slurm ends the job, a string such as `"04:00:00"` (hours, minutes, seconds) or
#'   `"2-12"` (days, hours); NULL for that of the partition.
#' @param partition,account Partition and account, strings; NULL for Slurm's default.
#' @param options More options of `sbatch`, strings such as `"--cpus-per-task=8"`, `"--mem=32G"` or
#'   `"--gpus-per-node=2"`. Without `--cpus-per-task` or `--exclusive`, Slurm gives the job one core on each node.
#' @param setup Lines of shell that run on the first node before the job, strings such as `"module load R"`.
#' @param stop_signal_s Seconds before the time limit at which the training is saved, a count from 10 to 65535.
#' @param requeue Whether the job queues again when its time is up, Slurm takes its nodes back or a node is lost, TRUE
#'   or FALSE.
#' @param rscript Path of `Rscript` on the nodes, a string.
#' @param python Path of Python with TensorFlow on the nodes, a string; NULL for the path that it has in this session.
#' @param libraries Paths of R package libraries on the nodes, strings; NULL for those of this session.
#' @param environment Environment variables of all processes, strings with names. `TMPDIR` is the directory for the
#'   files of the job on the nodes.
#' @param lease_s Seconds after which a node that is out of reach counts as lost, a number of at least 5.
#' @inheritParams local_cluster
#' @param x For `job_script()`, a `slurm_cluster()`, or an estimator with one in its [run_config()].
#' @returns `slurm_cluster()`: a description of class `tfdistribute_slurm_cluster`, `tfdistribute_cluster`.
#'
#'   `job_script()`: the script as lines, strings of class `tfdistribute_job_script`. The private folder of a job has
#'   another name each time, and is shown as `tfdistribute-job-ID`.
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range. `job_script()`, [plan()] and
#'   [launch()] also refuse a time that Slurm would not read, and an option that follows from another argument.
#' * When a job is submitted, `tfdistribute_cluster_error`: Slurm does not accept it; `tfdistribute_backend_error`: this
#'   machine has no `sbatch`; `tfdistribute_model_directory_error`: another job trains in `model_dir`, or waits.
#' @references <https://slurm.schedmd.com/sbatch.html>
#' @family clusters
#' @examples
#' slurm_cluster(nodes = 2, time_limit = "04:00:00", options = "--cpus-per-task=8")
#' @examplesIf tfdistribute_available()
#' job_script(slurm_cluster(nodes = 2, partition = "long", setup = "module load R"))
#' @export
slurm_cluster <- function(
  nodes,
  workers = nodes,
  ps = 0,
  evaluator = TRUE,
  devices_per_worker = 1,
  time_limit = NULL,
  partition = NULL,
  account = NULL,
  options = NULL,
  setup = NULL,
  stop_signal_s = 120,
  requeue = TRUE,
  rscript = "Rscript",
  python = NULL,
  libraries = NULL,
  environment = NULL,
  lease_s = 30,
  start_timeout_s = 120,
  stall_timeout_s = 300,
  restarts = 3,
  ...
) {
  check_call()
  nodes <- check_count(nodes, maximum = most_processes)
  workers <- check_count(workers, maximum = most_processes)
  ps <- check_count(ps, minimum = 0L, maximum = most_processes)
  if (nodes > workers + ps) {
    abort_tfdistribute(
      "argument",
      problem = "`nodes` is {nodes}, more than all processes that train: `workers` and `ps` make {workers + ps}.",
      remedy = "Give at least one of them to each node.",
      argument = "nodes",
      value = nodes
    )
  }
  stop_signal_s <- check_count(stop_signal_s, minimum = 10L, maximum = 65535L)
  new_hosts_cluster(
    "slurm",
    nodes = nodes,
    workers = workers,
    ps = ps,
    evaluator = check_flag(evaluator),
    devices_per_worker = check_count(devices_per_worker),
    # Python checks that Slurm would read these texts.
    time_limit = check_string(time_limit, null = TRUE),
    partition = check_string(partition, null = TRUE),
    account = check_string(account, null = TRUE),
    options = if (length(options) > 0) check_strings(options) else character(),
    setup = if (length(setup) > 0) check_strings(setup) else character(),
    stop_signal_s = stop_signal_s,
    requeue = check_flag(requeue),
    rscript = rscript,
    python = python,
    libraries = libraries,
    environment = environment,
    lease_s = lease_s,
    start_timeout_s = start_timeout_s,
    stall_timeout_s = stall_timeout_s,
    restarts = restarts
  )
}

#' @rdname slurm_cluster
#' @export
job_script <- function(x, ...) {
  check_call()
  is_cluster <- inherits(x, "tfdistribute_slurm_cluster")
  cluster <- if (is_cluster) {
    x
  } else if (inherits(x, "tfdistribute_estimator")) {
    x$config$cluster
  }
  if (!inherits(cluster, "tfdistribute_slurm_cluster")) {
    abort_argument(x, "a slurm_cluster(), or an estimator with one in its run_config()")
  }
  script <- call_backend(
    "job_script",
    cluster = cluster,
    model_dir = if (!is_cluster) absolute_path(x$model_dir)
  )
  structure(strsplit(script, "\n", fixed = TRUE)[[1]], class = "tfdistribute_job_script")
}

#' @export
print.tfdistribute_job_script <- function(x, ...) {
  writeLines(unclass(x))
  invisible(x)
}

#' @export
count_tasks.tfdistribute_slurm_cluster <- function(x) {
  counts <- c(chief = 1L, worker = x$workers - 1L, ps = x$ps, evaluator = as.integer(x$evaluator))
  counts[counts > 0]
}

#' @export
format.tfdistribute_slurm_cluster <- function(x, ...) {
  asked <- c(
    if (!is.null(x$partition)) paste("partition", x$partition),
    if (!is.null(x$account)) paste("account", x$account),
    x$options
  )
  time <- if (is.null(x$time_limit)) "that of the partition" else x$time_limit
  c(
    interpolate(
      "<slurm_cluster> {sum(count_tasks(x))} process{?es} on {x$nodes} node{?s} of Slurm"
    ),
    paste0("  ", show_task_names(x)),
    paste0("  time limit ", time, if (x$requeue) ", queues again when the time is up"),
    if (length(asked) > 0) paste0("  options    ", toString(asked)),
    if (length(x$setup) > 0) paste0("  setup      ", x$setup),
    paste0("  devices    ", x$devices_per_worker, " for each process that trains"),
    interpolate(c(
      "  watched    {format(x$start_timeout_s)} s for the first step, ",
      "{format(x$stall_timeout_s)} s for any other, {x$restarts} restart{?s}, ",
      "nodes lost after {format(x$lease_s)} s"
    )),
    if (length(x$environment) > 0) {
      # Values may be secret.
      paste0("  variables  ", toString(names(x$environment)))
    }
  )
}
