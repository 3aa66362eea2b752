#' Evaluate a trained model
#'
#' Computes the model's metrics and counts every row once. It does not train, and ignores the training strategy, so that
#' a smaller last batch is weighted correctly. For every kind of model, `loss` is the mean over all rows: the loss of
#' each batch counts by its rows. (A loss that is a sum over a batch, as with `loss_reduction = "sum"`, depends on how
#' rows fall into batches.)
#'
#' Metrics that do not depend on the size of the batches are computed in large ones, unless `steps` or `hooks` count
#' batches. For data in memory, the graph of a canned model without functions of your own is kept for the next
#' evaluation or prediction in this R session; it gets the weights of a newer checkpoint, and is built again when
#' anything else changes.
#'
#' An evaluation that takes longer than a second shows its progress. Ctrl-C ends it at once, without a result.
#'
#' @section Evaluating with several processes:
#' With `cluster = local_cluster(2)`, two processes on this machine evaluate, each its own rows. Every row is evaluated
#' once, however unevenly rows and batches divide. The processes add up the states of the metrics at the end, so counts,
#' and metrics made of counts such as accuracy and AUC, are those of one process to the bit, and means to six digits.
#' They exchange nothing before that: none waits for another, and one that is lost is started again and repeats its own
#' rows. The cluster in the estimator's [run_config()] is for training only. All processes evaluate the same checkpoint,
#' also while a training goes on in `model_dir`.
#'
#' Starting the processes takes some seconds. They pay off when one process computes for longer than that.
#'
#' Metrics whose states are not sums over rows, such as a maximum, are refused by name. The metrics of
#' `tf$compat$v1$metrics` and those of Keras are sums. Files are divided into ranges of rows and other inputs into
#' batches. A function that returns a dataset must take `input_context` and read the share that it describes. Hooks run
#' in every process.
#'
#' @inheritParams train
#' @param input_fn Data for the evaluation: a data frame with the columns that the model was trained on, an [input_fn()]
#'   with a response, or a function that returns a `tf.data.Dataset`.
#' @param ... With a data frame: other arguments of [input_fn()], such as `batch_size`. Otherwise must be empty.
#' @param steps Batches to evaluate, a count; NULL for all.
#' @param checkpoint_path Prefix of a checkpoint, as [latest_checkpoint()] returns it; NULL for the newest.
#' @param name Name of the evaluation, to distinguish several data sets; a string or NULL.
#' @param cluster A [local_cluster()] whose workers share the rows; NULL (default) for this process alone. Its parameter
#'   servers and evaluator are not started. Not together with `steps`.
#' @param simplify TRUE for a tibble with one row, FALSE for a named list.
#' @returns The metrics, including `loss` and `global_step`: a tibble with one row and a column of doubles per metric.
#' @section Errors:
#' * `tfdistribute_model_directory_error`: the model has not been trained.
#' * `tfdistribute_unsupported_error`: with a cluster, the state of a metric is not a sum.
#' * `tfdistribute_cluster_error`: this process is already a task of a cluster.
#' * Those of [train()], and with a cluster those of [launch()].
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
  check_call(
    input_fn = "Give a data frame, or an input that input_fn() makes.",
    also = if (!missing(input_fn)) row_arguments(input_fn)
  )
  simplify <- check_flag(simplify)
  arguments <- list(
    object = object,
    input = input_of_verb(input_fn, object, "evaluate", ...),
    checkpoint_path = check_string(checkpoint_path, null = TRUE),
    hooks = check_hooks(hooks),
    name = check_string(name, null = TRUE)
  )
  steps <- check_count(steps, null = TRUE)
  metrics <- if (is.null(cluster)) {
    rlang::inject(evaluate_here(!!!arguments, steps = steps))
  } else {
    check_no_steps(steps)
    rlang::inject(read_by_job(cluster, "evaluate", !!!arguments))
  }
  record_evaluation(metrics)
  if (simplify) tibble::as_tibble(metrics) else metrics
}

evaluate_here <- function(object, input, hooks, ...) {
  progress <- new_progress(show = shows_progress(hooks))
  on.exit(progress$finish())
  listener <- progress$listener
  call_backend(
    "evaluate",
    estimator = object,
    input = input,
    hooks = hooks,
    listener = listener,
    ...
  )
}

#' @export
evaluate.default <- function(object, ...) {
  check_estimator(object)
}
