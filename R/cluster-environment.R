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
