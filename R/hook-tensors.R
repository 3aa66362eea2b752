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
