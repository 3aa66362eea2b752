# Estimators with a model function.

#' Make an estimator from a model function
#'
#' Trains a model function written in R. The function gets a batch as tensors and uses TensorFlow's functions ([tf]) to
#' return predictions, a loss and an optimizer. It is written for one device and works in the same way under every
#' strategy.
#'
#' TensorFlow calls the function at the start of a verb, once for each device, always on R's own thread. The function
#' builds the graph that TensorFlow then runs at every step, so no R code runs during the steps.
#'
#' @param model_fn R or Python function with any of these arguments, or `...`:
#'   * `features`: a named list of tensors, or one tensor, as the input provides them. A column of [input_fn()] has
#'     shape (batch), or (batch, width) if it contains several values per row. See "Features".
#'   * `labels`: the response, a tensor. NULL without a response, as in `predict()`. A factor is represented by its
#'     codes, from 0.
#'   * `mode`: `"train"`, `"eval"` or `"infer"`. See [mode_keys()].
#'   * `params`: the value of `params`.
#'   * `config`: a Python `tf.estimator.RunConfig`.
#'
#'   It returns an [estimator_spec()], or a named list with `loss`, `predictions`, `optimizer` (as in [optimizers], or
#'   an optimizer of `tf$compat$v1$train`) and, optionally, `eval_metric_ops`. `loss` and `predictions` are required in
#'   the modes that use them. `loss` is one number.
#' @eval help_of("estimator")
#' @param config A [run_config()] or NULL.
#' @param class Names that identify this model, strings. They become the first classes of the object, so that you can
#'   define methods, and are recorded in its checkpoints.
#' @returns A description of class `tfdistribute_custom_estimator`, `tfdistribute_estimator`.
#'
#' @section Features:
#' The named list is also one matrix for TensorFlow's functions, if all features are numbers. For example, `features$wt`
#' and `names(features)` read it as a list. `tf$matmul(features, weights)` and `features[, 1:2]` read it as a matrix of
#' shape (batch, columns), in the order of the features. Factors count as numbers. For functions that accept a
#' dictionary, such as a Keras model with several inputs, use `as.list(features)`.
#'
#' @section Several devices:
#' If the loss is a mean and `loss_reduction` is the default, every optimizer, including Keras's legacy optimizers,
#' minimizes the mean over all examples of a step, and this mean is reported. An optimizer clips the gradients of the
#' whole batch. Code that handles gradients itself sees the gradients of its own device, and batch normalization uses
#' the device's examples. Every device must run the same code, because `minimize()`, `all_reduce()` and metrics
#' synchronize the devices. New Keras optimizers (`tf$keras$optimizers$Adam()`) have no effect in a graph and are
#' rejected. Use `tf$keras$optimizers$legacy$Adam()`, or return the optimizer instead of calling it.
#'
#' @section Shapes in the loss:
#' Labels have the shape (batch), but layers such as `tf$keras$layers$Dense(1L)` return (batch, 1). TensorFlow would
#' combine each label with each prediction, so such a loss is rejected. Use `tf$squeeze(output, 1L)` to give both the
#' same shape.
#'
#' @section Parts of the model on different devices:
#' With [logical_device()] and [pipeline()], a model assigns its parts to the devices of its strategy. See
#' `vignette("models-in-parts")`. In contrast, `with(tf$device("CPU:1"), ...)` names a device directly. Variables
#' created inside it, their optimizer slots and the gradients of the operations are also placed there. Sessions get as
#' many CPU devices as the model names. If the machine does not have a GPU that the model names, TensorFlow replaces it
#' with another device, and `notes` of the [history] report this. [plan_training()] does not report it, because it does
#' not build the model. Under [strategy_central_storage()] and [strategy_parameter_server()], variables stay where the
#' strategy places them.
#'
#' @section Tensors in R:
#' TensorFlow requires whole numbers as `8L`. Lists become Python lists or, with names, dictionaries. R's operators work
#' on tensors (`x - y`, `x %/% 2L`, `-x`, `x > 0`), and a number gets the type of the tensor. `x[, 1]` and `x[1:n]`
#' count from 1, and a single position drops its dimension. `dim()` returns NA for the batch.
#'
#' R's functions of the groups [Math] and [Summary] also work on tensors (`exp(x)`, `round(x, 1)`, `max(x, y)`). The
#' same is true of `mean()`, `t()`, `cbind()`, `rbind()`, `head()` and `tail()`. With `axis = 1` and `axis = 2`, sums
#' and means are computed over columns and rows instead of all values. Instead of `%*%`, use `tf$matmul()`.
#'
#' If the package tensorflow or reticulate has one of these methods, R uses that method. A tensor has no value yet, so
#' `if (x > 0)` is an error. Use `tf$where()` instead.
#'
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_callback_error`, from a verb, if `model_fn` fails. The message names the call, with its file and line
#'   if R has recorded them. The `parent` is the function's own error, and the backtrace ends at the line.
#' * `tfdistribute_model_error`, from a verb, if `model_fn` returns another object, devices run different code, or the
#'   optimizer cannot train.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/estimator/Estimator>
#' @seealso [estimators], `vignette("custom-models")`
#' @examples
#' line <- function(features, labels, mode, params) {
#'   x <- tf$reshape(features$wt, c(-1L, 1L))
#'   predicted <- tf$squeeze(tf$compat$v1$layers$dense(x, 1L), 1L)
#'   list(
#'     predictions = list(mpg = predicted),
#'     loss = if (mode != "infer") tf$reduce_mean(tf$math$squared_difference(labels, predicted)),
#'     optimizer = list("sgd", learning_rate = params$learning_rate)
#'   )
#' }
#' model <- estimator(line, params = list(learning_rate = 0.05))
#' model
#' @examplesIf tfdistribute_available()
#' train(model, input_fn(mpg ~ wt, mtcars, epochs = 20))
#' predict(model, input_fn(mtcars, features = wt))
#' @export
estimator <- function(
  # Fields of estimator$custom without model_class, model_fn
  model_fn,
  model_dir = NULL,
  config = NULL,
  params = NULL,
  class = NULL,
  loss_reduction = c("sum_over_batch_size", "sum"),
  warm_start_from = NULL,
  ...
) {
  check_call(...)
  class <- check_strings(class, null = TRUE)
  model_fn <- check_model_fn(model_fn)
  made <- describe_estimator(
    "custom",
    as.list(environment()),
    model_class = class %||% character()
  )
  structure(made, class = c(class, base::class(made)))
}

model_fn_arguments <- c("features", "labels", "mode", "params", "config")

check_model_fn <- function(model_fn) {
  check_function(model_fn)
  if (is_python_object(model_fn)) {
    return(model_fn)
  }
  formals <- formals(args(model_fn))
  wanted <- backquoted(model_fn_arguments)
  check_formals(
    model_fn,
    supplied = model_fn_arguments,
    remedy = paste0("It can have any of ", wanted, "; put what else it needs into `params`.")
  )
  if (!any(c("features", "...") %in% names(formals))) {
    abort_tfdistribute(
      "argument",
      problem = "`model_fn` has no argument `features`.",
      remedy = "It can have any of {wanted}, and needs `features`."
    )
  }
  model_fn
}

# An R function keeps its params in R. A Python function gets them as Python values.
#' @export
as_wire.tfdistribute_custom_estimator <- function(x) {
  fields <- unclass_list(x)
  if (!is_python_object(x$model_fn)) {
    fields$model_fn <- model_fn_wire(x$model_fn, x$params)
    fields["params"] <- list(NULL)
  }
  lapply(fields, as_wire)
}

# The function that Python calls. It passes the arguments that `model_fn` has, in a call that is readable in a
# backtrace.
model_fn_wire <- function(model_fn, params) {
  force(params)
  taken <- names(formals(args(model_fn)))
  if (!"..." %in% taken) {
    taken <- intersect(model_fn_arguments, taken)
  } else {
    taken <- model_fn_arguments
  }
  call <- rlang::call2("model_fn", !!!rlang::set_names(rlang::syms(taken), taken))
  function(features, labels, mode, config) {
    features <- as_features(features)
    returned <- eval(call)
    spec_wire(returned, mode)
  }
}

#' Specify the predictions, loss and optimizer of a model function
#'
#' Creates the return value of a model function for [estimator()]. The function may also return a plain named list with
#' the same elements.
#'
#' @param mode The `mode` argument of the model function: `"train"`, `"eval"` or `"infer"`.
#' @param predictions A tensor or a named list of tensors with one row per example, for `predict()`. Required in mode
#'   `"infer"`.
#' @param loss A scalar tensor. Required in modes `"train"` and `"eval"`.
#' @param train_op Operation that changes the variables, as `optimizer$minimize()` returns it, or a list of several.
#'   Mode `"train"` requires `train_op` or `optimizer`. If the operation does not increment the global step,
#'   tfdistribute increments it.
#' @param eval_metric_ops Named list of metrics for mode `"eval"`: results of `tf$compat$v1$metrics` functions (a value
#'   and its update), or updated `tf$keras$metrics` objects. The loss is always a metric.
#' @param training_hooks,evaluation_hooks,prediction_hooks,training_chief_hooks [Hooks][hooks] of the model, one or a
#'   list, including TensorFlow's own hooks.
#' @param ... `optimizer` (as in [optimizers], or an optimizer of `tf$compat$v1$train`), which you can use instead of
#'   `train_op`. It minimizes the loss over all trainable variables, after the operations that layers collected under
#'   `"update_ops"`. Also `export_outputs` and `scaffold`, as in `tf$estimator$EstimatorSpec()`.
#' @returns A list of class `tfdistribute_estimator_spec`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error`, from a verb, if an element that the mode requires is missing.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/estimator/EstimatorSpec>
#' @seealso [estimator()]
#' @examples
#' constant <- function(features, labels, mode) {
#'   mean <- tf$compat$v1$get_variable("mean", list())
#'   predictions <- tf$fill(tf$shape(features$wt), mean)
#'   if (mode == "infer") {
#'     return(estimator_spec(mode, predictions = list(mpg = predictions)))
#'   }
#'   loss <- tf$reduce_mean(tf$math$squared_difference(labels, predictions))
#'   step <- tf$compat$v1$train$get_or_create_global_step()
#'   optimizer <- tf$compat$v1$train$GradientDescentOptimizer(0.1)
#'   estimator_spec(
#'     mode,
#'     loss = loss,
#'     train_op = if (mode == "train") optimizer$minimize(loss, global_step = step),
#'     eval_metric_ops = list(error = tf$compat$v1$metrics$mean_absolute_error(labels, predictions))
#'   )
#' }
#' @examplesIf tfdistribute_available()
#' model <- estimator(constant)
#' train(model, input_fn(mpg ~ wt, mtcars, epochs = 50))
#' evaluate(model, input_fn(mpg ~ wt, mtcars))
#' @export
estimator_spec <- function(
  mode,
  predictions = NULL,
  loss = NULL,
  train_op = NULL,
  eval_metric_ops = NULL,
  training_hooks = NULL,
  evaluation_hooks = NULL,
  prediction_hooks = NULL,
  training_chief_hooks = NULL,
  ...
) {
  check_required()
  more <- check_more_parts(list(...))
  spec <- list(
    mode = check_choice(mode, unlist(unclass(mode_keys()), use.names = FALSE)),
    predictions = check_predictions(predictions),
    loss = check_value(loss, "python", "a tensor or NULL", TRUE, "loss"),
    train_op = check_train_op(train_op),
    eval_metric_ops = check_metrics(eval_metric_ops),
    training_hooks = check_hooks(training_hooks),
    evaluation_hooks = check_hooks(evaluation_hooks),
    prediction_hooks = check_hooks(prediction_hooks),
    training_chief_hooks = check_hooks(training_chief_hooks)
  )
  structure(c(spec, more), class = "tfdistribute_estimator_spec")
}

