#' Train a model
#'
#' Trains for a number of steps or until the input ends. A model that was trained before continues from the newest
#' checkpoint in its `model_dir`, even if the strategy was different. A message reports this if the checkpoint is from
#' before this R session. `train()` does not evaluate. See [train_and_evaluate()].
#'
#' The order of the rows also continues: a later training begins after the rows that `model_dir` has read, in the same
#' sequence of epochs. Ten calls of `train(steps = 5)` therefore give the weights of one `train(steps = 50)`, and
#' `epochs = 1` three times gives the weights of `epochs = 3` if the batches divide the rows. `epochs` counts from where
#' the call begins. The position counts rows, so the batch size may change, and data with another number of rows begins
#' with its next epoch. The order depends on the seed, so `run_config(seed = NULL)` draws a new order for each call.
#' [input_generator()] and functions that return datasets begin anew.
#'
#' One training at a time may write a `model_dir`. While a training or a job runs there, another one is an error.
#'
#' Ctrl-C (or Esc in RStudio) finishes the step, writes the checkpoint, reports the step, and then raises an
#' `interrupt`. The next `train()` continues from this checkpoint, and [training_history()] contains the losses. A
#' second Ctrl-C stops immediately. SIGTERM, as a scheduler sends it before preemption, also saves and then ends the
#' process, unless the program has a handler of its own.
#'
#' With `cluster = local_cluster(2)`, two processes on this machine train together. The estimator's [run_config()] can
#' contain a cluster and a strategy for every training of the model. See [launch()]. If `TF_CONFIG` makes this process a
#' task of a cluster, it trains as that task.
#'
#' @param object An estimator, such as a [dnn_regressor()].
#' @param input_fn Data to train on: an [input_fn()], a function that returns a `tf.data.Dataset`, or a formula such as
#'   `y ~ x`, followed by a data frame, as in [lm()], or with a data frame as `data`. A Spark DataFrame is data, too, as
#'   described in "Spark DataFrames" of [input_fn()]. `model_dir` keeps the names of these columns, so
#'   that [evaluate()] and [predict()][predict.tfdistribute_estimator] accept a data frame alone.
#' @param steps Steps to train, a count. NULL trains until the input ends. With `steps` or `max_steps`, a data frame is
#'   read again until they are done, unless the call has `epochs`.
#' @param hooks [Hooks][hooks], such as [hook_early_stopping()], or TensorFlow's own hooks, one or a list.
#' @param max_steps Global step at which to stop, a count. NULL sets no limit. Not together with `steps`.
#' @param saving_listeners `tf.estimator.CheckpointSaverListener` objects, one or a list.
#' @param view Whether losses and metrics are shown while the model trains, TRUE or FALSE. `"auto"` shows them if this
#'   session is interactive and has a Viewer, as in RStudio. See [view_training()].
#' @param wait FALSE to train in separate processes and return once they have started. These are the processes of the
#'   cluster, as in [launch()], or one process on this machine without a cluster and a strategy. This session trains
#'   nothing then.
#' @param cluster The processes that train together, such as a [local_cluster()], in place of the cluster in the
#'   estimator's [run_config()]. NULL trains in this process.
#' @param strategy A strategy such as [strategy_mirrored()], in place of the strategy in the [run_config()]. With NULL,
#'   the cluster chooses: see [run_config()].
#' @param validation Rows that choose the end of a [tabular_regressor()] or [tabular_classifier()] in place of a share
#'   of the training rows, which then all train: a data frame for the formula, or an input with the same columns as
#'   `input_fn`. NULL uses the model's `validation`.
#' @param ... With a formula, `data` and other arguments of [input_fn()], such as `batch_size` and `epochs`, or
#'   `staging` for data in Spark. Otherwise must be empty.
#' @returns A [history][history] with the mean loss of a batch by step and the examples per second, invisibly. With
#'   `wait = FALSE`, a [job][jobs].
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_input_error` if data and model do not match.
#' * `tfdistribute_sharding_error` if the batch cannot be divided over the devices.
#' * `tfdistribute_model_directory_error` if `model_dir` cannot be used.
#' * `tfdistribute_strategy_error` if the devices do not exist.
#' * `tfdistribute_run_config_error` if the settings do not fit the model or each other.
#' * `tfdistribute_training_error` if TensorFlow stops with an error.
#' * The errors of [launch()], with a cluster.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#train>
#' @seealso [evaluate()], [predict.tfdistribute_estimator()], [run_config()], [launch()]
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' history <- train(model, mpg ~ wt + hp, data = mtcars, epochs = 10)
#' history
#' \donttest{
#' train(model, mpg ~ wt + hp, data = mtcars, batch_size = 16, cluster = local_cluster(2))
#' }
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
  wait = TRUE,
  cluster = object$config$cluster,
  strategy = object$config$strategy,
  validation = NULL,
  ...
) {
  rows <- data_by_position()
  check_call(
    ...,
    .remedies = list(input_fn = "Give a formula and `data`, or an input that input_fn() makes."),
    .also = if (!missing(input_fn)) row_arguments(input_fn)
  )
  object <- with_cluster(object, cluster, strategy)
  wait <- check_flag(wait)
  if (chooses_end(object)) {
    refuse_length(object, ...names_of(...))
  }
  repeats <- !is.null(steps) || !is.null(max_steps)
  input <- input_of_verb(input_fn, object, "train", ..., rows = rows, repeats = repeats)
  if (wait) {
    on.exit(remove_rows(input))
  }
  if (learns_columns(object)) {
    refuse_sparse(source_of(input)$sparse, "a tabular model")
  }
  arguments <- list(
    input_fn = input,
    steps = check_count(steps, null = TRUE),
    hooks = check_hooks(hooks),
    max_steps = check_count(max_steps, null = TRUE),
    saving_listeners = check_python_objects(saving_listeners, "CheckpointSaverListener objects")
  )
  arguments$validation <- validation_input(validation, object, input_fn, ...)
  result <- perform_verb(new_work(object, "train", arguments), wait, view = view)
  if (wait) invisible(result) else result
}

# The rows by which a tabular model chooses its end, as the input of the training; NULL without them.
validation_input <- function(validation, object, training, ..., data) {
  if (is.null(validation)) {
    return(NULL)
  }
  if (!chooses_end(object)) {
    abort_tfdistribute(
      "argument",
      problem = "`validation` chooses the end of tabular models, and `object` is a {object$kind}.",
      remedy = "Use train_and_evaluate() with hook_early_stopping(), or a tabular_regressor()."
    )
  }
  if (is_data(validation) && rlang::is_formula(training)) {
    return(input_of_verb(training, object, "train", data = validation, ...))
  }
  if (!inherits(validation, "tfdistribute_input")) {
    abort_argument(
      validation,
      "a data frame for the formula, or an input",
      remedy = "Give a share to the model, as in tabular_regressor(validation = 0.2)."
    )
  }
  validation
}

# A tabular model has these arguments itself, and trees read all rows once.
refuse_length <- function(object, names) {
  given <- intersect(own_name(names), c("batch_size", "epochs"))
  if (length(given) > 0) {
    abort_tfdistribute(
      "argument",
      problem = c(
        "train() of {if (is_trees(object)) 'boosted trees' else 'a tabular model'} ",
        "has no argument `{given[[1]]}`."
      ),
      remedy = if (is_trees(object)) {
        "Leave it out, and give the model the number of its trees, as in {object$kind}(n_trees = 100)."
      } else {
        "Give it to the model, as in tabular_regressor(epochs = 20, batch_size = 256)."
      },
      argument = given[[1]]
    )
  }
}

#' @export
train.default <- function(object, ...) {
  verb_of_others("train", object, ...)
}

#' Train a model and evaluate it regularly
#'
#' Trains like [train()], and evaluates after checkpoints (see `throttle_secs` of [eval_spec()]) and once at the end.
#' With a cluster on this machine, its processes are started to train and its evaluator evaluates. See [launch()].
#'
#' @inheritParams train
#' @param train_spec A [train_spec()].
#' @param eval_spec An [eval_spec()].
#' @returns A [history][history] with the losses of training and the metrics of every evaluation. With
#'   `wait = FALSE`, a [job][jobs].
#' @section Errors: The errors of [train()], [evaluate()] and, with a cluster, [launch()].
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/train_and_evaluate>
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' train_and_evaluate(
#'   model,
#'   train_spec(input_fn(mpg ~ wt + hp, mtcars, epochs = NULL), max_steps = 50),
#'   eval_spec(input_fn(mpg ~ wt + hp, mtcars))
#' )
#' @export
train_and_evaluate <- function(object, ...) {
  check_required()
  UseMethod("train_and_evaluate")
}

#' @rdname train_and_evaluate
#' @export
train_and_evaluate.tfdistribute_estimator <- function(
  object,
  train_spec,
  eval_spec,
  view = getOption("tfdistribute.view", "auto"),
  wait = TRUE,
  cluster = object$config$cluster,
  strategy = object$config$strategy,
  ...
) {
  remedies <- list(
    train_spec = "Make one with train_spec().",
    eval_spec = "Make one with eval_spec()."
  )
  check_call(..., .remedies = remedies)
  check_class(train_spec, "tfdistribute_train_spec", "a specification that train_spec() makes")
  check_class(eval_spec, "tfdistribute_eval_spec", "a specification that eval_spec() makes")
  object <- with_cluster(object, cluster, strategy)
  specs <- list(train_spec = train_spec, eval_spec = eval_spec)
  perform_verb(new_work(object, "train_and_evaluate", specs), check_flag(wait), view = view)
}

#' @export
train_and_evaluate.default <- function(object, ...) {
  verb_of_others("train_and_evaluate", object, ...)
}
