# Hooks that write files.

#' Write checkpoints at intervals of their own
#'
#' In the model's own directory the hook takes the place of the checkpoints that [run_config()] asks for. In another
#' directory it writes further ones, the five newest of which are kept; the model's own stay as they are. (In
#' TensorFlow a saver for another directory leaves `model_dir` without checkpoints.) A checkpoint is also written
#' before the first step and after the last.
#'
#' @param checkpoint_dir Directory, a string; NULL for the model's.
#' @param save_secs Seconds between two checkpoints, a number.
#' @param save_steps Steps between two checkpoints, a count. One of the two is given.
#' @param saver A Python `tf.compat.v1.train.Saver`, or NULL for one that saves all variables.
#' @param checkpoint_basename First part of the files' names, a string.
#' @param scaffold A Python `tf.compat.v1.train.Scaffold` whose saver is used, or NULL. Not together with `saver`.
#' @param listeners `tf.estimator.CheckpointSaverListener` objects, one or a list.
#' @return A description of class `tfdistribute_checkpoint_saver_hook`.
#' @section Errors:
#' `tfdistribute_argument_error` where an argument is no such value, or a verb that does not train is given the hook.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/estimator/CheckpointSaverHook>
#' @family hooks
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
  listeners = NULL
) {
  check_one_given(list(save_secs = save_secs, save_steps = save_steps), "hook_checkpoint_saver")
  if (!is.null(saver) && !is.null(scaffold)) {
    check_one_given(list(saver = saver, scaffold = scaffold), "hook_checkpoint_saver")
  }
  new_hook(
    "checkpoint_saver",
    checkpoint_dir = check_directory(checkpoint_dir, "checkpoint_dir"),
    save_secs = check_seconds(save_secs, "save_secs"),
    save_steps = check_count(save_steps, "save_steps", null = TRUE),
    saver = check_python_object(saver, "saver", "a Python Saver"),
    checkpoint_basename = check_string(checkpoint_basename, "checkpoint_basename"),
    scaffold = check_python_object(scaffold, "scaffold", "a Python Scaffold"),
    listeners = check_python_objects(listeners, "listeners", "CheckpointSaverListener objects")
  )
}

#' Write summaries for TensorBoard at intervals of their own
#'
#' Besides those that [run_config()] asks for with `save_summary_steps`.
#'
#' @param save_steps Steps between two summaries, a count.
#' @param save_secs Seconds between two summaries, a number. One of the two is given.
#' @param output_dir Directory, a string; NULL for the model's.
#' @param summary_writer A Python `SummaryWriter` in place of `output_dir`, or NULL.
#' @param scaffold A Python `tf.compat.v1.train.Scaffold` whose summaries are written, or NULL.
#' @param summary_op A summary tensor or its name, or several; NULL for all summaries of the graph. Not together with
#'   `scaffold`.
#' @return A description of class `tfdistribute_summary_saver_hook`.
#' @section Errors:
#' `tfdistribute_argument_error` where an argument is no such value, or the graph has no such summary.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/estimator/SummarySaverHook>
#' @family hooks
#' @examples
#' hook_summary_saver(save_steps = 50, output_dir = "logs")
#' @export
hook_summary_saver <- function(
  save_steps = NULL,
  save_secs = NULL,
  output_dir = NULL,
  summary_writer = NULL,
  scaffold = NULL,
  summary_op = NULL
) {
  check_one_given(list(save_steps = save_steps, save_secs = save_secs), "hook_summary_saver")
  if (!is.null(scaffold) && !is.null(summary_op)) {
    check_one_given(list(scaffold = scaffold, summary_op = summary_op), "hook_summary_saver")
  }
  new_hook(
    "summary_saver",
    save_steps = check_count(save_steps, "save_steps", null = TRUE),
    save_secs = check_seconds(save_secs, "save_secs"),
    output_dir = check_directory(output_dir, "output_dir"),
    summary_writer = check_python_object(
      summary_writer,
      "summary_writer",
      "a Python SummaryWriter"
    ),
    scaffold = check_python_object(scaffold, "scaffold", "a Python Scaffold"),
    summary_op = if (!is.null(summary_op)) unname(check_tensors(summary_op, "summary_op"))
  )
}

#' Write the steps per second for TensorBoard
#'
#' Training writes them every `log_step_count_steps` of [run_config()] already; this hook does it at an interval and
#' in a place of its own. The examples per second are in the [history][history].
#'
#' @param every_n_steps Steps between two entries, a count; not used where `every_n_secs` is given alone.
#' @param every_n_secs Seconds between two entries, a number. One of the two is given.
#' @param output_dir Directory, a string; NULL for the model's.
#' @param summary_writer A Python `SummaryWriter` in place of `output_dir`, or NULL.
#' @return A description of class `tfdistribute_step_counter_hook`.
#' @section Errors:
#' `tfdistribute_argument_error` where an argument is no such value.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/estimator/StepCounterHook>
#' @family hooks
#' @examples
#' hook_step_counter(every_n_secs = 10)
#' @export
hook_step_counter <- function(
  every_n_steps = 100,
  every_n_secs = NULL,
  output_dir = NULL,
  summary_writer = NULL
) {
  if (missing(every_n_steps) && !is.null(every_n_secs)) {
    every_n_steps <- NULL
  }
  check_one_given(
    list(every_n_steps = every_n_steps, every_n_secs = every_n_secs),
    "hook_step_counter"
  )
  new_hook(
    "step_counter",
    every_n_steps = check_count(every_n_steps, "every_n_steps", null = TRUE),
    every_n_secs = check_seconds(every_n_secs, "every_n_secs"),
    output_dir = check_directory(output_dir, "output_dir"),
    summary_writer = check_python_object(summary_writer, "summary_writer", "a Python SummaryWriter")
  )
}