check_train_op <- function(train_op) {
  check_python_objects(train_op, "an operation")
  train_op
}

check_more_parts <- function(parts) {
  known <- c("optimizer", "export_outputs", "scaffold")
  unknown <- setdiff(rlang::names2(parts), known)
  if (length(unknown) > 0) {
    abort_tfdistribute(
      "argument",
      problem = if (nzchar(unknown[[1]])) {
        "`{unknown[[1]]}` is not part of a specification."
      } else {
        "A part of a specification has no name."
      },
      remedy = "Use the arguments of estimator_spec(), {backquoted(known)}.",
      argument = unknown[[1]]
    )
  }
  if (!is.null(parts$optimizer)) {
    parts$optimizer <- check_optimizer(parts$optimizer, "optimizer")
  }
  parts
}

check_predictions <- function(predictions) {
  named <- is.list(predictions) && length(predictions) > 0 && rlang::is_named(predictions)
  if (!is.null(predictions) && !is_python_object(predictions) && !named) {
    abort_argument(predictions, "a tensor, a named list of tensors or NULL")
  }
  check_distinct_names(predictions, "predictions")
}

check_metrics <- function(eval_metric_ops) {
  if (
    !is.null(eval_metric_ops) &&
      !(is.list(eval_metric_ops) &&
        (length(eval_metric_ops) == 0 || rlang::is_named(eval_metric_ops)))
  ) {
    abort_argument(eval_metric_ops, "a named list of metrics or NULL")
  }
  check_distinct_names(eval_metric_ops, "eval_metric_ops")
}

