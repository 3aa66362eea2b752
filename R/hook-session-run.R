#' Call R functions before, during and after the steps
#'
#' `session_run_hook()` is tfestimators' name for the same function.
#'
#' The functions run on R's own thread, between TensorFlow's steps. Each costs about a tenth of a millisecond, so omit
#' functions that you do not need. An error in a function stops the verb and is raised. `context$request_stop()` in
#' `after_run` ends training with a checkpoint, and `history$stopped_by` records it.
#'
#' @eval help_of("hook_session_run")
#' @returns A description of class `tfdistribute_session_run_hook`. Functions that are NULL are not called.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument is not a function that accepts these arguments.
#' * `tfdistribute_callback_error`, from a verb, if a function fails. The `parent` is the function's own error.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/SessionRunHook>
#' @seealso [hooks]
#' @examples
#' # Ends training when a batch has a loss below 0.1.
#' hook_session_run(
#'   before_run = function(context) session_run_args(loss = "loss"),
#'   after_run = function(context, values) {
#'     if (values$results$loss < 0.1) {
#'       context$request_stop()
#'     }
#'   }
#' )
#' @export
hook_session_run <- function(
  # Fields of hook$session_run
  begin = NULL,
  after_create_session = NULL,
  before_run = NULL,
  after_run = NULL,
  end = NULL,
  every_n_steps = NULL,
  ...
) {
  check_call(...)
  describe("hook", "session_run", as.list(environment()))
}

#' @rdname hook_session_run
#' @export
session_run_hook <- hook_session_run

#' Tensors to fetch with a step
#'
#' This function is for scripts of tfestimators, whose hooks fetch tensors. It creates the return value of `before_run`
#' in a [hook_session_run()]. The hook's `after_run` gets the values as `values$results`, with the same names.
#'
#' @param ... Tensors, as names or Python objects, each with a name for its value, or lists of tensors, whose values are
#'   also lists. A tensor in the form of a name needs no other name. See "Tensors by name" in [hooks].
#' @returns A list of class `tfdistribute_session_run_args`.
#' @section Errors: `tfdistribute_argument_error` if an argument is neither a name nor a Python object.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/SessionRunArgs>
#' @seealso [hooks]
#' @examples
#' session_run_args("loss", step = "global_step")
#' @export
session_run_args <- function(...) {
  tensors <- list(...)
  structure(
    if (length(tensors) > 0) check_tensors(tensors, "...", lists = TRUE) else tensors,
    class = "tfdistribute_session_run_args"
  )
}

#' @export
print.tfdistribute_session_run_args <- function(x, ...) {
  values <- vapply(unclass(x), format_field, "")
  cat("<session_run_args>", paste(names(x), values, sep = " = ", collapse = ", "), "\n")
  invisible(x)
}

#' @export
format.tfdistribute_session_run_hook <- function(x, ...) {
  moments <- names(Filter(is.function, unclass(x)))
  every <- if (!is.null(x$every_n_steps)) paste("every_n_steps =", x$every_n_steps)
  paste0("hook_session_run(", toString(c(moments, every)), ")")
}

#' @export
as_wire.tfdistribute_session_run_hook <- function(x) {
  x <- unclass(x)
  before_run <- x$before_run
  if (!is.null(before_run)) {
    x$before_run <- function(context) fetches_wire(before_run(context))
  }
  # TensorFlow ignores the results of the other functions.
  for (moment in setdiff(names(x), c("kind", "before_run", "every_n_steps"))) {
    x[moment] <- list(without_result(x[[moment]]))
  }
  as_wire(x)
}

without_result <- function(callback) {
  force(callback)
  if (is.null(callback)) {
    return(NULL)
  }
  function(...) {
    callback(...)
    NULL
  }
}

