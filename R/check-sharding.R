#' Check that workers read every row once
#'
#' Runs the training pipelines of all workers one after another in this process, and compares their rows with the rows
#' of a single pipeline. It finds mistakes that TensorFlow does not report. For example, your own function that does not
#' shard its data gives every worker every row, and a function that shuffles without a seed before sharding loses some
#' rows and repeats others. `check_sharding()` does not train and starts no other process.
#'
#' Rows are compared by the values of all features and of the response. A row that occurs twice in the data must be read
#' twice. The whole input is read once per worker and once more, so it must end. If an input is large, check a small
#' part that is built in the same way.
#'
#' @param input An input, such as an [input_fn()], or a function that returns a `tf.data.Dataset`.
#' @param cluster Number of workers including the chief, a count, or a description of a cluster.
#' @param replicas Devices of each worker in synchronous training, a count. NULL is for asynchronous training, as under
#'   [strategy_parameter_server()], in which workers take whole batches in turn.
#' @param epochs Passes over the rows to check, a count. Your own function determines its number of passes itself.
#' @param x A result of `check_sharding()`.
#' @returns A list of class `sharding_audit`:
#' * `ok`: TRUE if every row is read as often as by a single pipeline and, in synchronous training, all workers take the
#'   same number of steps.
#' * `rows`: rows that a single pipeline reads, a count.
#' * `rows_missing`: rows that no worker reads.
#' * `rows_repeated`: additional reads of rows, compared with a single pipeline.
#' * `rows_unknown`: rows that a single pipeline does not read, for example from a function that draws random numbers.
#' * `steps_agree`: FALSE if a worker in synchronous training ends early, so that the others would wait for it forever.
#' * `workers`: a tibble with columns `worker` (from 0), `rows`, `steps`, `smallest_batch` and `largest_batch` (examples
#'   per replica, NA without rows) and `seed` (of the shuffle, NA if unknown).
#' @section Errors:
#' * `tfdistribute_sharding_error` if the batch or the rows cannot be divided over the replicas.
#' * `tfdistribute_input_error` if the input cannot be read or does not end.
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_callback_error` if one of your functions fails.
#' @references <https://www.tensorflow.org/api_docs/python/tf/distribute/InputContext>
#' @seealso [input_dataset()], [input_fn()]
#' @examplesIf tfdistribute_available()
#' check_sharding(input_fn(mpg ~ wt + hp, mtcars, batch_size = 6), 3)
#'
#' # This function ignores input_context, so each of two workers reads everything.
#' everything <- input_dataset(function() {
#'   tf <- reticulate::import("tensorflow")
#'   tf$data$Dataset$range(40L)$batch(8L)
#' })
#' check_sharding(everything, 2)
#' @export
check_sharding <- function(input, cluster = 2, replicas = 1, epochs = 1, ...) {
  check_call(...)
  input <- as_input(input)
  workers <- count_workers(cluster)
  replicas <- check_count(replicas, null = TRUE)
  epochs <- check_count(epochs)
  answer <- call_backend(
    "check_sharding",
    input = input,
    workers = workers,
    replicas = replicas,
    epochs = epochs
  )
  new_sharding_audit(answer)
}

# The number of processes that train, from a count or from the tasks of a cluster.
count_workers <- function(cluster) {
  if (!inherits(cluster, "tfdistribute_cluster")) {
    return(check_count(cluster))
  }
  sum(count_tasks(cluster)[c("chief", "worker")], na.rm = TRUE)
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
  print_description(x, format(x, ...))
}

#' @export
format.sharding_audit <- function(x, ...) {
  findings <- c(
    if (x$rows_missing > 0) paste(count_rows(x$rows_missing), "missing"),
    if (x$rows_repeated > 0) paste(count_rows(x$rows_repeated), "too many"),
    if (x$rows_unknown > 0) paste(count_rows(x$rows_unknown), "that one pipeline does not read"),
    if (!x$steps_agree) "workers end at different steps"
  )
  c(
    interpolate("<sharding_audit> {count_rows(x$rows)}, {nrow(x$workers)} worker{?s}"),
    if (x$ok) "  every row is read once per epoch" else paste0("  ! ", findings),
    paste0("  ", utils::capture.output(print(as.data.frame(x$workers), row.names = FALSE)))
  )
}
