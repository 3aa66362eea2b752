#' Evaluate a trained model
#'
#' Computes the model's metrics with every row counted once. It does not train, and does not use the
#' training strategy, so that an odd last batch counts as it should. `loss` is the mean over all rows for ready-made
#' models without a `weight_column` and for Keras models; with weights, and for a model function of your own, it is
#' TensorFlow's mean over batches.
#'
#' @inheritParams train
#' @param input_fn What to evaluate on: an [input_fn()] with a response, or a function that returns a
#'   `tf.data.Dataset`.
#' @param steps Batches to evaluate, a count; NULL for all.
#' @param checkpoint_path Prefix of a checkpoint, as [latest_checkpoint()] gives it; NULL for the newest.
#' @param name Name of the evaluation, where a model is evaluated on several data sets; a string or NULL.
#' @param simplify TRUE for a tibble of one row, FALSE for a named list.
#' @return The metrics: a tibble with one row and a column for each metric, doubles; `loss` and `global_step`
#'   are among them.
#' @section Errors:
#' `tfdistribute_model_directory_error` where the model was not trained; else as [train()].
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#evaluate>
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' train(model, input_fn(mpg ~ wt + hp, mtcars, num_epochs = 10))
#' evaluate(model, input_fn(mpg ~ wt + hp, mtcars))
#' @export
evaluate <- function(object, ...) {
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
  check_given(missing(input_fn), "evaluate")
  check_no_more(
    ...,
    verb = "evaluate",
    known = c("input_fn", "steps", "checkpoint_path", "name", "hooks", "simplify")
  )
  simplify <- check_flag(simplify, "simplify")
  metrics <- call_backend(
    "evaluate",
    estimator = object,
    input = as_input(input_fn),
    steps = check_count(steps, "steps", null = TRUE),
    checkpoint_path = check_string(checkpoint_path, "checkpoint_path", null = TRUE),
    name = check_string(name, "name", null = TRUE),
    hooks = check_hooks(hooks)
  )
  record_evaluation(metrics)
  if (simplify) tibble::as_tibble(metrics) else metrics
}

#' @export
evaluate.default <- function(object, ...) {
  abort_not_estimator(object, "evaluate")
}
