#' Train a model and evaluate it regularly
#'
#' Trains like [train()], and evaluates after checkpoints (see `throttle_secs` of [eval_spec()]) and once at the end.
#' With a cluster on this machine, its processes are started to train and its evaluator evaluates. See [launch()].
#'
#' @inheritParams train
#' @param train_spec A [train_spec()].
#' @param eval_spec An [eval_spec()].
#' @returns A [history][history] with the losses of training and the metrics of every evaluation. With
#'   `wait = FALSE`, a [job][jobs].
#' @section Errors: The errors of [train()], [evaluate()] and, with a cluster, [launch()].
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/train_and_evaluate>
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' train_and_evaluate(
#'   model,
#'   train_spec(input_fn(mpg ~ wt + hp, mtcars, epochs = NULL), max_steps = 50),
#'   eval_spec(input_fn(mpg ~ wt + hp, mtcars))
#' )
#' @export
train_and_evaluate <- function(object, ...) {
  check_required()
  UseMethod("train_and_evaluate")
}

#' @rdname train_and_evaluate
#' @export
train_and_evaluate.tfdistribute_estimator <- function(
  object,
  train_spec,
  eval_spec,
  view = getOption("tfdistribute.view", "auto"),
  wait = TRUE,
  cluster = object$config$cluster,
  strategy = object$config$strategy,
  ...
) {
  remedies <- list(
    train_spec = "Make one with train_spec().",
    eval_spec = "Make one with eval_spec()."
  )
  check_call(..., .remedies = remedies)
  check_class(train_spec, "tfdistribute_train_spec", "a specification that train_spec() makes")
  check_class(eval_spec, "tfdistribute_eval_spec", "a specification that eval_spec() makes")
  object <- with_cluster(object, cluster, strategy)
  specs <- list(train_spec = train_spec, eval_spec = eval_spec)
  perform_verb(new_work(object, "train_and_evaluate", specs), check_flag(wait), view = view)
}

#' @export
train_and_evaluate.default <- function(object, ...) {
  verb_of_others("train_and_evaluate", object, ...)
}
