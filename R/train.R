#' Train a model
#'
#' Trains for a number of steps or until the input ends. A model that was trained before continues from the newest
#' checkpoint in its `model_dir`, even if the strategy was another; a message says so if that checkpoint is from before
#' this R session. It does not evaluate: see [train_and_evaluate()].
#'
#' Ctrl-C (or Esc in RStudio) finishes the step, writes the checkpoint, says at which step, and then raises an
#' `interrupt`; the next `train()` continues from there, and [training_history()] has the losses. A second Ctrl-C stops
#' at once.
#'
#' If the estimator's [run_config()] has a cluster on this machine, such as [local_cluster()], its processes are started
#' to train; see [launch()]. If `TF_CONFIG` makes this process a task of a cluster, it trains as that task.
#'
#' @param object An estimator, such as [dnn_regressor()] makes.
#' @param input_fn Data to train on: an [input_fn()], or a function that returns a `tf.data.Dataset`. Or a formula such
#'   as `y ~ x`, followed by a data frame or with one as `data`. `model_dir` keeps the names of these columns, so that
#'   [evaluate()] and [predict()][predict.tfdistribute_estimator] take a data frame alone.
#' @param steps Steps to train, a count; NULL until the input ends.
#' @param hooks [Hooks][hooks], such as [hook_early_stopping()], or TensorFlow's own; one or a list.
#' @param max_steps Global step at which to stop, a count; NULL for no limit. Not together with `steps`.
#' @param saving_listeners `tf.estimator.CheckpointSaverListener` objects, one or a list.
#' @param view TRUE to show losses and metrics while the model trains, see [view()]; FALSE not to; `"auto"` to show them
#'   if this session is interactive and has a Viewer, as in RStudio.
#' @param background TRUE to train in processes of their own and return at once: with the estimator's cluster, as
#'   [launch()] does with `wait = FALSE`; without a cluster and a strategy, in one process on this machine.
#' @param ... With a formula: `data`, and other arguments of [input_fn()], such as `batch_size` and `num_epochs` (also
#'   as `epochs`). Otherwise must be empty.
#' @returns Invisibly, a [history][history] with the mean loss of a batch by step and the examples per second. With
#'   `background = TRUE`, a [job][jobs].
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' * `tfdistribute_input_error`: data and model do not match.
#' * `tfdistribute_sharding_error`: the batch cannot be divided over the devices.
#' * `tfdistribute_model_directory_error`: `model_dir` cannot be used.
#' * `tfdistribute_strategy_error`: the devices do not exist.
#' * `tfdistribute_run_config_error`: the settings do not fit the model or each other.
#' * `tfdistribute_training_error`: TensorFlow stopped.
#' * With a cluster, those of [launch()].
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#train>
#' @seealso [evaluate()], [predict.tfdistribute_estimator()], [run_config()], [launch()]
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' history <- train(model, mpg ~ wt + hp, data = mtcars, epochs = 10)
#' history
#' @export
train <- function(object, ...) {
  check_required()
  UseMethod("train")
}

#' @rdname train
#' @export
train.tfdistribute_estimator <- function(
  object,
  input_fn,
  steps = NULL,
  hooks = NULL,
  max_steps = NULL,
  saving_listeners = NULL,
  view = getOption("tfdistribute.view", "auto"),
  background = FALSE,
  ...
) {
  check_call(
    input_fn = "Give a formula and `data`, or an input that input_fn() makes.",
    also = if (!missing(input_fn)) row_arguments(input_fn)
  )
  is_data_next <- rlang::is_formula(input_fn) && !is.null(steps) && !is.numeric(steps)
  if (is_data_next && !"data" %in% ...names_of(...)) {
    # As in lm(), data follows the formula.
    rest <- list(
      hooks = hooks,
      max_steps = max_steps,
      saving_listeners = saving_listeners,
      view = view,
      background = background
    )
    return(rlang::inject(train(object, input_fn, data = steps, !!!rest, ...)))
  }
  input <- input_of_verb(input_fn, object, "train", ...)
  steps <- check_count(steps, null = TRUE)
  max_steps <- check_count(max_steps, null = TRUE)
  hooks <- check_hooks(hooks)
  saving_listeners <- check_python_objects(saving_listeners, "CheckpointSaverListener objects")
  arguments <- list(
    input_fn = input,
    steps = steps,
    hooks = hooks,
    max_steps = max_steps,
    saving_listeners = saving_listeners
  )
  background <- check_flag(background)
  if (shows_progress(hooks)) {
    note_large_features(object, input)
  }
  note_continuation(object)
  if (background) {
    return(perform_in_background(object, "train", arguments, view))
  }
  page <- page_of_verb(view, hooks)
  history <- perform_by_job(object, "train", arguments, page)
  if (!is.null(history)) {
    return(invisible(history))
  }
  progress <- new_progress(show = shows_progress(hooks), page = page)
  on.exit(progress$finish())
  answer <- call_backend(
    "train",
    estimator = object,
    input = input,
    steps = steps,
    max_steps = max_steps,
    hooks = hooks,
    saving_listeners = saving_listeners,
    listener = progress$listener,
    page = page$directory
  )
  history <- new_history(answer)
  record_history(history)
  invisible(history)
}

#' @export
train.default <- function(object, ...) {
  check_estimator(object)
}

# A training continues from the newest checkpoint. Whoever runs a script or a pipeline again may expect a new model.
# Therefore a checkpoint from before this session is named, once. The session that starts a job does so for its tasks.
note_continuation <- function(object) {
  directory <- absolute_path(object$model_dir)
  is_known <- isTRUE(attr(object, "temporary")) || directory %in% the$trained_directories
  if (is_known || nzchar(Sys.getenv(job_variable))) {
    return(invisible())
  }
  the$trained_directories <- c(the$trained_directories, directory)
  checkpoint <- call_backend("latest_checkpoint", model_dir = directory)
  if (!is.null(checkpoint)) {
    cli::cli_inform(c(
      i = "Training continues from {.file {basename(checkpoint)}} in `model_dir` {.val {directory}}.",
      i = "To train from step 0, delete that directory or give another one."
    ))
  }
}
