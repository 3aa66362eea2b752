#' Run configuration: strategy and settings of a training
#'
#' Has every setting of TensorFlow's `tf.estimator.RunConfig`, with the same names and, except for `"auto"`, the same
#' defaults. Pass it to an estimator's constructor as `config`. It is a plain R value, so neither Python nor TensorFlow
#' is started.
#'
#' @eval help_of("run_config")
#' @returns A description of class `tfdistribute_run_config`. Printing it shows the settings that differ from the
#'   defaults.
#' @section Steps per run:
#' On a small model, most of a step's time is the overhead of starting it. `train()` and `train_and_evaluate()`
#' therefore run many steps in one call, inside TensorFlow. Only the speed changes: on one device the weights are
#' identical to the bit. Every row is used, and checkpoints, summaries, evaluations, [hooks] and the history belong to
#' the same steps. `"auto"` begins with one step per run and increases it after a third of a second of training. A run
#' takes about a twentieth of a second, so that Ctrl-C and the progress display respond, or up to half a second when the
#' work between two runs is expensive, for example when many workers must agree on the next run.
#'
#' Each run has one step, and the history's `notes` give the reason, if
#' * a hook observes every step, which is either a [hook_session_run()] with `before_run` or `after_run` but without
#'   `every_n_steps`, or an unknown TensorFlow hook.
#' * the graph contains something that cannot be repeated within a run, such as variables made with
#'   `use_resource = FALSE`, or dropout together with `micro_batches`.
#'
#' Under [strategy_multi_worker()], all workers use the same number of steps per run, which is the smallest number that
#' any of them supports. If a hook on one worker observes every step, all workers use one step per run. With parameter
#' servers, each run has one step.
#' @section Compiled steps:
#' In a small model, TensorFlow spends most of a step on starting its operations. XLA compiles the loop of steps into
#' one program, which trains small models two to three times as fast, and linear models of categories seven to nine
#' times as fast. Compiling takes about half a second. The weights differ from the weights with `compile = FALSE` in the
#' last digits only, and two compiled trainings are identical to the bit. The history's `compiled` is TRUE if the steps
#' were compiled.
#'
#' `"auto"` compiles a training of one process on one CPU device if its rows are in memory, it is known to have at least
#' 20,000 steps, and its matrix products are small enough for XLA. It decides by the model and the number of steps and
#' never by time, so the same script with the same versions always trains in the same way. On a machine with a GPU, only
#' trainings under `strategy_one_device("CPU:0")` are compiled. Some steps cannot be compiled, for example steps of a
#' model function with `tf$py_function()` or strings, and steps that a hook observes one by one. `compile = TRUE` raises
#' an error with the reason.
#' @section Precision:
#' With `"mixed_bfloat16"` or `"mixed_float16"`, matrix products and convolutions of training, evaluation and prediction
#' use 16-bit numbers, so losses differ from the losses with `"float32"` in the third digit. Everything else, including
#' variables and optimizers, stays in 32 bits, so checkpoints are the same for every precision, and training can
#' continue with another one. An exported model computes in 32 bits. Large layers gain most, and layers of less than
#' about 100 units gain nothing.
#'
#' * `"mixed_bfloat16"` is for CPUs with instructions for it (`avx512_bf16` or `amx_bf16` in `/proc/cpuinfo`).
#' * `"mixed_float16"` is for GPUs, because CPUs compute in 32 bits. Losses are multiplied by a power of two before they
#'   are differentiated, because small gradients would be zero in float16. If the gradients of a part of a batch are
#'   then too large, the part is computed again with half that factor, so no step is omitted. Measure whether it is
#'   faster. On an NVIDIA H200, layers of 4096 units trained faster in 32 bits, see `vignette("how-fast")`.
#'
#' The history's `notes` report if the machine nevertheless computes in 32 bits, or is not faster. Keras
#' models with their own policy need no setting.
#' @section Micro-batches:
#' `micro_batches = 4` accumulates gradients. Each device divides its share of a batch into four micro-batches, computes
#' them one after another, adds up their gradients, and updates the variables once. The numbers are the same as for the
#' whole batch, up to the order of sums, but the memory for activations is only as large as for one micro-batch. A step
#' is one step for the global step, hooks and summaries. Batches need not be a multiple of the micro-batches, and
#' evaluation and prediction use whole batches. A model function is called once, with the first micro-batch.
#'
#' Gradients are accumulated before the optimizer reads them, so the optimizer's clipping (`clipnorm`, `clipvalue`,
#' `global_clipnorm`) sees the gradient of the whole batch. The same is true of a model function that clips the result
#' of `tf$gradients()` or of a tape. Some results depend on the micro-batches. Batch normalization uses the mean of a
#' micro-batch (its moving averages use the mean of all), dropout draws other values for each, and histograms and
#' tensors that hooks read by name come from the first micro-batch. Other scalar summaries than the loss are the mean
#' over the micro-batches.
#'
#' Everything else that changes a variable, such as a counter or a moving average of the model's own, runs once per
#' step. If it depends on the rows, its value is computed from the whole batch, which takes a forward pass more and the
#' memory of this pass. A variable with `aggregation = tf$VariableAggregation$MEAN` (or `SUM`) gets the mean (or sum) of
#' the micro-batches' values instead.
#'
#' Micro-batches do not work with [strategy_parameter_server()], which has no step on the whole batch, with losses that
#' are sums (except in canned models), or with existing Estimators. They also do not work with models that exchange
#' values between devices before the loss, or if a variable depends on the result of an R or Python function.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_unsupported_error`, from a verb, if `compile` is TRUE, and the steps cannot be compiled.
#' * `tfdistribute_model_error` if `micro_batches` is set, and something in the model cannot be computed in parts.
#' * `tfdistribute_run_config_error`, `tfdistribute_strategy_error`, `tfdistribute_sharding_error` or
#'   `tfdistribute_unsupported_error`, from a verb before it trains, if settings exclude each other, or do not fit the
#'   model, the data or the machine.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/estimator/RunConfig>
#' @seealso [as_python()] for TensorFlow's own object, which tfestimators accepts, and [strategies].
#' @examples
#' run_config()
#' run_config(strategy_mirrored(devices = 2), save_checkpoints_steps = 500)
#' run_config(cluster = local_cluster(workers = 2))
#' run_config(precision = "mixed_bfloat16", micro_batches = 4)
#' run_config(compile = FALSE)
#' run_config(session_config = list(intra_op_parallelism_threads = 2))
#' @export
run_config <- function(
  # Fields of run_config
  strategy = NULL,
  eval_distribute = NULL,
  model_dir = NULL,
  seed = 1,
  save_summary_steps = "auto",
  save_checkpoints_steps = NULL,
  save_checkpoints_secs = if (is.null(save_checkpoints_steps)) 600,
  session_config = NULL,
  keep_checkpoint_max = 5,
  keep_checkpoint_every_n_hours = 10000,
  log_step_count_steps = "auto",
  device_fn = NULL,
  protocol = NULL,
  session_creation_timeout_secs = 7200,
  experimental_distribute = NULL,
  experimental_max_worker_delay_secs = NULL,
  checkpoint_save_graph_def = TRUE,
  cluster = NULL,
  steps_per_run = "auto",
  precision = c("float32", "mixed_bfloat16", "mixed_float16"),
  micro_batches = 1,
  compile = "auto",
  track = NULL,
  ...
) {
  renamed <- check_call(..., .renames = TRUE)
  session_config <- check_session_config(session_config)
  arguments <- replace(as.list(environment()), names(renamed), renamed)
  structure(check_fields(schema$run_config, arguments), class = "tfdistribute_run_config")
}

