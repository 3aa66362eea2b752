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
