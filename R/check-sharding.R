#' Check that workers read every row once
#'
#' Runs the training pipelines of all workers one after another in this process and compares the rows that they read
#' with the rows that one pipeline alone reads. It finds what TensorFlow does without a word: a function of your own
#' that does not divide its data gives every worker every row; one that shuffles without a seed before it divides loses
#' some rows and doubles others. Nothing is trained, and no other process starts.
#'
#' Rows are recognised by the values of all features and of the response. Rows that are twice in the data have to be
#' read twice. The whole input is read once for every worker and once more, so that it has to end; where it is large,
#' check a part of it that is built the same way.
#'
#' @param input An input, such as [input_fn()] makes, or a function that returns a `tf.data.Dataset`.
#' @param cluster How many workers there are, the chief included: a count, or a description of a cluster.
#' @param replicas Devices of each worker, a count; they train in step with those of all workers. NULL: the workers
#'   train out of step, as under [strategy_parameter_server()], and take whole batches in turns.
#' @param epochs Passes over the rows to check, a count. A function of your own makes its own number of passes.
#' @param x An audit.
#' @param ... Ignored.
#' @return A list of class `sharding_audit`:
#' * `ok`: TRUE where every row is read as often as by one pipeline alone, and all workers that train in step have the
#'   same number of steps.
#' * `rows`: what one pipeline alone reads, a count.
#' * `rows_missing`: rows that no worker reads; `rows_repeated`: readings of a row beyond those of one pipeline;
#'   `rows_unknown`: rows that one pipeline alone does not read, as from a function that draws new numbers each time.
#' * `steps_agree`: FALSE where a worker that trains in step ends before the others, which would wait for ever.
#' * `workers`: a tibble with the columns `worker` (from 0), `rows`, `steps`, `smallest_batch` and `largest_batch`
#'   (examples that one replica gets, NA without rows) and `seed` (of the shuffle, NA where the input does not say).
#' @section Errors:
#' `tfdistribute_sharding_error`: the batch or the rows cannot be divided over so many replicas.
#' `tfdistribute_input_error`: the input cannot be read, or does not end. `tfdistribute_argument_error`: `cluster`,
#' `replicas` or `epochs` is no such value. `tfdistribute_callback_error`: a function of yours failed.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/distribute/InputContext>: what each pipeline is told.
#' @seealso [input_dataset()], [input_fn()]
#' @examplesIf tfdistribute_available()
#' check_sharding(input_fn(mpg ~ wt + hp, mtcars, batch_size = 6), 3)
#'
#' # Without looking at input_context, each of two workers reads everything.
#' everything <- input_dataset(function() {
#'   tf <- reticulate::import("tensorflow")
#'   tf$data$Dataset$range(40L)$batch(8L)
#' })
#' check_sharding(everything, 2)
#' @export
check_sharding <- function(input, cluster = 2, replicas = 1, epochs = 1) {
  input <- as_input(input)
  workers <- count_workers(cluster)
  replicas <- check_count(replicas, "replicas", null = TRUE)
  epochs <- check_count(epochs, "epochs")
  answer <- call_backend(
    "check_sharding",
    input = input,
    workers = workers,
    replicas = replicas,
    epochs = epochs
  )
  new_sharding_audit(answer)
}

# Processes that train: those of a cluster are counted, or listed by their roles.
count_workers <- function(cluster) {
  if (!inherits(cluster, "tfdistribute_cluster")) {
    return(check_count(cluster, "cluster"))
  }
  cluster$workers %||% sum(lengths(unclass(cluster)[c("chief", "worker")]))
}

new_sharding_audit <- function(answer) {
  counts <- c("rows", "rows_missing", "rows_repeated", "rows_unknown")
  answer[counts] <- lapply(answer[counts], as.double)
  workers <- lapply(answer$workers, function(values) {
    values <- as.vector(values)
    values[is.nan(values)] <- NA
    if (all(is.na(values) | abs(values) <= .Machine$integer.max)) as.integer(values) else values
  })
  answer$workers <- tibble::as_tibble(workers)
  structure(
    answer[c("ok", counts, "steps_agree", "workers")],
    class = "sharding_audit"
  )
}

#' @rdname check_sharding
#' @export
print.sharding_audit <- function(x, ...) {
  writeLines(format(x, ...))
  invisible(x)
}

#' @export
format.sharding_audit <- function(x, ...) {
  workers <- nrow(x$workers)
  read_by <- paste(workers, if (workers == 1) "worker" else "workers")
  findings <- c(
    if (x$rows_missing > 0) paste(count_rows(x$rows_missing), "missing"),
    if (x$rows_repeated > 0) paste(count_rows(x$rows_repeated), "too many"),
    if (x$rows_unknown > 0) paste(count_rows(x$rows_unknown), "that one pipeline does not read"),
    if (!x$steps_agree) "workers end at different steps"
  )
  c(
    paste0("<sharding_audit> ", count_rows(x$rows), ", ", read_by),
    if (x$ok) "  every row is read once per epoch" else paste0("  ! ", findings),
    paste0("  ", utils::capture.output(print(as.data.frame(x$workers), row.names = FALSE)))
  )
}
