# Hooks that write files.

#' Write checkpoints at another interval
#'
#' In the model's own directory, the hook replaces the checkpoints of [run_config()]. In another directory, it writes
#' additional checkpoints and keeps the newest five. (In TensorFlow, a saver for another directory leaves `model_dir`
#' without checkpoints.) A checkpoint is also written before the first step and after the last.
#'
#' @eval help_of("hook_checkpoint_saver")
#' @returns A description of class `tfdistribute_checkpoint_saver_hook`.
#' @section Errors: `tfdistribute_argument_error` if an argument has the wrong type or is out of range, or a verb that
#'   does not train gets the hook.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/CheckpointSaverHook>
#' @seealso [hooks]
#' @examples
#' hook_checkpoint_saver("backup", every_n_steps = 1000)
#' @export
hook_checkpoint_saver <- function(
  # Fields of hook$checkpoint_saver
  checkpoint_dir = NULL,
  every_s = NULL,
  every_n_steps = NULL,
  saver = NULL,
  checkpoint_basename = "model.ckpt",
  scaffold = NULL,
  listeners = NULL,
  ...
) {
  describe("hook", "checkpoint_saver", as.list(environment()), check_call(..., .renames = TRUE))
}

#' Write additional summaries for TensorBoard
#'
#' Writes summaries at its own interval and to its own directory, in addition to the summaries of `save_summary_steps`
#' in [run_config()].
#'
#' @inheritParams hook_step_counter
#' @eval help_of("hook_summary_saver")
#' @returns A description of class `tfdistribute_summary_saver_hook`.
#' @section Errors: `tfdistribute_argument_error` if an argument has the wrong type or is out of range, or the graph
#'   does not have the summary.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/SummarySaverHook>
#' @seealso [hooks]
#' @examples
#' hook_summary_saver(every_n_steps = 50, output_dir = "logs")
#' @export
hook_summary_saver <- function(
  # Fields of hook$summary_saver
  every_n_steps = NULL,
  every_s = NULL,
  output_dir = NULL,
  summary_writer = NULL,
  scaffold = NULL,
  summary_op = NULL,
  ...
) {
  renamed <- check_call(..., .renames = TRUE)
  summary_op <- if (!is.null(summary_op)) unname(check_tensors(summary_op))
  describe("hook", "summary_saver", as.list(environment()), renamed)
}

#' Write additional records of the training speed for TensorBoard
#'
#' Writes the steps per second at its own interval and to its own directory, in addition to the records of
#' `log_step_count_steps` in [run_config()]. The [history][history] contains the examples per second.
#'
#' @param every_n_steps Steps between records, a count. Ignored if only `every_s` is set.
#' @eval help_of("hook_step_counter")
#' @returns A description of class `tfdistribute_step_counter_hook`.
#' @section Errors: `tfdistribute_argument_error` if an argument has the wrong type or is out of range, or both
#'   intervals are set.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/StepCounterHook>
#' @seealso [hooks]
#' @examples
#' hook_step_counter(every_s = 10)
#' @export
hook_step_counter <- function(
  # Fields of hook$step_counter without every_n_steps
  every_n_steps = 100,
  every_s = NULL,
  output_dir = NULL,
  summary_writer = NULL,
  ...
) {
  renamed <- check_call(..., .renames = TRUE)
  if (missing(every_n_steps) && !is.null(every_s %||% renamed$every_s)) {
    every_n_steps <- NULL
  }
  describe("hook", "step_counter", as.list(environment()), renamed)
}

#' Profile steps of a training
#'
#' Records what TensorFlow does in some steps, on the CPU and on GPUs, to find out what a slow training waits for. The
#' profile is in the directory `profile` of the model, with a directory for each task of a cluster. [tensorboard()]
#' shows it if the Python package tensorboard-plugin-profile is installed.
#'
#' Profile few steps, some time after the start. Profiled steps take longer. Small models take many steps
#' in one run, and are profiled so.
#'
#' @eval help_of("hook_profiler")
#' @returns A description of class `tfdistribute_profiler_hook`.
#' @section Errors: `tfdistribute_argument_error` if an argument has the wrong type or is out of range, or a verb that
#'   does not train gets the hook.
#' @references <https://www.tensorflow.org/guide/profiler>
#' @seealso [hooks], [tensorboard()]
#' @examples
#' hook_profiler(steps = c(110, 120))
#' @export
hook_profiler <- function(
  # Fields of hook$profiler
  steps,
  output_dir = NULL,
  ...
) {
  check_call(...)
  describe("hook", "profiler", as.list(environment()))
}

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
