# All hooks: how verbs accept them, checks, and printing.

#' Hooks
#'
#' A hook takes part in every step of a verb. Pass it to [train()], [evaluate()],
#' [predict()][predict.tfdistribute_estimator], [train_spec()] or [eval_spec()] as `hooks`, alone or in a list. It is a
#' plain R value that starts nothing and may contain R functions. TensorFlow's own hooks, such as
#' `tf$estimator$StopAtStepHook(last_step = 10L)`, also work.
#'
#' * [hook_early_stopping()], [hook_stop_at_step()] and [hook_nan_tensor()] end training. [hook_global_step_waiter()]
#'   delays its start.
#' * [hook_history_saver()], [hook_progress_bar()], [hook_view_metrics()] and [hook_logging_tensor()] record and show.
#' * [hook_checkpoint_saver()], [hook_summary_saver()], [hook_step_counter()] and [hook_profiler()] write files.
#' * [hook_session_run()] calls R functions.
#'
#' Hooks run on R's own thread, under every strategy of one machine. An error in a hook stops the verb and is raised.
#' Earlier checkpoints are kept, and training can continue from them.
#'
#' @section Tensors by name:
#' Name a tensor, or pass it as a Python object. `"loss"` is the training loss over all devices, and `"global_step"` is
#' the step. Any other name refers to a variable, as in [variable_names()], or to a tensor in the graph of
#' `tf.estimator`. The error for an unknown name suggests similar names. If every replica has a value of its own, the
#' value of replica 0 is used.
#'
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/SessionRunHook>
#' @examples
#' hook_stop_at_step(last_step = 1000)
#' hook_early_stopping(patience_steps = 200)
#' @name hooks
NULL

# The `hooks` argument of a verb as a list. It is NULL, one hook or a list of hooks, which are descriptions or Python
# objects.
check_hooks <- function(value, argument = rlang::caller_arg(value)) {
  hooks <- if (is_hook(value)) list(value) else value
  others <- if (is_plain_list(hooks)) Filter(Negate(is_hook), hooks) else list(hooks)
  if (is.null(value) || length(others) == 0) {
    return(unname(as.list(hooks)))
  }
  remedy <- "Make hooks with hook_early_stopping() or another function of ?hooks."
  abort_argument(others[[1]], "a hook, a list of hooks or NULL", argument, remedy = remedy)
}

is_hook <- function(x) {
  inherits(x, "tfdistribute_hook") || is_python_object(x)
}

#' @export
format.tfdistribute_hook <- function(x, ...) {
  fields <- Filter(Negate(is.null), unclass(x)[-1])
  fields <- fields[lengths(fields) > 0 | vapply(fields, is_python_object, NA)]
  values <- vapply(fields, format_field, "")
  paste0("hook_", x$kind, "(", paste(names(fields), values, sep = " = ", collapse = ", "), ")")
}

format_field <- function(value) {
  if (is.function(value)) {
    "<function>"
  } else if (is_python_object(value)) {
    paste0("<", class(value)[[1]], ">")
  } else if (is.list(value)) {
    items <- vapply(value, format_field, "")
    named <- if (is.null(names(value))) items else paste(names(value), items, sep = " = ")
    paste0("list(", toString(named), ")")
  } else {
    show_value(value)
  }
}

#' @rdname as_python
#' @export
as_python.tfdistribute_hook <- function(x, ...) {
  check_call(...)
  made <- call_backend("session_hook", hook = x)
  if (is.null(made)) {
    abort_tfdistribute(
      "unsupported",
      problem = c(
        "{format(x)} is not a session hook of TensorFlow: ",
        "it changes what train() records and shows."
      ),
      remedy = "Give it to train() or train_spec().",
      argument = "x"
    )
  }
  made
}

# Checks that hooks share ------------------------------------------------------------------------

check_tensor <- function(value, argument = rlang::caller_arg(value)) {
  if (is_python_object(value)) {
    return(value)
  }
  if (!is.character(value) || length(value) != 1 || is.na(value) || !nzchar(value)) {
    abort_argument(value, "a tensor or the name of one", argument)
  }
  as_utf8(value, argument)
}

# Tensors with a name for each: the user's, the tensor's, or "tensor_1".
check_tensors <- function(value, argument = rlang::caller_arg(value), lists = FALSE) {
  tensors <- if (is_python_object(value)) list(value) else value
  if (!(is.list(tensors) || is.character(tensors)) || length(tensors) == 0) {
    abort_argument(tensors, "tensors or names of tensors", argument)
  }
  given <- rlang::names2(tensors)
  tensors <- lapply(unname(as.list(tensors)), function(tensor) {
    if (lists && is.list(tensor)) {
      lapply(unname(tensor), check_tensor, argument)
    } else {
      check_tensor(tensor, argument)
    }
  })
  own <- vapply(seq_along(tensors), function(i) tensor_name(tensors[[i]], i), "")
  names <- ifelse(nzchar(given), given, own)
  check_distinct(names, "Name each tensor once.", argument, "argument")
  stats::setNames(tensors, names)
}

