#' Evaluate a trained model
#'
#' Computes the model's metrics and counts every row once. It does not train, and ignores the training strategy, so that
#' a smaller last batch is weighted correctly. For Keras models and for canned models without a `weight_column`, `loss`
#' is the mean over all rows. With weights, and for your own model function, it is TensorFlow's mean over batches.
#'
#' An evaluation that takes longer than a second shows its progress. Ctrl-C ends it at once, without a result.
#'
#' @inheritParams train
#' @param input_fn Data for the evaluation: a data frame with the columns that the model was trained on, an [input_fn()]
#'   with a response, or a function that returns a `tf.data.Dataset`.
#' @param ... With a data frame: other arguments of [input_fn()], such as `batch_size`. Otherwise must be empty.
#' @param steps Batches to evaluate, a count; NULL for all.
#' @param checkpoint_path Prefix of a checkpoint, as [latest_checkpoint()] returns it; NULL for the newest.
#' @param name Name of the evaluation, to distinguish several data sets; a string or NULL.
#' @param simplify TRUE for a tibble with one row, FALSE for a named list.
#' @returns The metrics, including `loss` and `global_step`: a tibble with one row and a column of doubles per metric.
#' @section Errors:
#' * `tfdistribute_model_directory_error`: the model has not been trained.
#' * Those of [train()].
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#evaluate>
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' train(model, mpg ~ wt + hp, data = mtcars, epochs = 10)
#' evaluate(model, mtcars)
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
  ...
) {
  if (missing(input_fn) || !takes_rows(input_fn)) {
    check_call(input_fn = "Give a data frame, or an input that input_fn() makes.")
  }
  simplify <- check_flag(simplify)
  hooks <- check_hooks(hooks)
  progress <- new_progress(show = shows_progress(hooks))
  on.exit(progress$finish())
  metrics <- call_backend(
    "evaluate",
    estimator = object,
    input = input_of_verb(input_fn, object, "evaluate", ...),
    steps = check_count(steps, null = TRUE),
    checkpoint_path = check_string(checkpoint_path, null = TRUE),
    name = check_string(name, null = TRUE),
    hooks = hooks,
    listener = progress$listener
  )
  record_evaluation(metrics)
  if (simplify) tibble::as_tibble(metrics) else metrics
}

#' @export
evaluate.default <- function(object, ...) {
  check_estimator(object)
}
