# Hooks that change the records and the display of trainings.

#' Record the loss at another interval
#'
#' Training records the loss every ten steps in the [history][history] that the verb returns. This hook changes the
#' interval. It has no effect on [evaluate()] and [predict()][predict.tfdistribute_estimator].
#'
#' @eval help_of("hook_history_saver")
#' @returns A description of class `tfdistribute_history_saver_hook`.
#' @section Errors: `tfdistribute_argument_error` if `every_n_steps` is not a count.
#' @references The function of the same name in tfestimators.
#' @seealso [hooks]
#' @examples
#' hook_history_saver(every_n_steps = 1)
#' @export
hook_history_saver <- function(
  # Fields of hook$history_saver
  every_n_steps = 10,
  ...
) {
  describe("hook", "history_saver", as.list(environment()), check_call(..., .renames = TRUE))
}

#' Show the progress of a verb
#'
#' [train()], [train_and_evaluate()], [evaluate()] and [predict()][predict.tfdistribute_estimator] show their progress
#' unless `options(tfdistribute.progress = FALSE)` is set. With this hook, they always show it.
#'
#' @eval help_of("hook_progress_bar")
#' @returns A description of class `tfdistribute_progress_bar_hook`.
#' @references The function of the same name in tfestimators.
#' @seealso [hooks]
#' @examples
#' hook_progress_bar()
#' @export
hook_progress_bar <- function(
  # Fields of hook$progress_bar
  ...
) {
  check_call(...)
  describe("hook", "progress_bar", as.list(environment()))
}

#' Show the metrics of a training in the Viewer
#'
#' [train()], [train_and_evaluate()] and [launch()] with this hook open a page that shows losses and metrics while the
#' model trains, as with `view = TRUE`. See [view_training()].
#'
#' @eval help_of("hook_view_metrics")
#' @returns A description of class `tfdistribute_view_metrics_hook`.
#' @references The function of the same name in tfestimators.
#' @seealso [hooks]
#' @examples
#' hook_view_metrics()
#' @export
hook_view_metrics <- function(
  # Fields of hook$view_metrics
  ...
) {
  check_call(...)
  describe("hook", "view_metrics", as.list(environment()))
}
