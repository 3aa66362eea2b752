# Clusters whose addresses are known, and what all clusters have in common.

cluster_roles <- c("chief", "worker", "ps", "evaluator")

#' Describe a cluster: the processes that train together
#'
#' Says who takes part, and where. A plain R value: nothing is started, and no address is tried;
#' [cluster_check()] lists all mistakes at once, [plan()] says what each task would do, and [as_tf_config()] writes the
#' `TF_CONFIG` of each.
#'
#' In a [run_config()], a cluster whose tasks are all on this machine is started by [train()], [train_and_evaluate()]
#' and [launch()], if it does not say which task this process is. With `task`, this process trains as that task. A
#' cluster on several machines is started by starting the same script on each, with the `TF_CONFIG` that
#' [as_tf_config()] writes. [evaluate()], `predict()` and [export_savedmodel()] use this machine alone, whatever the
#' cluster.
#'
#' @param chief Address of the task that leads and writes checkpoints, a string `"host:port"`; NULL: the first worker
#'   does. Needed with `ps`.
#' @param worker Addresses of further tasks that train, strings.
#' @param ps Addresses of parameter servers, strings.
#' @param evaluator Host of the task that evaluates checkpoints, a string; it needs no port, because it does not listen.
#' @param task Which of the tasks this process is, a string such as `"worker 1"` (TensorFlow counts from 0), or a list
#'   with `type` and `index`; NULL for none of them.
#' @return A description of class `tfdistribute_addresses_cluster`, `tfdistribute_cluster`.
#' @section Errors:
#' `tfdistribute_cluster_error` for text that is no address, for example with characters that a shell would interpret;
#' `tfdistribute_argument_error`.
#' @section Source:
#' <https://www.tensorflow.org/guide/distributed_training>, "Setting up the TF_CONFIG environment variable"
#' @family clusters
#' @examples
#' cluster(
#'   chief = "host-a:2222",
#'   worker = c("host-b:2222", "host-c:2222"),
#'   evaluator = "host-a"
#' )
#' @export
cluster <- function(chief = NULL, worker = NULL, ps = NULL, evaluator = NULL, task = NULL) {
  described <- new_description(
    "cluster",
    "addresses",
    chief = check_addresses(chief, "chief"),
    worker = check_addresses(worker, "worker"),
    ps = check_addresses(ps, "ps"),
    evaluator = check_addresses(evaluator, "evaluator"),
    task = check_task(task),
    source = NULL
  )
  if (length(unlist(described[c("chief", "worker", "ps")])) == 0) {
    abort_tfdistribute(
      "cluster",
      problem = "The cluster has no task that trains.",
      remedy = "Give it a `chief`, or a `worker`.",
      argument = "chief"
    )
  }
  described
}

# Addresses reach command lines: nothing that a shell, ssh or a path would read as more than a name.
address_pattern <- paste0(
  "^(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?)",
  "(:[A-Za-z0-9]{0,9})?$"
)

check_addresses <- function(value, argument) {
  if (length(value) == 0) {
    return(character())
  }
  value <- check_strings(if (is.list(value)) unlist(value) else value, argument)
  # Bytes, so that no locale's letters count as letters.
  wrong <- value[!grepl(address_pattern, value, useBytes = TRUE, perl = TRUE) | grepl("\n", value)]
  if (length(wrong) > 0) {
    abort_tfdistribute(
      "cluster",
      problem = paste0("`", argument, "` holds ", show_value(wrong[[1]]), ", which is no address."),
      remedy = "Write \"host:port\" with letters, digits, dots and hyphens.",
      argument = argument,
      value = wrong[[1]]
    )
  }
  value
}

# "worker 1" or list(type = "worker", index = 1)
check_task <- function(task, argument = "task") {
  if (is.null(task)) {
    return(NULL)
  }
  if (is.character(task) && length(task) == 1 && grepl("^[a-z_]+ [0-9]{1,6}$", task)) {
    parts <- strsplit(task, " ", fixed = TRUE)[[1]]
    task <- list(type = parts[[1]], index = as.integer(parts[[2]]))
  }
  if (!is.list(task) || !setequal(names(task), c("type", "index"))) {
    abort_argument(argument, task, "a string such as \"worker 0\", or a list with type and index")
  }
  list(
    type = check_string(task$type, paste0(argument, "$type")),
    index = check_count(task$index, paste0(argument, "$index"), minimum = 0L)
  )
}

check_cluster_argument <- function(value, argument = "cluster", null = FALSE) {
  check_class(value, argument, "tfdistribute_cluster", "a cluster() or local_cluster()", null)
}

# How many tasks there are of each role that has any.
count_tasks <- function(x) {
  UseMethod("count_tasks")
}

#' @export
count_tasks.tfdistribute_addresses_cluster <- function(x) {
  counts <- lengths(unclass(x)[cluster_roles])
  counts[counts > 0]
}

# "chief 0", "worker 0", ...
task_names <- function(x) {
  counts <- count_tasks(x)
  unlist(
    Map(function(role, count) paste(role, seq_len(count) - 1L), names(counts), counts),
    use.names = FALSE
  )
}

show_task <- function(task) {
  paste(task$type, task$index)
}

#' @export
print.tfdistribute_cluster <- function(x, ...) {
  writeLines(format(x, ...))
  invisible(x)
}

#' @export
format.tfdistribute_addresses_cluster <- function(x, ...) {
  count <- sum(count_tasks(x))
  shown <- Filter(length, unclass(x)[cluster_roles])
  shown <- vapply(shown, paste, "", collapse = ", ")
  if (!is.null(x$task)) {
    shown[["this task"]] <- show_task(x$task)
  }
  if (!is.null(x$source)) {
    shown[["read from"]] <- x$source
  }
  c(
    paste0("<cluster> ", count, if (count == 1) " task" else " tasks"),
    paste0("  ", format(names(shown)), "  ", shown)
  )
}