fetches_wire <- function(before_run) {
  is_python <- inherits(
    before_run,
    "tensorflow.python.training.session_run_hook.SessionRunArgs"
  )
  if (is.null(before_run) || is_python) {
    return(before_run)
  }
  if (!inherits(before_run, "tfdistribute_session_run_args")) {
    abort_argument(before_run, "a function that returns session_run_args() or NULL")
  }
  if (length(before_run) == 0) NULL else unclass(before_run)
}

# Hooks that read tensors.

#' Show the values of tensors while a model trains
#'
#' Shows the values as R messages ([message()]), which [sink()], knitr and [suppressMessages()] handle as usual.
#'
#' @eval help_of("hook_logging_tensor")
#' @param formatter Function of a named list of values that returns the message, a string. NULL prints lines such as
#'   "step 10: loss = 0.25".
#' @returns A description of class `tfdistribute_logging_tensor_hook`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range, or, from a verb, if the graph
#'   does not have the tensor.
#' * `tfdistribute_callback_error`, from a verb, if `formatter` fails. The `parent` is the function's own error.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/LoggingTensorHook>
#' @seealso [hooks]
#' @examples
#' hook_logging_tensor("loss", every_n_steps = 100)
#' hook_logging_tensor(
#'   c(intercept = "linear/linear_model/bias_weights"),
#'   every_s = 10,
#'   formatter = function(values) sprintf("the intercept is %.2f", values$intercept)
#' )
#' @export
hook_logging_tensor <- function(
  # Fields of hook$logging_tensor
  tensors,
  every_n_steps = NULL,
  every_s = NULL,
  formatter = NULL,
  at_end = FALSE,
  ...
) {
  renamed <- check_call(..., .renames = TRUE)
  tensors <- check_tensors(tensors)
  described <- describe("hook", "logging_tensor", as.list(environment()), renamed)
  # Python gets a function that also has the step.
  described["formatter"] <- list(check_function(formatter, null = TRUE))
  described
}

#' @export
as_wire.tfdistribute_logging_tensor_hook <- function(x) {
  formatter <- x$formatter
  x <- unclass(x)
  x$formatter <- NULL
  x$show <- function(step, values) {
    text <- if (is.null(formatter)) format_tensors(step, values) else formatter(values)
    if (!is.character(text) || length(text) != 1) {
      abort_argument(text, "a function that returns a string", "formatter")
    }
    message(text)
    NULL
  }
  as_wire(x)
}

format_tensors <- function(step, values) {
  shown <- vapply(values, format_tensor_value, "")
  paste0("step ", step, ": ", paste(names(values), shown, sep = " = ", collapse = ", "))
}

format_tensor_value <- function(value) {
  value <- unlist(value)
  shown <- utils::head(as.vector(value), 6)
  shown <- if (is.numeric(shown)) format(signif(shown, 4), trim = TRUE) else as.character(shown)
  if (length(value) == 1) {
    return(shown)
  }
  paste0("[", toString(shown), if (length(value) > 6) ", ...", "]")
}

#' Stop training when a value is not a number
#'
#' Training always fails if its own loss becomes NaN. With this hook, it can end without an error instead, or check
#' another tensor. Weights trained with a NaN loss are not saved, so the newest checkpoint is from before the NaN.
#' `history$stopped_by` records it.
#'
#' @eval help_of("hook_nan_tensor")
#' @returns A description of class `tfdistribute_nan_tensor_hook`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range, the graph does not have the
#'   tensor, or a verb that does not train gets the hook.
#' * `tfdistribute_training_error`, while training, if the value is not a number.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/NanTensorHook>
#' @seealso [hooks]
#' @examples
#' hook_nan_tensor(fail_on_nan_loss = FALSE)
#' @export
hook_nan_tensor <- function(
  # Fields of hook$nan_tensor
  loss_tensor = "loss",
  fail_on_nan_loss = TRUE,
  ...
) {
  check_call(...)
  loss_tensor <- check_tensor(loss_tensor)
  describe("hook", "nan_tensor", as.list(environment()))
}