# Python would keep the last of two elements with the same name.
check_distinct_names <- function(elements, argument) {
  if (!is_python_object(elements)) {
    check_distinct(names(elements), "Give each element another name.", argument, "model")
  }
  elements
}

spec_wire <- function(returned, mode) {
  if (is_python_object(returned)) {
    return(returned)
  }
  if (!inherits(returned, "tfdistribute_estimator_spec")) {
    if (!is.list(returned) || !rlang::is_named(returned)) {
      shown <- if (is.list(returned)) "a list without names" else show_value(returned)
      abort_tfdistribute(
        "model",
        problem = "`model_fn` returned {shown}.",
        remedy = "Return estimator_spec(mode, ...), or list(loss = , predictions = , optimizer = ).",
        value = shown
      )
    }
    returned <- rlang::exec(estimator_spec, mode, !!!returned[names(returned) != "mode"])
  }
  # The optimizer is used only in training, but a model may return it in all modes.
  if (mode != "train") {
    returned["optimizer"] <- NULL
  }
  lapply(unclass(returned), as_wire)
}

#' @export
print.tfdistribute_estimator_spec <- function(x, ...) {
  given <- Filter(function(part) length(part) > 0 || is_python_object(part), unclass(x))
  parts <- toString(setdiff(names(given), "mode"))
  cat("<estimator_spec> ", x$mode, ": ", parts, "\n", sep = "")
  invisible(x)
}
