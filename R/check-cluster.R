#' Check a cluster for mistakes
#'
#' TensorFlow accepts most mistakes in a cluster and then waits forever. This function lists them all in less than a
#' second. It starts Python, but not TensorFlow, and contacts other machines only for name lookups. The hosts of an
#' [ssh_cluster()] are contacted by ssh, as before a training, which takes longer.
#'
#' It reports:
#' * addresses: the same one for two tasks, a missing port, a port in use (with the process id of its owner), localhost
#'   among remote hosts, an unknown host;
#' * more devices for each process than this machine has;
#' * tasks: parameter servers without a chief, two chiefs, an evaluator inside `cluster`, a task that does not exist, an
#'   unknown role, tasks with different clusters;
#' * TF_CONFIG: not JSON (with the position), or set after TensorFlow started;
#' * a batch that cannot be divided evenly;
#' * a [slurm_cluster()] whose job `sbatch` would not accept. The nodes are checked when the job starts;
#' * hosts of an [ssh_cluster()] that cannot be reached by ssh, have other versions, cannot reach each other, or have
#'   GPUs that TensorFlow cannot use (with the command that installs what it lacks).
#'
#' [train()] and [train_and_evaluate()] refuse a `TF_CONFIG` with such a mistake, except for those that may only look
#' wrong from one machine: ports in use and hosts that are not found.
#'
#' @param cluster A [cluster()], [local_cluster()], [ssh_cluster()] or [slurm_cluster()]; the TF_CONFIG of one or
#'   several tasks, as strings or a list of strings; or NULL (default) for the environment's TF_CONFIG.
#' @param batch_size Global batch: examples of one training step over all replicas, a count; NULL checks no batch.
#' @param devices_per_worker Devices of each training process, a count, if the cluster does not say.
#' @param ... Must be empty.
#' @returns A tibble of class `tfdistribute_cluster_check` with one row per mistake, and none if all is well. Columns:
#'   `field` (where it is), `severity` (`"error"`, or `"warning"` if it may only look wrong from this machine),
#'   `message` and `fix`. A host with NVIDIA GPUs adds a row that is no mistake, with the severity `"note"`: their
#'   names, memory and driver.
#' @section Errors: `tfdistribute_argument_error`: an argument has the wrong type or is out of range. Mistakes in the
#'   cluster are rows of the result.
#' @inherit as_tf_config references
#' @seealso `python -m tfdistribute check` does the same on the command line.
#' @family clusters
#' @examplesIf tfdistribute_available()
#' cluster_check(cluster(
#'   chief = "localhost:2222",
#'   worker = c("192.0.2.1", "127.0.0.1:2222"),
#'   task = "worker 2"
#' ))
#' cluster_check(local_cluster(workers = 3), batch_size = 128)
#' @export
cluster_check <- function(cluster = NULL, batch_size = NULL, devices_per_worker = 1, ...) {
  check_call()
  batch_size <- check_count(batch_size, null = TRUE)
  devices_per_worker <- check_count(devices_per_worker)
  findings <- if (inherits(cluster, "tfdistribute_cluster")) {
    call_backend(
      "check_cluster",
      cluster = cluster,
      environment = if (inherits(cluster, "tfdistribute_ssh_cluster")) task_environment(cluster),
      devices_per_worker = devices_per_worker,
      batch_size = batch_size
    )
  } else {
    call_backend(
      "check_tf_config",
      texts = tf_config_texts(cluster),
      devices_per_worker = devices_per_worker,
      batch_size = batch_size,
      of_this_process = is.null(cluster)
    )
  }
  column <- function(name) vapply(findings, function(finding) finding[[name]], "")
  found <- tibble::tibble(
    field = column("field"),
    severity = column("severity"),
    message = column("message"),
    fix = column("fix")
  )
  structure(found, class = c("tfdistribute_cluster_check", class(found)))
}

tf_config_texts <- function(cluster) {
  if (is.null(cluster)) {
    cluster <- tf_config_text()
    if (!nzchar(cluster)) {
      abort_tfdistribute(
        "argument",
        problem = "`cluster` is NULL, and {tf_config_variable} is not set.",
        remedy = "Give a cluster(), a local_cluster(), or the text of {tf_config_variable}.",
        argument = "cluster",
        value = "NULL"
      )
    }
  }
  is_text <- function(text) is.character(text) && !anyNA(text)
  texts <- if (is.list(cluster)) cluster else list(cluster)
  if (length(texts) == 0 || !all(vapply(texts, is_text, NA)) || length(unlist(texts)) == 0) {
    abort_argument(cluster, "a cluster, TF_CONFIG strings, or NULL")
  }
  unlist(lapply(texts, as.vector), use.names = FALSE)
}

#' @export
print.tfdistribute_cluster_check <- function(x, ...) {
  if (!all(c("field", "severity", "message", "fix") %in% names(x))) {
    return(NextMethod())
  }
  writeLines(interpolate("<cluster_check> {sum(x$severity != 'note')} mistake{?s}"))
  fix <- ifelse(nzchar(x$fix), paste0("  -> ", x$fix, "\n"), "")
  cat(sprintf("%s: %s: %s\n%s", x$severity, x$field, x$message, fix), sep = "")
  invisible(x)
}
