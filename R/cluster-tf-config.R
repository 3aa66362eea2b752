#' Write TF_CONFIG for the tasks of a cluster
#'
#' Returns the JSON text that describes a cluster and a task for TensorFlow. Set it as the environment variable
#' `TF_CONFIG` of the process that performs the task. As TensorFlow requires, the `cluster` dictionary does not contain
#' the evaluator.
#'
#' @param cluster An [address_cluster()], or a [local_cluster()] for which the function chooses ports that are currently
#'   free. Choosing ports starts Python but not TensorFlow.
#' @param task One of the tasks, as in [address_cluster()]. NULL (default) returns all tasks.
#' @returns For one task, a JSON string of class `tfdistribute_tf_config_text`. For all tasks, a list of such strings
#'   with the tasks as names.
#' @section Errors: `tfdistribute_cluster_error` if the cluster does not have the task, or if `task` is set for a
#'   [local_cluster()], which has different ports in each call.
#' @references <https://www.tensorflow.org/guide/distributed_training>, "Setting up the TF_CONFIG environment variable"
#' @family clusters
#' @examples
#' two <- address_cluster(chief = "host-a:2222", worker = "host-b:2222", evaluator = "host-a")
#' as_tf_config(two, "worker 0")
#' names(as_tf_config(two))
#' @export
as_tf_config <- function(cluster, task = NULL, ...) {
  check_call(...)
  check_cluster_argument(cluster)
  task <- check_task(task)
  if (inherits(cluster, "tfdistribute_local_cluster")) {
    cluster <- with_free_ports(cluster, task)
  }
  if (is_on_hosts(cluster) || is_managed(cluster)) {
    abort_tfdistribute(
      "cluster",
      problem = "The addresses of {cluster$kind}_cluster() are not known before its tasks are started.",
      remedy = "Describe hosts whose tasks you start yourself by address_cluster().",
      argument = "cluster"
    )
  }
  names <- task_names(cluster)
  if (is.null(task)) {
    return(lapply(rlang::set_names(names), function(name) {
      write_tf_config(cluster, check_task(name))
    }))
  }
  if (!show_task(task) %in% names) {
    abort_tfdistribute(
      "cluster",
      problem = "`task` is {show_task(task)}, which the cluster does not have.",
      remedy = "Use one of {toString(names)}.",
      value = show_task(task)
    )
  }
  write_tf_config(cluster, task)
}

with_free_ports <- function(cluster, task) {
  if (!is.null(task)) {
    abort_tfdistribute(
      "cluster",
      problem = "`task` is {show_task(task)}, but a local_cluster() gets different ports in each call.",
      remedy = "Leave `task` out to get the TF_CONFIG of every task from one call.",
      value = show_task(task)
    )
  }
  counts <- count_tasks(cluster)
  listening <- counts[names(counts) != "evaluator"]
  ports <- unlist(call_backend("free_ports", count = sum(listening)))
  addresses <- split(paste0("127.0.0.1:", ports), rep(names(listening), listening))
  do.call("address_cluster", c(addresses, if (cluster$evaluator) list(evaluator = "127.0.0.1")))
}

write_tf_config <- function(cluster, task) {
  roles <- Filter(length, unclass(cluster)[setdiff(cluster_roles, "evaluator")])
  in_json <- function(text) as.character(jsonlite::toJSON(text, auto_unbox = TRUE))
  lists <- vapply(roles, function(each) toString(vapply(each, in_json, "")), "")
  structure(
    sprintf(
      '{"cluster": {%s}, "task": {"type": "%s", "index": %d}}',
      paste0('"', names(roles), '": [', lists, "]", collapse = ", "),
      task$type,
      task$index
    ),
    class = "tfdistribute_tf_config_text"
  )
}

#' @export
print.tfdistribute_tf_config_text <- function(x, ...) {
  cat("<TF_CONFIG>\n", unclass(x), "\n", sep = "")
  invisible(x)
}

tf_config_variable <- "TF_CONFIG"

# TF_CONFIG of this session, or "" if it is not set.
tf_config_text <- function() {
  trimws(Sys.getenv(tf_config_variable))
}

# fmt: skip
environment_variables <- c(
  tf_config_variable, "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_NTASKS",
  "SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE", "CLUSTER_SPEC"
)

#' Read the cluster from the environment
#'
#' Reads the variables in which cluster managers describe the cluster and the task of a process. It uses the first of
#' these variables that describes a cluster:
#' * `TF_CONFIG`, which Kubernetes' training operators and this package write.
#' * The variables of Slurm, in a script that `srun` starts, as in `srun --ntasks=4 Rscript train.R`. Task 0 is the
#'   chief, and the other tasks are workers. Their ports are derived from the numbers of the job and the step, starting
#'   at 20000.
#' * `CLUSTER_SPEC`, which Vertex AI writes for custom containers.
#'
#' If one of the variables is set, the function starts Python, but not TensorFlow.
#'
#' @inheritParams address_cluster
#' @returns An [address_cluster()] with its `task` and, as `source`, the name of the variable (`"SLURM_JOB_ID"` for
#'   Slurm). NULL if no variable is set or Slurm started a single task. In this case,
#'   `run_config(cluster = cluster_from_environment())` trains with this process alone.
#' @section Errors: `tfdistribute_cluster_error` if a variable cannot be read (the message for `TF_CONFIG` contains the
#'   position) or names a task that its cluster does not have, or if this process is the script of a Slurm job with
#'   several tasks, which `srun` must start. [check_cluster()] lists all mistakes in `TF_CONFIG` together.
#' @references
#' * <https://www.tensorflow.org/guide/distributed_training>, "Setting up the TF_CONFIG environment variable"
#' * <https://slurm.schedmd.com/srun.html>, "Output environment variables"
#' * <https://cloud.google.com/vertex-ai/docs/training/distributed-training>, "Format CLUSTER_SPEC"
#' @family clusters
#' @examplesIf tfdistribute_available()
#' cluster_from_environment()
#' @export
cluster_from_environment <- function(start_timeout_s = 60, stall_timeout_s = 300, ...) {
  check_call(...)
  start_timeout_s <- check_number(start_timeout_s, minimum = 1)
  stall_timeout_s <- check_number(stall_timeout_s, minimum = 1)
  variables <- Sys.getenv(environment_variables, names = TRUE)
  variables <- variables[nzchar(trimws(variables))]
  if (!any(c(tf_config_variable, "SLURM_JOB_ID", "CLUSTER_SPEC") %in% names(variables))) {
    return(NULL)
  }
  found <- call_backend("read_cluster", environment = as.list(variables))
  if (is.null(found)) {
    return(NULL)
  }
  roles <- names(found$cluster)
  check_texts(
    roles,
    roles %in% cluster_roles,
    why = "is not a role of a cluster",
    remedy = "Use only {toString(cluster_roles)}.",
    argument = found$source
  )
  task <- if (!is.null(found$task_type)) list(type = found$task_type, index = found$task_index)
  others <- list(task = task, start_timeout_s = start_timeout_s, stall_timeout_s = stall_timeout_s)
  described <- do.call(address_cluster, c(lapply(found$cluster, as.character), others))
  described["source"] <- list(found$source)
  described
}
