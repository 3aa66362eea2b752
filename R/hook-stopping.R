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
