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
  others <- if (is.list(hooks) && !is.object(hooks)) Filter(Negate(is_hook), hooks) else list(hooks)
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
