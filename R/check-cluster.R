#' Check a cluster for mistakes
#'
#' TensorFlow accepts most mistakes in a cluster and then waits forever. `check_cluster()` lists all of them in less
#' than a second. It starts Python, but not TensorFlow, and contacts other machines only for name lookups. For an
#' [ssh_cluster()], it connects to the hosts by ssh, and for a [ray_cluster()], a [spark_cluster()] or a
#' [mirai_cluster()], it starts the actors or tasks, as before a training, which takes longer. For a
#' [kubernetes_cluster()], it asks the cluster with `kubectl`.
#'
#' The function reports these mistakes:
#' * In addresses: two tasks with the same address, a missing port, a port in use (with the process id of its owner),
#'   localhost among remote hosts, or an unknown host.
#' * In devices: more devices for each process than this machine has.
#' * In tasks: parameter servers without a chief, two chiefs, an evaluator inside `cluster`, a task that does not exist,
#'   an unknown role, or tasks with different clusters.
#' * In `TF_CONFIG`: invalid JSON (with the position), or a value that was set after TensorFlow started.
#' * In the batch: a size that cannot be divided evenly.
#' * In a [slurm_cluster()]: a job that `sbatch` would not accept. The nodes are checked when the job starts.
#' * In a [kubernetes_cluster()]: a `job_kind` or a `queue` that the cluster does not have. A note lists the kinds of
#'   job that it has.
#' * In an [ssh_cluster()]: hosts that cannot be reached by ssh, have other versions, cannot reach each other, or have
#'   GPUs that TensorFlow cannot use (with the command that installs the missing libraries).
#' * In a [ray_cluster()]: a Ray that cannot be used or cannot start the actors, and the same mistakes of their nodes.
#' * In a [spark_cluster()]: a Spark that cannot be used or has too few slots, and the same mistakes of its executors.
#' * In a [mirai_cluster()]: daemons that are not set or too few, and the same mistakes of their hosts.
#'
#' [train()] and [train_and_evaluate()] reject a `TF_CONFIG` with such a mistake. They ignore mistakes that may be
#' visible only from one machine, such as ports in use and hosts that are not found.
#'
#' @param cluster An [address_cluster()], [local_cluster()], [ssh_cluster()], [slurm_cluster()], [ray_cluster()],
#'   [spark_cluster()], [mirai_cluster()] or [kubernetes_cluster()], or the `TF_CONFIG` of one or several tasks, as
#'   strings or a list of strings. NULL (default) uses the environment's `TF_CONFIG`.
#' @param batch_size Global batch: examples of one training step over all replicas, a count. NULL checks no batch.
#' @param devices_per_worker Devices of each training process, a count, for a cluster that does not define it.
#' @returns A tibble of class `tfdistribute_check_cluster` with one row per mistake, so no rows mean that no mistake was
#'   found. The columns are `field` (the part of the cluster), `severity`, `message` and `fix`. The severity is
#'   `"error"`, or `"warning"` if only this machine may see a mistake. A host with NVIDIA GPUs adds a row with the
#'   severity `"note"`, which lists their names, memory and driver.
#' @section Errors: `tfdistribute_argument_error` if an argument has the wrong type or is out of range. Mistakes in the
#'   cluster are rows of the result.
#' @inherit as_tf_config references
#' @family clusters
#' @examplesIf tfdistribute_available()
#' check_cluster(address_cluster(
#'   chief = "localhost:2222",
#'   worker = c("192.0.2.1", "127.0.0.1:2222"),
#'   task = "worker 2"
#' ))
#' check_cluster(local_cluster(workers = 3), batch_size = 128)
#' @export
check_cluster <- function(cluster = NULL, batch_size = NULL, devices_per_worker = 1, ...) {
  check_call(...)
  batch_size <- check_count(batch_size, null = TRUE)
  devices_per_worker <- check_count(devices_per_worker)
  findings <- if (inherits(cluster, "tfdistribute_cluster")) {
    cluster <- open_daemons(cluster)
    members <- new_members(cluster)
    if (!is.null(members)) {
      on.exit(unlink(members$exchange, recursive = TRUE))
    }
    call_backend(
      "check_cluster",
      cluster = cluster,
      send_members = if (!is.null(members)) function() send_members(members),
      environment = if (is_on_hosts(cluster)) task_environment(cluster),
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
  found <- table_of(findings, field = "", severity = "", message = "", fix = "")
  structure(found, class = c("tfdistribute_check_cluster", class(found)))
}

tf_config_texts <- function(cluster) {
  if (is.null(cluster)) {
    cluster <- tf_config_text()
    if (!nzchar(cluster)) {
      abort_tfdistribute(
        "argument",
        problem = "`cluster` is NULL, and {tf_config_variable} is not set.",
        remedy = "Give an address_cluster(), a local_cluster(), or the text of {tf_config_variable}.",
        value = "NULL"
      )
    }
  }
  is_text <- function(text) is.character(text) && !anyNA(text)
  texts <- if (is.list(cluster)) cluster else list(cluster)
  if (length(texts) == 0 || !all(vapply(texts, is_text, NA)) || length(unlist(texts)) == 0) {
    abort_argument(cluster, "a cluster, TF_CONFIG strings, or NULL")
  }
  as_utf8(unlist(texts, use.names = FALSE), "cluster")
}

#' @export
print.tfdistribute_check_cluster <- function(x, ...) {
  if (!all(c("field", "severity", "message", "fix") %in% names(x))) {
    return(NextMethod())
  }
  writeLines(interpolate("<check_cluster> {sum(x$severity != 'note')} mistake{?s}"))
  fix <- ifelse(nzchar(x$fix), paste0("  -> ", x$fix, "\n"), "")
  cat(sprintf("%s: %s: %s\n%s", x$severity, x$field, x$message, fix), sep = "")
  invisible(x)
}
