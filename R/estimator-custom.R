# Estimators with a model function of the user.

#' Make an estimator from a model function
#'
#' Trains a model function written in R. The function takes a batch as tensors and uses TensorFlow's functions ([tf]) to
#' return predictions, a loss and an optimizer. It is written for one device and works the same under every strategy.
#'
#' TensorFlow calls the function at the start of a verb, once for each device, always on R's own thread. The function
#' builds the graph that TensorFlow then runs at every step, so no R code runs during the steps.
#'
#' @param model_fn R or Python function with any of these arguments, or `...`:
#'   * `features`: named list of tensors, or one tensor, as the input provides them. A column of [input_fn()] has shape
#'     (batch), or (batch, width) if it holds several values per row. See "Features".
#'   * `labels`: the response, a tensor; NULL if there is none, as in `predict()`. A factor has its codes, from 0.
#'   * `mode`: `"train"`, `"eval"` or `"infer"`, see [mode_keys()].
#'   * `params`: the value of `params`.
#'   * `config`: the run configuration, a Python `tf.estimator.RunConfig`.
#'
#'   It returns an [estimator_spec()], or a named list with `loss`, `predictions`, `optimizer` (as in [optimizers], or
#'   one of `tf$compat$v1$train`) and, optionally, `eval_metric_ops`. `loss` and `predictions` are required in the modes
#'   that use them. `loss` is one number.
#' @param model_dir Directory of the model's checkpoints, a string; NULL for that of `config`, or else a temporary one.
#'   A relative path is that of the current working directory, also after [setwd()].
#' @param config What [run_config()] returns, or NULL.
#' @param params List of values for `model_fn`. An R function gets it unchanged, without conversion to Python.
#' @param class Names that identify this model, strings. They become the first classes of the object, so that you can
#'   define methods, and are recorded in its checkpoints.
#' @param loss_reduction How `model_fn` reduces the loss on each device. `"sum_over_batch_size"` (default): to the mean
#'   over the examples that it sees, as for one device. `"sum"`: to their sum, or to a mean that it has divided by the
#'   number of devices, as `tf$nn$compute_average_loss()` does.
#' @param warm_start_from Initial weights of the first training, as in [linear_regressor()]: a path, an estimator or a
#'   list; NULL for new variables.
#' @param ... Must be empty.
#' @returns A description of class `tfdistribute_custom_estimator`, `tfdistribute_estimator`.
#'
#' @section Features:
#' The named list is also one matrix for TensorFlow's functions, if all features are numbers: `features$wt` and
#' `names(features)` read it as a list, `tf$matmul(features, weights)` and `features[, 1:2]` as a matrix of shape
#' (batch, columns), in the order of the features. Factors count as numbers. For functions that take a dictionary, such
#' as a Keras model with several inputs, use `as.list(features)`.
#'
#' @section Several devices:
#' If the loss is a mean and `loss_reduction` is the default, every optimizer, including Keras's legacy ones, minimises
#' the mean over all examples of a step, and that mean is reported. The clipping of an optimizer is that of the whole
#' batch. Code that handles gradients itself sees those of its own device, and normalisation is over the device's
#' examples. Every device must run
#' the same code, because `minimize()`, `all_reduce()` and metrics synchronise the devices. New Keras optimizers
#' (`tf$keras$optimizers$Adam()`) have no effect in a graph and are refused. Use `tf$keras$optimizers$legacy$Adam()`, or
#' return the optimizer instead of calling it.
#'
#' @section Shapes in the loss:
#' Labels have the shape (batch), and layers such as `tf$keras$layers$Dense(1L)` give (batch, 1). TensorFlow would
#' combine each label with each prediction, so such a loss is refused; `tf$squeeze(output, 1L)` gives both one shape.
#'
#' @section Parts of the model on different devices:
#' With [logical_device()] and [pipeline()], a model says which part of it is on which device of its strategy; see
#' `vignette("models-in-parts")`. `with(tf$device("CPU:1"), ...)` names a device itself. The variables that are made
#' inside it, their optimizer slots and the gradients of the operations are there too. Sessions get as many CPU devices
#' as are named. TensorFlow replaces a GPU that the machine does not have by another device; `notes` of the [history]
#' name it. [plan()] does not, because it does not build the model. Under [strategy_central_storage()] and
#' [strategy_parameter_server()], variables stay where the strategy keeps them.
#'
#' @section Tensors in R:
#' TensorFlow needs whole numbers as `8L`. Lists become Python lists or, with names, dictionaries. R's operators work on
#' tensors (`x - y`, `x %/% 2L`, `-x`, `x > 0`), and a number takes the type of the tensor. `x[, 1]` and `x[1:n]` count
#' from 1, and a single position drops its dimension. `dim()` has NA for the batch.
#'
#' R's functions of the groups [Math] and [Summary] work on tensors, too (`exp(x)`, `round(x, 1)`, `max(x, y)`), and so
#' do `mean()`, `t()`, `cbind()`, `rbind()`, `head()` and `tail()`. Sums and means of all values become those of columns
#' and rows with `axis = 1` and `axis = 2`. In place of `%*%`, use `tf$matmul()`.
#'
#' Where the packages tensorflow or reticulate have these methods, theirs are used. A tensor has no value yet, so
#' `if (x > 0)` is an error; use `tf$where()`.
#'
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' * `tfdistribute_callback_error`, when a verb runs: `model_fn` failed. The message names the call, with its file and
#'   line if R knows them. Its own error is the `parent`, and the backtrace leads to the line.
#' * `tfdistribute_model_error`, when a verb runs: `model_fn` returned something else, devices ran different code, or
#'   the optimizer cannot train.
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
#' train(model, input_fn(mpg ~ wt, mtcars, num_epochs = 20))
#' predict(model, input_fn(mtcars, features = wt))
#' @export
estimator <- function(
  model_fn,
  model_dir = NULL,
  config = NULL,
  params = NULL,
  class = NULL,
  loss_reduction = "sum_over_batch_size",
  warm_start_from = NULL,
  ...
) {
  check_call()
  if (!is.null(params) && !is.list(params)) {
    abort_argument(params, "a list or NULL")
  }
  class <- check_strings(class, null = TRUE)
  made <- new_estimator(
    "custom",
    model_fn = check_model_fn(model_fn),
    params = params,
    model_class = class %||% character(),
    loss_reduction = check_choice(loss_reduction, loss_reductions),
    warm_start_from = check_warm_start(warm_start_from),
    model_dir = model_dir,
    config = config
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
      remedy = "It can have any of {wanted}, and needs `features`.",
      argument = "model_fn"
    )
  }
  model_fn
}

# An R function keeps its params in R; a Python function gets them as Python values.
#' @export
as_wire.tfdistribute_custom_estimator <- function(x) {
  fields <- unclass_list(x)
  if (!is_python_object(x$model_fn)) {
    fields$model_fn <- model_fn_wire(x$model_fn, x$params)
    fields["params"] <- list(NULL)
  }
  lapply(fields, as_wire)
}

# The function that Python calls. It passes the arguments that `model_fn` has, by a call that reads well in a backtrace.
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

#' @export
format.tfdistribute_custom_estimator <- function(x, ...) {
  taken <- if (is_python_object(x$model_fn)) "..." else names(formals(args(x$model_fn)))
  x["model_fn"] <- paste0("function(", toString(taken), ")")
  if (length(x$params) > 0) {
    x["params"] <- list(names(x$params) %||% paste(length(x$params), "values"))
  }
  x["model_class"] <- list(NULL)
  NextMethod()
}
