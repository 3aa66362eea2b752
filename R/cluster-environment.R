tf_config_variable <- "TF_CONFIG"

# TF_CONFIG of this session; "" if it is not set.
tf_config_text <- function() {
  trimws(Sys.getenv(tf_config_variable))
}

#' Read the cluster from the environment
#'
#' Reads `TF_CONFIG`, in which cluster managers describe the cluster and the task of a process. Starts Python, but not
#' TensorFlow.
#'
#' @inheritParams cluster
#' @returns A [cluster()] with its `task` and, as `source`, the name of the variable. NULL if `TF_CONFIG` is not set, so
#'   `run_config(cluster = cluster_from_environment())` then means this process alone.
#' @section Errors: `tfdistribute_cluster_error`: `TF_CONFIG` is not JSON (the message gives the position), not in
#'   TensorFlow's form, or names a task that its cluster does not have. [cluster_check()] lists all mistakes at once.
#' @inherit as_tf_config references
#' @family clusters
#' @examplesIf tfdistribute_available()
#' cluster_from_environment()
#' @export
cluster_from_environment <- function(start_timeout_s = 60, stall_timeout_s = 300, ...) {
  check_call()
  start_timeout_s <- check_number(start_timeout_s, minimum = 1)
  stall_timeout_s <- check_number(stall_timeout_s, minimum = 1)
  text <- tf_config_text()
  if (!nzchar(text)) {
    return(NULL)
  }
  found <- call_backend("read_cluster", text = text)
  if (is.null(found)) {
    return(NULL)
  }
  unknown <- setdiff(names(found$cluster), cluster_roles)
  if (length(unknown) > 0) {
    abort_tfdistribute(
      "cluster",
      problem = "{tf_config_variable} has {show_value(unknown[[1]])}, which is not a role of a cluster.",
      remedy = "Use only {toString(cluster_roles)}.",
      argument = tf_config_variable,
      value = unknown[[1]]
    )
  }
  task <- if (!is.null(found$task_type)) list(type = found$task_type, index = found$task_index)
  others <- list(task = task, start_timeout_s = start_timeout_s, stall_timeout_s = stall_timeout_s)
  described <- do.call(cluster, c(lapply(found$cluster, as.character), others))
  described["source"] <- list(tf_config_variable)
  described
}
