tf_config_variable <- "TF_CONFIG"

# TF_CONFIG of this session; "" if it is not set.
tf_config_text <- function() {
  trimws(Sys.getenv(tf_config_variable))
}

environment_variables <- c(
  tf_config_variable,
  "SLURM_JOB_ID",
  "SLURM_STEP_ID",
  "SLURM_PROCID",
  "SLURM_NTASKS",
  "SLURM_STEP_NODELIST",
  "SLURM_STEP_TASKS_PER_NODE",
  "CLUSTER_SPEC"
)

#' Read the cluster from the environment
#'
#' Reads the variables in which cluster managers describe the cluster and the task of a process; the first of these that
#' describes one counts:
#' * `TF_CONFIG`, which Kubernetes' training operators and this package write;
#' * the variables of Slurm, in a script that `srun` started: `srun --ntasks=4 Rscript train.R`. Task 0 is the chief,
#'   the others are workers. Their ports follow from the numbers of job and step, from 20000 on;
#' * `CLUSTER_SPEC`, which Vertex AI writes for custom containers.
#'
#' Starts Python if one is set, but not TensorFlow.
#'
#' @inheritParams cluster
#' @returns A [cluster()] with its `task` and, as `source`, the name of the variable, for Slurm `"SLURM_JOB_ID"`. NULL
#'   if none is set, or Slurm started a single task, so `run_config(cluster = cluster_from_environment())` then means
#'   this process alone.
#' @section Errors: `tfdistribute_cluster_error`: a variable cannot be read (for `TF_CONFIG` the message gives the
#'   position), or names a task that its cluster does not have; or this process is the script of a Slurm job with
#'   several tasks, which `srun` must start. [cluster_check()] lists all mistakes in `TF_CONFIG` at once.
#' @references
#' * <https://www.tensorflow.org/guide/distributed_training>, "Setting up the TF_CONFIG environment variable".
#' * <https://slurm.schedmd.com/srun.html>, "Output environment variables".
#' * <https://cloud.google.com/vertex-ai/docs/training/distributed-training>, "Format CLUSTER_SPEC".
#' @family clusters
#' @examplesIf tfdistribute_available()
#' cluster_from_environment()
#' @export
cluster_from_environment <- function(start_timeout_s = 60, stall_timeout_s = 300, ...) {
  check_call()
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
  unknown <- setdiff(names(found$cluster), cluster_roles)
  if (length(unknown) > 0) {
    abort_tfdistribute(
      "cluster",
      problem = "{found$source} has {show_value(unknown[[1]])}, which is not a role of a cluster.",
      remedy = "Use only {toString(cluster_roles)}.",
      argument = found$source,
      value = unknown[[1]]
    )
  }
  task <- if (!is.null(found$task_type)) list(type = found$task_type, index = found$task_index)
  others <- list(task = task, start_timeout_s = start_timeout_s, stall_timeout_s = stall_timeout_s)
  described <- do.call(cluster, c(lapply(found$cluster, as.character), others))
  described["source"] <- list(found$source)
  described
}