tensor_name <- function(tensor, index) {
  if (is.character(tensor)) tensor else paste0("tensor_", index)
}

# What the hooks of a verb show ---------------------------------------------------------------------

hooks_of <- function(arguments) {
  arguments$hooks %||% arguments$train_spec$hooks
}

shows_progress <- function(hooks) {
  asked <- any(vapply(hooks, inherits, NA, "tfdistribute_progress_bar_hook"))
  asked || isTRUE(getOption("tfdistribute.progress", TRUE))
}

# Whether a verb with the argument `view` shows the page of metrics.
shows_page <- function(view, hooks) {
  check_flag(view, auto = TRUE)
  asked <- any(vapply(hooks, inherits, NA, "tfdistribute_view_metrics_hook"))
  has_viewer <- rlang::is_interactive() && !is.null(getOption("viewer"))
  asked || isTRUE(view) || (identical(view, "auto") && has_viewer)
}

# Hooks that control the steps at which training begins and ends.

#' Stop training at a step
#'
#' Ends [train()] or [train_and_evaluate()] after a number of steps, with a checkpoint, even if the input repeats
#' forever. `history$stopped_by` records it. [train()] also has `steps` and `max_steps`.
#'
#' @eval help_of("hook_stop_at_step")
#' @returns A description of class `tfdistribute_stop_at_step_hook`.
#' @section Errors: `tfdistribute_argument_error` if an argument is not a count, not exactly one of them is set, or a
#'   verb that does not train gets the hook.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/StopAtStepHook>
#' @seealso [hooks]
#' @examples
#' hook_stop_at_step(num_steps = 100)
#' @export
hook_stop_at_step <- function(
  # Fields of hook$stop_at_step
  num_steps = NULL,
  last_step = NULL,
  ...
) {
  check_call(...)
  describe("hook", "stop_at_step", as.list(environment()))
}

#' Wait for other tasks to train the model to a step
#'
#' Delays this task in asynchronous training, so that workers start one after another. If no other task trains the
#' model, the hook fails immediately instead of waiting forever. In a cluster, it waits for at most ten minutes without
#' a step, and then raises an error.
#'
#' @eval help_of("hook_global_step_waiter")
#' @returns A description of class `tfdistribute_global_step_waiter_hook`.
#' @section Errors:
#' * `tfdistribute_argument_error` if `wait_until_step` is not a count, or a verb that does not train gets the hook.
#' * `tfdistribute_training_error`, while training, if the model does not reach the step.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/GlobalStepWaiterHook>
#' @seealso [hooks]
#' @examples
#' hook_global_step_waiter(500)
#' @export
hook_global_step_waiter <- function(
  # Fields of hook$global_step_waiter
  wait_until_step,
  ...
) {
  check_call(...)
  describe("hook", "global_step_waiter", as.list(environment()))
}

#' Stop training when a metric stops improving
#'
#' Checks a metric regularly, and ends training when its best value is `patience_steps` steps old. Training ends with a
#' checkpoint, and `history$stopped_by` contains the best value and its step. The model keeps the weights of the last
#' step or, with `restore_best_weights = TRUE`, the weights of the best step.
#'
#' The hook works under every strategy of one machine, by steps and by seconds, and adds nothing to the checkpoint.
#' (TensorFlow's `stop_if_no_decrease_hook()` fails under a mirrored strategy and does not support seconds.) In a
#' cluster, only the training loss at given steps is the same in all processes. Therefore the hook supports only this
#' metric in a cluster, and does not support parameter servers.
#'
#' A metric of evaluations requires [train_and_evaluate()] with frequent evaluations. They follow each checkpoint (see
#' `save_checkpoints_steps` of [run_config()]), but not within `throttle_secs` of [eval_spec()], which is ten minutes by
#' default. If evaluations may be too rare for `patience_steps`, a note at the start of the training reports it.
#'
#' @eval help_of("hook_early_stopping")
#' @returns A description of class `tfdistribute_early_stopping_hook`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range, [train()] gets a metric of
#'   evaluations, or evaluations do not have the metric.
#' * `tfdistribute_unsupported_error` if the tasks of a cluster would stop at different steps.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/experimental/stop_if_no_decrease_hook>,
#'   `callback_early_stopping()` of keras.
#' @seealso [hooks]
#' @examples
#' # The mean training loss has not fallen for 500 steps.
#' hook_early_stopping(patience_steps = 500)
#'
#' # The accuracy of evaluations has not risen by 0.001 for 2000 steps.
#' hook_early_stopping(
#'   "accuracy",
#'   patience_steps = 2000,
#'   min_delta = 0.001,
#'   restore_best_weights = TRUE
#' )
#' @export
hook_early_stopping <- function(
  # Fields of hook$early_stopping
  monitor = "loss",
  patience_steps = 1000,
  min_delta = 0,
  mode = c("auto", "min", "max"),
  data = c("auto", "training", "evaluation"),
  min_steps = 0,
  every_n_steps = NULL,
  every_s = NULL,
  restore_best_weights = FALSE,
  ...
) {
  check_call(...)
  describe("hook", "early_stopping", as.list(environment()))
}
