#' Find all mistakes of a cluster at once
#'
#' TensorFlow accepts most mistakes of a cluster and then waits for ever. This lists them in less than a second: an
#' address that two tasks have, localhost among remote hosts, a missing port, a port that is taken (with its owner's
#' process id), no chief for parameter servers, two chiefs, an evaluator inside the `cluster`, a task that is not there,
#' an unknown role, tasks that are told of different clusters, a host that is not found, TF_CONFIG that is not JSON
#' (with the place) or was set after TensorFlow was started, and a batch that cannot be divided. Starts Python, but not
#' TensorFlow, and sends nothing to other machines but questions to the name service.
#'
#' @param cluster A [cluster()] or [local_cluster()]; or the TF_CONFIGs of one task or of several, as strings or a list
#'   of strings; NULL for the TF_CONFIG of the environment.
#' @param batch_size Examples of one training step over all replicas, a count; NULL checks no batch.
#' @param devices_per_worker Devices of each process that trains, a count, where the cluster does not say.
#' @return A tibble of class `tfdistribute_cluster_check` with a row per mistake and the columns `field` (where it is),
#'   `severity` (`"error"`, or `"warning"` for what may only look so from this machine), `message` and `fix`. No rows
#'   when all is well.
#' @section Errors:
#' `tfdistribute_argument_error`; mistakes of the cluster are rows.
#' @inheritSection as_tf_config Source
#' @seealso `python -m tfdistribute check` does the same on a command line.
#' @family clusters
#' @examplesIf tfdistribute_available()
#' cluster_check(cluster(
#'   chief = "localhost:2222",
#'   worker = c("192.0.2.1", "localhost:2222"),
#'   task = "worker 2"
#' ))
#' cluster_check(local_cluster(workers = 3), batch_size = 128)
#' @export
cluster_check <- function(cluster = NULL, batch_size = NULL, devices_per_worker = 1) {
  batch_size <- check_count(batch_size, "batch_size", null = TRUE)
  devices_per_worker <- check_count(devices_per_worker, "devices_per_worker")
  findings <- if (inherits(cluster, "tfdistribute_cluster")) {
    call_backend(
      "check_cluster",
      cluster = cluster,
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
    cluster <- trimws(Sys.getenv("TF_CONFIG"))
    if (!nzchar(cluster)) {
      abort_tfdistribute(
        "argument",
        problem = "`cluster` is NULL, and TF_CONFIG is not set.",
        remedy = "Give a cluster(), a local_cluster(), or the text of TF_CONFIG.",
        argument = "cluster",
        value = "NULL"
      )
    }
  }
  is_text <- function(text) is.character(text) && !anyNA(text)
  texts <- if (is.list(cluster)) cluster else list(cluster)
  if (length(texts) == 0 || !all(vapply(texts, is_text, NA)) || length(unlist(texts)) == 0) {
    abort_argument("cluster", cluster, "a cluster, TF_CONFIGs as strings, or NULL")
  }
  unlist(lapply(texts, as.vector), use.names = FALSE)
}

#' @export
print.tfdistribute_cluster_check <- function(x, ...) {
  if (!all(c("field", "severity", "message", "fix") %in% names(x))) {
    return(NextMethod())
  }
  count <- nrow(x)
  cat("<cluster_check> ", count, if (count == 1) " mistake\n" else " mistakes\n", sep = "")
  cat(sprintf("%s: %s: %s\n  -> %s\n", x$severity, x$field, x$message, x$fix), sep = "")
  invisible(x)
}
