# Hooks that say at which step training begins and ends.

#' End training at a step
#'
#' Ends [train()] or [train_and_evaluate()] after a number of steps, with a checkpoint. [train()] has `steps` and
#' `max_steps` for this; as a hook it also ends an input that repeats without end. `history$stopped_by` tells of it.
#'
#' @param num_steps Steps from where this training starts, a count.
#' @param last_step Global step, a count. One of the two is given.
#' @return A description of class `tfdistribute_stop_at_step_hook`.
#' @section Errors: `tfdistribute_argument_error` where not exactly one of the two is given, or it is no count, or
#' where a verb that does not train is given the hook.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/estimator/StopAtStepHook>
#' @family hooks
#' @examples
#' hook_stop_at_step(num_steps = 100)
#' @export
hook_stop_at_step <- function(num_steps = NULL, last_step = NULL) {
  check_one_given(list(num_steps = num_steps, last_step = last_step), "hook_stop_at_step")
  new_hook(
    "stop_at_step",
    num_steps = check_count(num_steps, "num_steps", null = TRUE),
    last_step = check_count(last_step, "last_step", null = TRUE)
  )
}

#' Begin training when others have brought the model to a step
#'
#' For asynchronous training, where workers begin one after another. Where no other task trains the model, the step
#' would never come: that is an error at once, not an endless wait. In a cluster waiting is given up after ten minutes
#' without a step.
#'
#' @param wait_until_step Global step at which this task begins, a count.
#' @return A description of class `tfdistribute_global_step_waiter_hook`.
#' @section Errors:
#' `tfdistribute_argument_error` where `wait_until_step` is no count, or a verb that does not train is given the hook.
#' When training, `tfdistribute_training_error` where the step does not come.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/estimator/GlobalStepWaiterHook>
#' @family hooks
#' @examples
#' hook_global_step_waiter(500)
#' @export
hook_global_step_waiter <- function(wait_until_step) {
  new_hook(
    "global_step_waiter",
    wait_until_step = check_count(wait_until_step, "wait_until_step", minimum = 0L)
  )
}
