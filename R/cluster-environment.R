#' The cluster that the environment describes
#'
#' Reads `TF_CONFIG`, by which cluster managers tell a process who takes part and which task it is. Starts Python, but
#' not TensorFlow.
#'
#' @return A [cluster()] with its `task`; its `source`, which is printed too, is the name of the variable that was read.
#'   NULL where `TF_CONFIG` is not set, so that `run_config(cluster = cluster_from_environment())` means this process
#'   alone.
#' @section Errors:
#' `tfdistribute_cluster_error` when `TF_CONFIG` is not JSON (with the place), not of TensorFlow's form, or names a task
#' that its cluster does not have. [cluster_check()] lists all mistakes at once.
#' @inheritSection as_tf_config Source
#' @family clusters
#' @examplesIf tfdistribute_available()
#' cluster_from_environment()
#' @export
cluster_from_environment <- function() {
  text <- trimws(Sys.getenv("TF_CONFIG"))
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
      problem = paste0(
        "TF_CONFIG has ",
        show_value(unknown[[1]]),
        ", which is no role of a cluster."
      ),
      remedy = paste0("Use only ", paste(cluster_roles, collapse = ", "), "."),
      argument = "TF_CONFIG",
      value = unknown[[1]]
    )
  }
  task <- if (!is.null(found$task_type)) list(type = found$task_type, index = found$task_index)
  described <- do.call(cluster, c(lapply(found$cluster, as.character), list(task = task)))
  described["source"] <- list("TF_CONFIG")
  described
}
