#' Describe a cluster on nodes that Slurm allocates
#'
#' Describes processes that train together on the nodes of a job of the Slurm workload manager: a chief, `workers - 1`
#' workers, and optional parameter servers and an evaluator. It is a plain R value and starts nothing. [train()],
#' [train_and_evaluate()] and [launch()] submit a job for an estimator with this cluster in its [run_config()]. The
#' job's script supervises the processes on the nodes. `job_script()` returns the script for `sbatch`.
#'
#' The job does not depend on this session. `launch(wait = FALSE)` returns the same [handle][jobs] as for a
#' [local_cluster()], and `job_find(model_dir)` returns the handle in another session. [train()] and `launch()` wait for
#' the end. Ctrl-C stops the job, but the end of the session does not.
#'
#' @section Requirements:
#' * `sbatch`, `squeue` and `scancel` on this machine, a login node, and `srun` and `scontrol` on the nodes.
#' * `model_dir` on a file system that this machine and the nodes share under the same path, or on remote storage. With
#'   remote storage, the working directory must be shared. Files that the input reads, the R library with this package,
#'   and Python must also be available on the nodes. Data in memory is written to the private folder of the job below
#'   `model_dir`, and removed with it.
#' * Ports that the nodes can reach on each other.
#'
#' When the job starts, its first node checks the other nodes as described in [ssh_cluster()], and reports all problems
#' in one error. The processes get the environment of a login on their node, the variables that `setup` sets, and
#' `environment`, but no variable of this session.
#' @section When the time is up:
#' Slurm signals the job `stop_signal_s` seconds before its time limit, or up to 60 seconds earlier. The chief writes a
#' checkpoint, and all processes end. With `requeue = TRUE`, the job queues again under its number and continues from
#' the checkpoint, as often as necessary. The same happens when Slurm takes the nodes back (a preemption) and when a
#' node fails. Without a warning, the job continues from the previous checkpoint. After `scancel` and [job_stop()], the
#' chief also writes a checkpoint, and the job ends. A lost process is restarted as in a [local_cluster()].
#'
#' A node counts as lost after `lease_s` seconds. If it does not come back within the restarts, and the job has written
#' a checkpoint since its last start, the job queues again for other nodes. Otherwise it fails and names the node. The
#' number of workers is fixed, because Slurm removes a node that has failed from the job.
#' @section Arrays:
#' The elements of a job array would write to one `model_dir`, so `options` rejects `--array`. Call [launch()] once for
#' each `model_dir`. In your own script, [cluster_from_environment()] returns a separate cluster for each element of an
#' array and for each `srun`.
#'
#' @eval help_of("slurm_cluster")
#' @param object For `job_script()`, a `slurm_cluster()`, or an estimator with one in its [run_config()].
#' @returns `slurm_cluster()`: a description of class `tfdistribute_slurm_cluster`, `tfdistribute_cluster`.
#'
#' `job_script()`: the lines of the script, strings of class `tfdistribute_job_script`. The private folder of a job has
#' a different name each time, and is shown as `tfdistribute-job-ID`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range. `job_script()`,
#'   [plan_training()] and [launch()] also reject a time that Slurm cannot read, and an option that follows from another
#'   argument.
#' * `tfdistribute_cluster_error`, when a job is submitted, if Slurm does not accept it.
#' * `tfdistribute_backend_error`, when a job is submitted, if this machine has no `sbatch`.
#' * `tfdistribute_model_directory_error`, when a job is submitted, if another job trains or waits in `model_dir`.
#' @references <https://slurm.schedmd.com/sbatch.html>
#' @family clusters
#' @examples
#' slurm_cluster(nodes = 2, time_limit = "04:00:00", options = "--cpus-per-task=8")
#' @examplesIf tfdistribute_available()
#' job_script(slurm_cluster(nodes = 2, partition = "long", setup = "module load R"))
#' @export
slurm_cluster <- function(
  # Fields of cluster$slurm
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
  check_call(...)
  describe("cluster", "slurm", as.list(environment()))
}

#' @rdname slurm_cluster
#' @export
job_script <- function(object, ...) {
  check_call(...)
  is_cluster <- inherits(object, "tfdistribute_slurm_cluster")
  cluster <- if (is_cluster) {
    object
  } else if (inherits(object, "tfdistribute_estimator")) {
    object$config$cluster
  }
  if (!inherits(cluster, "tfdistribute_slurm_cluster")) {
    abort_argument(object, "a slurm_cluster(), or an estimator with one in its run_config()")
  }
  script <- call_backend(
    "job_script",
    cluster = cluster,
    model_dir = if (!is_cluster) absolute_path(object$model_dir)
  )
  structure(strsplit(script, "\n", fixed = TRUE)[[1]], class = "tfdistribute_job_script")
}

#' @export
print.tfdistribute_job_script <- function(x, ...) {
  writeLines(unclass(x))
  invisible(x)
}

#' @export
format.tfdistribute_slurm_cluster <- function(x, ...) {
  asked <- c(
    if (!is.null(x$partition)) paste("partition", x$partition),
    if (!is.null(x$account)) paste("account", x$account),
    x$options
  )
  time <- if (is.null(x$time_limit)) "of the partition" else x$time_limit
  format_started(
    x,
    paste("process{?es} on", several(x$nodes, "node"), "of Slurm"),
    `time limit` = paste0(time, if (x$requeue) ", queues again when the time is up"),
    options = if (length(asked) > 0) toString(asked),
    setup = x$setup,
    devices = show_devices(x),
    watched = show_watched(x, "nodes")
  )
}

#' @export
show_hosts.tfdistribute_slurm_cluster <- function(x) {
  paste(several(x$nodes, "node"), "of Slurm")
}
