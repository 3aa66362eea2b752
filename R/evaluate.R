#' Evaluate a trained model
#'
#' Computes the model's metrics and counts every row once. It does not train, and it ignores the training strategy, so
#' that a smaller last batch has the correct weight. For every kind of model, `loss` is the mean over all rows, because
#' the loss of each batch is weighted by its number of rows. (A loss that is a sum over a batch, as with
#' `loss_reduction = "sum"`, depends on how rows are divided into batches.)
#'
#' Metrics that do not depend on the size of the batches are computed in large batches, unless `steps` or `hooks` count
#' batches. For data in memory, the graph of a canned model without functions of your own is kept for the next
#' evaluation or prediction in this R session. The graph gets the weights of a newer checkpoint, and is rebuilt after
#' any other change.
#'
#' An evaluation that takes longer than a second shows its progress. Ctrl-C ends it immediately, without a result.
#'
#' @section Evaluating with several processes:
#' With `cluster = local_cluster(2)`, two processes on this machine evaluate, each with its own rows. Every row is
#' evaluated once, however unevenly rows and batches divide. At the end, the processes add up the states of the metrics.
#' Counts, and metrics based on counts such as accuracy and AUC, are therefore identical to the results of one process,
#' and means agree to six digits. Until then, the processes work independently. If a process dies, it is restarted and
#' only its own rows are evaluated again. The cluster in the estimator's [run_config()] is for training only. All
#' processes evaluate the same checkpoint, even while a training continues in `model_dir`.
#'
#' Starting the processes takes a few seconds, so a cluster is worthwhile only if the evaluation takes longer than that
#' in one process.
#'
#' Metrics whose states are not sums over rows, such as a maximum, are rejected by name. The metrics of
#' `tf$compat$v1$metrics` and of Keras are sums. Files are divided into ranges of rows, and other inputs into batches. A
#' function that returns a dataset must accept `input_context` and read its share of the data. Hooks run in every
#' process.
#'
#' @inheritParams train
#' @param input_fn Data for the evaluation: a data frame or a Spark DataFrame with the model's training columns, an
#'   [input_fn()] with a response, or a function that returns a `tf.data.Dataset`.
#' @param ... With a data frame, other arguments of [input_fn()], such as `batch_size`, or `staging` for data in Spark.
#'   Otherwise must be empty.
#' @param steps Batches to evaluate, a count. NULL evaluates all batches.
#' @param checkpoint_path Prefix of a checkpoint, as returned by [latest_checkpoint()]. NULL uses the newest.
#' @param name Name of the evaluation, to distinguish several data sets, a string or NULL.
#' @param cluster A [local_cluster()] whose workers share the rows. NULL (default) evaluates in this process alone. The
#'   cluster's parameter servers and evaluator are not started. Not together with `steps`.
#' @param simplify TRUE for a tibble with one row, FALSE for a named list.
#' @returns The metrics, including `loss` and `global_step`: a tibble with one row and a column of doubles per metric. A
#'   metric `at` with several values has the columns `at_1`, `at_2` and so on. For a classifier of two classes,
#'   `precision` and `recall` count the positive class (see [estimators]), and `auc` and `auc_precision_recall` are NaN
#'   if the data has one class.
#' @section Errors:
#' * `tfdistribute_model_directory_error` if the model has not been trained.
#' * `tfdistribute_unsupported_error`, with a cluster, if the state of a metric is not a sum.
#' * `tfdistribute_cluster_error` if this process is already a task of a cluster.
#' * The errors of [train()] and, with a cluster, of [launch()].
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#evaluate>
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' train(model, mpg ~ wt + hp, data = mtcars, epochs = 10)
#' evaluate(model, mtcars)
#' \donttest{
#' evaluate(model, mtcars, cluster = local_cluster(workers = 2))
#' }
#' @export
evaluate <- function(object, ...) {
  check_required()
  UseMethod("evaluate")
}

#' @rdname evaluate
#' @export
evaluate.tfdistribute_estimator <- function(
  object,
  input_fn,
  steps = NULL,
  checkpoint_path = NULL,
  name = NULL,
  hooks = NULL,
  simplify = TRUE,
  cluster = NULL,
  ...
) {
  rows <- data_by_position()
  check_call(
    ...,
    .remedies = list(input_fn = "Give a data frame, or an input that input_fn() makes."),
    .also = if (!missing(input_fn)) row_arguments(input_fn)
  )
  simplify <- check_flag(simplify)
  arguments <- list(
    input_fn = input_of_verb(input_fn, object, "evaluate", ..., rows = rows),
    checkpoint_path = check_string(checkpoint_path, null = TRUE),
    hooks = check_hooks(hooks),
    name = check_string(name, null = TRUE)
  )
  on.exit(remove_rows(arguments$input_fn))
  steps <- check_count(steps, null = TRUE)
  if (!is.null(cluster)) {
    check_no_steps(steps)
    object <- with_readers(object, cluster)
  }
  # Workers evaluate all rows, without `steps`.
  work <- new_work(object, "evaluate", c(arguments, steps = steps))
  metrics <- perform_verb(work, starts = !is.null(cluster))
  record_evaluation(metrics)
  if (simplify) tibble::as_tibble(metrics) else metrics
}

# The estimator with a cluster whose workers evaluate or predict, each on a shard of the rows.
with_readers <- function(object, cluster) {
  check_class(cluster, "tfdistribute_local_cluster", "a local_cluster()")
  with_cluster(object, cluster)
}

check_no_steps <- function(steps) {
  if (!is.null(steps)) {
    abort_tfdistribute(
      "argument",
      problem = "`steps` ({steps}) and `cluster` cannot both be given: workers evaluate all rows.",
      remedy = "Give fewer rows, or leave `cluster` NULL.",
      value = steps
    )
  }
}

#' @export
evaluate.default <- function(object, ...) {
  verb_of_others("evaluate", object, ...)
}