# Checkpoints are written by steps or by seconds, so setting one turns the other off, as in run_config().
#' @export
`$<-.tfdistribute_run_config` <- function(x, name, value) {
  intervals <- c("save_checkpoints_steps", "save_checkpoints_secs")
  arguments <- unclass_list(x)
  if (name %in% intervals && !is.null(value)) {
    arguments[setdiff(intervals, name)] <- list(NULL)
  }
  change_field(arguments, name, value, "run_config")
}

#' @export
`[[<-.tfdistribute_run_config` <- `$<-.tfdistribute_run_config`

#' @export
print.tfdistribute_run_config <- function(x, ...) {
  print_description(x, format_settings(x))
}

format_settings <- function(x) {
  changed <- names(x)[!mapply(identical, unclass(x), unclass(run_config())[names(x)])]
  # Seconds are off because steps are given, and these are shown.
  if (!is.null(x$save_checkpoints_steps)) {
    changed <- setdiff(changed, "save_checkpoints_secs")
  }
  shown <- intersect(names(x), c("strategy", changed))
  values <- vapply(
    shown,
    function(name) if (name == "strategy") show_strategy(x) else format_setting(x[[name]]),
    ""
  )
  c("<run_config>", paste0("  ", shown, ": ", values))
}

format_setting <- function(value) {
  if (is.null(value)) {
    return("NULL")
  }
  if (inherits(value, "tfdistribute_strategy")) {
    return(format(value))
  }
  if (inherits(value, "tfdistribute_cluster")) {
    return(show_task_names(value))
  }
  if (inherits(value, "tfdistribute_tracker")) {
    return(format(value))
  }
  if (is.list(value)) {
    return(toString(format_fields(value)))
  }
  show_value(value)
}

# The model with the cluster and the strategy of a call.
with_cluster <- function(object, cluster, strategy = object$config$strategy) {
  check_cluster_argument(cluster, null = TRUE)
  check_strategy(strategy)
  config <- object$config
  if (!identical(cluster, config$cluster) || !identical(strategy, config$strategy)) {
    config <- config %||% run_config()
    config[c("cluster", "strategy")] <- list(cluster, strategy)
    object["config"] <- list(config)
  }
  object
}

# Checks and printing of the session settings of run_config().

# Check the form of the fields. Python checks their names and values.
check_session_config <- function(settings, path = "session_config") {
  if (is.null(settings)) {
    return(NULL)
  }
  if (is_python_object(settings) || !is.list(settings)) {
    abort_argument(settings, "a named list", path)
  }
  if (length(settings) == 0) {
    return(NULL)
  }
  if (!rlang::is_named(settings) || anyDuplicated(names(settings))) {
    abort_tfdistribute(
      "argument",
      problem = "`{path}` must name each of its {length(settings)} fields once.",
      remedy = "Write list(field = value)."
    )
  }
  for (field in names(settings)) {
    check_session_field(settings[[field]], paste0(path, "$", field))
  }
  settings
}

check_session_field <- function(value, path) {
  if (is.list(value)) {
    # A repeated field of messages is a list without names.
    if (is.null(names(value))) {
      lapply(value, check_session_field, path)
    } else {
      check_session_config(value, path)
    }
  } else if (!is.atomic(value) || is.null(value) || anyNA(value)) {
    abort_argument(value, "a number, a string, TRUE, FALSE or a named list", path)
  }
}

# "gpu_options$allow_growth = TRUE": one string for each field without further fields.
format_fields <- function(fields, path = NULL) {
  formatted <- lapply(names(fields), function(field) {
    here <- paste(c(path, field), collapse = "$")
    value <- fields[[field]]
    if (rlang::is_named(value) && is.list(value)) {
      format_fields(value, here)
    } else {
      paste(here, "=", show_value(if (is.list(value)) unlist(value) else value))
    }
  })
  unlist(formatted)
}
