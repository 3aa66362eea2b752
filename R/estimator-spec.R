#' Specify the predictions, loss and optimizer of a model function
#'
#' Creates the return value of a model function for [estimator()]. The function may also return a plain named list with
#' the same elements.
#'
#' @param mode The `mode` argument of the model function: `"train"`, `"eval"` or `"infer"`.
#' @param predictions A tensor or a named list of tensors with one row per example, for `predict()`. Required in mode
#'   `"infer"`.
#' @param loss A scalar tensor. Required in modes `"train"` and `"eval"`.
#' @param train_op Operation that changes the variables, as `optimizer$minimize()` returns it, or a list of several.
#'   Mode `"train"` requires `train_op` or `optimizer`. If the operation does not increment the global step,
#'   tfdistribute increments it.
#' @param eval_metric_ops Named list of metrics for mode `"eval"`: results of `tf$compat$v1$metrics` functions (a value
#'   and its update), or updated `tf$keras$metrics` objects. The loss is always a metric.
#' @param training_hooks,evaluation_hooks,prediction_hooks,training_chief_hooks [Hooks][hooks] of the model, one or a
#'   list, including TensorFlow's own hooks.
#' @param ... `optimizer` (as in [optimizers], or an optimizer of `tf$compat$v1$train`), which you can use instead of
#'   `train_op`. It minimizes the loss over all trainable variables, after the operations that layers collected under
#'   `"update_ops"`. Also `export_outputs` and `scaffold`, as in `tf$estimator$EstimatorSpec()`.
#' @returns A list of class `tfdistribute_estimator_spec`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error`, from a verb, if an element that the mode requires is missing.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/estimator/EstimatorSpec>
#' @seealso [estimator()]
#' @examples
#' constant <- function(features, labels, mode) {
#'   mean <- tf$compat$v1$get_variable("mean", list())
#'   predictions <- tf$fill(tf$shape(features$wt), mean)
#'   if (mode == "infer") {
#'     return(estimator_spec(mode, predictions = list(mpg = predictions)))
#'   }
#'   loss <- tf$reduce_mean(tf$math$squared_difference(labels, predictions))
#'   step <- tf$compat$v1$train$get_or_create_global_step()
#'   optimizer <- tf$compat$v1$train$GradientDescentOptimizer(0.1)
#'   estimator_spec(
#'     mode,
#'     loss = loss,
#'     train_op = if (mode == "train") optimizer$minimize(loss, global_step = step),
#'     eval_metric_ops = list(error = tf$compat$v1$metrics$mean_absolute_error(labels, predictions))
#'   )
#' }
#' @examplesIf tfdistribute_available()
#' model <- estimator(constant)
#' train(model, input_fn(mpg ~ wt, mtcars, epochs = 50))
#' evaluate(model, input_fn(mpg ~ wt, mtcars))
#' @export
estimator_spec <- function(
  mode,
  predictions = NULL,
  loss = NULL,
  train_op = NULL,
  eval_metric_ops = NULL,
  training_hooks = NULL,
  evaluation_hooks = NULL,
  prediction_hooks = NULL,
  training_chief_hooks = NULL,
  ...
) {
  check_required()
  more <- check_more_parts(list(...))
  spec <- list(
    mode = check_choice(mode, unlist(unclass(mode_keys()), use.names = FALSE)),
    predictions = check_predictions(predictions),
    loss = check_value(loss, "python", "a tensor or NULL", TRUE, "loss"),
    train_op = train_op,
    eval_metric_ops = check_metrics(eval_metric_ops),
    training_hooks = check_hooks(training_hooks),
    evaluation_hooks = check_hooks(evaluation_hooks),
    prediction_hooks = check_hooks(prediction_hooks),
    training_chief_hooks = check_hooks(training_chief_hooks)
  )
  structure(c(spec, more), class = "tfdistribute_estimator_spec")
}

check_more_parts <- function(parts) {
  known <- c("optimizer", "export_outputs", "scaffold")
  unknown <- setdiff(rlang::names2(parts), known)
  if (length(unknown) > 0) {
    abort_tfdistribute(
      "argument",
      problem = if (nzchar(unknown[[1]])) {
        "`{unknown[[1]]}` is not part of a specification."
      } else {
        "A part of a specification has no name."
      },
      remedy = "Use the arguments of estimator_spec(), {backquoted(known)}.",
      argument = unknown[[1]]
    )
  }
  if (!is.null(parts$optimizer)) {
    parts$optimizer <- check_optimizer(parts$optimizer, "optimizer")
  }
  parts
}

check_predictions <- function(predictions) {
  named <- is.list(predictions) && length(predictions) > 0 && rlang::is_named(predictions)
  if (!is.null(predictions) && !is_python_object(predictions) && !named) {
    abort_argument(predictions, "a tensor, a named list of tensors or NULL")
  }
  check_distinct_names(predictions, "predictions")
}

check_metrics <- function(eval_metric_ops) {
  if (
    !is.null(eval_metric_ops) &&
      !(is.list(eval_metric_ops) &&
        (length(eval_metric_ops) == 0 || rlang::is_named(eval_metric_ops)))
  ) {
    abort_argument(eval_metric_ops, "a named list of metrics or NULL")
  }
  check_distinct_names(eval_metric_ops, "eval_metric_ops")
}

# Python would keep the last of two elements with the same name.
check_distinct_names <- function(elements, argument) {
  if (!is_python_object(elements)) {
    check_distinct(names(elements), "Give each element another name.", argument, "model")
  }
  elements
}

spec_wire <- function(returned, mode) {
  if (is_python_object(returned)) {
    return(returned)
  }
  if (!inherits(returned, "tfdistribute_estimator_spec")) {
    if (!is.list(returned) || !rlang::is_named(returned)) {
      shown <- if (is.list(returned)) "a list without names" else show_value(returned)
      abort_tfdistribute(
        "model",
        problem = "`model_fn` returned {shown}.",
        remedy = "Return estimator_spec(mode, ...), or list(loss = , predictions = , optimizer = ).",
        value = shown
      )
    }
    returned <- rlang::exec(estimator_spec, mode, !!!returned[names(returned) != "mode"])
  }
  # The optimizer is used only in training, but a model may return it in all modes.
  if (mode != "train") {
    returned["optimizer"] <- NULL
  }
  lapply(unclass(returned), as_wire)
}

#' @export
print.tfdistribute_estimator_spec <- function(x, ...) {
  given <- Filter(function(part) length(part) > 0 || is_python_object(part), unclass(x))
  parts <- toString(setdiff(names(given), "mode"))
  cat("<estimator_spec> ", x$mode, ": ", parts, "\n", sep = "")
  invisible(x)
}
