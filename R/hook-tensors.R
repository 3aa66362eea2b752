# Hooks that look at tensors.

#' Show values of tensors while a model trains
#'
#' The values are messages of R ([message()]), so [sink()], knitr and [suppressMessages()] treat them as such.
#'
#' @param tensors Names of tensors or Python tensors: a character vector or a list, with the names to show them by.
#'   See "Tensors by name" in [hooks].
#' @param every_n_iter Steps between two messages, a count. The first step is shown.
#' @param every_n_secs Seconds between two messages, a number. At most one of the two is given.
#' @param formatter Function of a named list of the values that returns the message, a string; NULL for "step 10:
#'   loss = 0.25".
#' @param at_end TRUE to show the last step too. Alone, only the last step is shown.
#' @return A description of class `tfdistribute_logging_tensor_hook`.
#' @section Errors:
#' `tfdistribute_argument_error` where an argument is no such value, or (when a verb runs) where the graph has no such
#' tensor. `tfdistribute_callback_error` where `formatter` fails; its own error is the `parent`.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/estimator/LoggingTensorHook>
#' @family hooks
#' @examples
#' hook_logging_tensor("loss", every_n_iter = 100)
#' hook_logging_tensor(
#'   c(intercept = "linear/linear_model/bias_weights"),
#'   every_n_secs = 10,
#'   formatter = function(values) sprintf("the intercept is %.2f", values$intercept)
#' )
#' @export
hook_logging_tensor <- function(
  tensors,
  every_n_iter = NULL,
  every_n_secs = NULL,
  formatter = NULL,
  at_end = FALSE
) {
  at_end <- check_flag(at_end, "at_end")
  none_given <- is.null(every_n_iter) && is.null(every_n_secs)
  if (!(at_end && none_given)) {
    check_one_given(
      list(every_n_iter = every_n_iter, every_n_secs = every_n_secs),
      "hook_logging_tensor"
    )
  }
  new_hook(
    "logging_tensor",
    tensors = check_tensors(tensors, "tensors"),
    every_n_iter = check_count(every_n_iter, "every_n_iter", null = TRUE),
    every_n_secs = check_seconds(every_n_secs, "every_n_secs"),
    formatter = check_function(formatter, "formatter", null = TRUE),
    at_end = at_end
  )
}

#' @export
as_wire.tfdistribute_logging_tensor_hook <- function(x) {
  formatter <- x$formatter
  x <- unclass(x)
  x$formatter <- NULL
  x$show <- function(step, values) {
    text <- if (is.null(formatter)) tensor_text(step, values) else formatter(values)
    if (!is.character(text) || length(text) != 1) {
      abort_argument("formatter", text, "a function that returns a string")
    }
    message(text)
    NULL
  }
  as_wire(x)
}

tensor_text <- function(step, values) {
  shown <- vapply(values, tensor_value, "")
  paste0("step ", step, ": ", paste(names(values), shown, sep = " = ", collapse = ", "))
}

tensor_value <- function(value) {
  value <- unlist(value)
  shown <- utils::head(as.vector(value), 6)
  shown <- if (is.numeric(shown)) format(signif(shown, 4), trim = TRUE) else as.character(shown)
  if (length(value) == 1) {
    return(shown)
  }
  paste0("[", paste(shown, collapse = ", "), if (length(value) > 6) ", ...", "]")
}

#' End training when a value is not a number
#'
#' Training always fails when its own loss becomes NaN. With this hook it ends without an error instead, or the same
#' is asked of another tensor. Weights that were trained on a NaN loss are not saved: the newest checkpoint is the
#' last one that was written before. `history$stopped_by` tells of it.
#'
#' @param loss_tensor Name of a tensor or a Python tensor; `"loss"` is the loss that is trained on. See "Tensors by
#'   name" in [hooks].
#' @param fail_on_nan_loss TRUE for an error, FALSE for an end without one.
#' @return A description of class `tfdistribute_nan_tensor_hook`.
#' @section Errors: `tfdistribute_argument_error` where an argument is no such value, the graph has no such tensor,
#' or a verb that does not train is given the hook; when training, `tfdistribute_training_error` where the value is
#' not a number.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/estimator/NanTensorHook>
#' @family hooks
#' @examples
#' hook_nan_tensor(fail_on_nan_loss = FALSE)
#' @export
hook_nan_tensor <- function(loss_tensor = "loss", fail_on_nan_loss = TRUE) {
  new_hook(
    "nan_tensor",
    loss_tensor = check_tensor(loss_tensor, "loss_tensor"),
    fail_on_nan_loss = check_flag(fail_on_nan_loss, "fail_on_nan_loss")
  )
}
