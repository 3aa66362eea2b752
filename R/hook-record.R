# Hooks that change what every training records and shows anyway.

#' Record the loss more or less often
#'
#' Training records the loss every ten steps; this hook sets another interval. The record is the [history][history]
#' that the verb returns. It has no effect on [evaluate()] and [predict()][predict.tfdistribute_estimator].
#'
#' @param every_n_step Steps between two entries, a count. The first and the last step are recorded in any case.
#' @return A description of class `tfdistribute_history_saver_hook`.
#' @section Errors:
#' `tfdistribute_argument_error` where `every_n_step` is no count.
#' @section Source:
#' `hook_history_saver()` of tfestimators.
#' @family hooks
#' @examples
#' hook_history_saver(every_n_step = 1)
#' @export
hook_history_saver <- function(every_n_step = 10) {
  new_hook("history_saver", every_n_step = check_count(every_n_step, "every_n_step"))
}

#' Show the progress of training
#'
#' Training shows its progress unless `options(tfdistribute.progress = FALSE)` is set; with this hook it does in any
#' case. It has no effect on [evaluate()] and [predict()][predict.tfdistribute_estimator].
#'
#' @return A description of class `tfdistribute_progress_bar_hook`.
#' @section Errors:
#' None.
#' @section Source:
#' `hook_progress_bar()` of tfestimators.
#' @family hooks
#' @examples
#' hook_progress_bar()
#' @export
hook_progress_bar <- function() {
  new_hook("progress_bar")
}

# Whether a training with these hooks shows its progress.
shows_progress <- function(hooks) {
  asked <- any(vapply(hooks, inherits, NA, "tfdistribute_progress_bar_hook"))
  asked || isTRUE(getOption("tfdistribute.progress", TRUE))
}
