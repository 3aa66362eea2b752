# Hooks that write files.

#' Write checkpoints at another interval
#'
#' In the model's own directory, the hook replaces the checkpoints of [run_config()]. In another directory, it writes
#' additional ones and keeps the newest five. (In TensorFlow, a saver for another directory leaves `model_dir` without
#' checkpoints.) A checkpoint is also written before the first step and after the last.
#'
#' @param checkpoint_dir Directory, a string; NULL for the model's.
#' @param save_secs Seconds between checkpoints, a number.
#' @param save_steps Steps between checkpoints, a count. Exactly one of `save_secs` and `save_steps` is required.
#' @param saver A Python `tf.compat.v1.train.Saver`; NULL saves all variables.
#' @param checkpoint_basename First part of the file names, a string.
#' @param scaffold A Python `tf.compat.v1.train.Scaffold` with the saver to use, or NULL. Not together with `saver`.
#' @param listeners `tf.estimator.CheckpointSaverListener` objects, one or a list.
#' @param ... Must be empty.
#' @returns A description of class `tfdistribute_checkpoint_saver_hook`.
#' @section Errors: `tfdistribute_argument_error`: an argument has the wrong type or is out of range, or the hook is
#'   given to a verb that does not train.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/CheckpointSaverHook>
#' @seealso [hooks]
#' @examples
#' hook_checkpoint_saver("backup", save_steps = 1000)
#' @export
hook_checkpoint_saver <- function(
  checkpoint_dir = NULL,
  save_secs = NULL,
  save_steps = NULL,
  saver = NULL,
  checkpoint_basename = "model.ckpt",
  scaffold = NULL,
  listeners = NULL,
  ...
) {
  check_call()
  check_one_given(list(save_secs = save_secs, save_steps = save_steps))
  if (!is.null(saver) && !is.null(scaffold)) {
    check_one_given(list(saver = saver, scaffold = scaffold))
  }
  new_hook(
    "checkpoint_saver",
    checkpoint_dir = check_path(checkpoint_dir),
    save_secs = check_positive(save_secs, null = TRUE),
    save_steps = check_count(save_steps, null = TRUE),
    saver = check_python_object(saver, "a Python Saver"),
    checkpoint_basename = check_string(checkpoint_basename),
    scaffold = check_python_object(scaffold, "a Python Scaffold"),
    listeners = check_python_objects(listeners, "CheckpointSaverListener objects")
  )
}

#' Write additional summaries for TensorBoard
#'
#' Writes summaries at an interval and to a directory of its own, in addition to those of `save_summary_steps` in
#' [run_config()].
#'
#' @inheritParams hook_step_counter
#' @param save_steps Steps between summaries, a count.
#' @param save_secs Seconds between summaries, a number. Exactly one of `save_steps` and `save_secs` is required.
#' @param scaffold A Python `tf.compat.v1.train.Scaffold` whose summaries are written, or NULL.
#' @param summary_op A summary tensor or its name, or several; NULL for all summaries of the graph. Not together with
#'   `scaffold`.
#' @param ... Must be empty.
#' @returns A description of class `tfdistribute_summary_saver_hook`.
#' @section Errors: `tfdistribute_argument_error`: an argument has the wrong type or is out of range, or the graph does
#'   not have the summary.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/SummarySaverHook>
#' @seealso [hooks]
#' @examples
#' hook_summary_saver(save_steps = 50, output_dir = "logs")
#' @export
hook_summary_saver <- function(
  save_steps = NULL,
  save_secs = NULL,
  output_dir = NULL,
  summary_writer = NULL,
  scaffold = NULL,
  summary_op = NULL,
  ...
) {
  check_call()
  check_one_given(list(save_steps = save_steps, save_secs = save_secs))
  if (!is.null(scaffold) && !is.null(summary_op)) {
    check_one_given(list(scaffold = scaffold, summary_op = summary_op))
  }
  new_hook(
    "summary_saver",
    save_steps = check_count(save_steps, null = TRUE),
    save_secs = check_positive(save_secs, null = TRUE),
    output_dir = check_path(output_dir),
    summary_writer = check_python_object(summary_writer, "a Python SummaryWriter"),
    scaffold = check_python_object(scaffold, "a Python Scaffold"),
    summary_op = if (!is.null(summary_op)) unname(check_tensors(summary_op))
  )
}

#' Write additional records of the training speed for TensorBoard
#'
#' Writes the steps per second at an interval and to a directory of its own, in addition to those of
#' `log_step_count_steps` in [run_config()]. The examples per second are in the [history][history].
#'
#' @param every_n_steps Steps between records, a count; ignored if only `every_n_secs` is given.
#' @param every_n_secs Seconds between records, a number.
#' @param output_dir Directory, a string; NULL for the model's.
#' @param summary_writer A Python `SummaryWriter` to use instead of `output_dir`, or NULL.
#' @param ... Must be empty.
#' @returns A description of class `tfdistribute_step_counter_hook`.
#' @section Errors: `tfdistribute_argument_error`: an argument has the wrong type or is out of range, or both intervals
#'   are given.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/StepCounterHook>
#' @seealso [hooks]
#' @examples
#' hook_step_counter(every_n_secs = 10)
#' @export
hook_step_counter <- function(
  every_n_steps = 100,
  every_n_secs = NULL,
  output_dir = NULL,
  summary_writer = NULL,
  ...
) {
  check_call()
  if (missing(every_n_steps) && !is.null(every_n_secs)) {
    every_n_steps <- NULL
  }
  check_one_given(list(every_n_steps = every_n_steps, every_n_secs = every_n_secs))
  new_hook(
    "step_counter",
    every_n_steps = check_count(every_n_steps, null = TRUE),
    every_n_secs = check_positive(every_n_secs, null = TRUE),
    output_dir = check_path(output_dir),
    summary_writer = check_python_object(summary_writer, "a Python SummaryWriter")
  )
}
