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
