# Estimators whose model function the user writes.

#' A model of your own
#'
#' Trains a model function of R: it is given a batch as tensors and says, with TensorFlow's functions ([tf]), what is
#' predicted, what the loss is, and what trains. It is written for one device and works the same under every strategy.
#'
#' TensorFlow calls the function when a verb begins, once for each device, always on R's own thread. It builds the graph
#' that TensorFlow then runs at every step, so R costs nothing while the model trains.
#'
#' @param model_fn Function with any of the arguments
#'   * `features`: named list of tensors, as the input gives them, or one tensor. A column of [input_fn()] has shape
#'     (batch), or (batch, width) if it holds several values per row.
#'   * `labels`: the response, a tensor; NULL where there is none, as in `predict()`.
#'   * `mode`: `"train"`, `"eval"` or `"infer"`, see [mode_keys()].
#'   * `params`: what was given as `params`.
#'   * `config`: the run configuration, a Python `tf.estimator.RunConfig`.
#'
#'   or `...`. It returns [estimator_spec()], or a named list with `loss`, `predictions` and `optimizer` (as in
#'   [optimizers], or one of `tf$compat$v1$train`), and `eval_metric_ops` if it likes; those of `loss` and `predictions`
#'   that the mode needs must be there. A Python function can be given as well.
#' @param model_dir Directory of the model's checkpoints, a string; NULL for that of `config`, else a temporary one.
#' @param config What [run_config()] returns, or NULL.
#' @param params List of anything that `model_fn` wants to know. An R function gets it as it is: it does not pass
#'   through Python.
#' @param class Names that tell this model from others, strings: the first classes of the object, for methods of your
#'   own, and what its checkpoints are known by.
#' @param loss_reduction What the loss is over the devices of a strategy. `"sum_over_batch_size"`: `model_fn` computes
#'   the mean over the examples it sees, as one would for one device. `"sum"`: it computes a sum over them, or has
#'   divided the mean by the number of devices itself, as `tf$nn$compute_average_loss()` does.
#' @param warm_start_from What the first training begins with, as in [linear_regressor()]: a path, an estimator or a
#'   list; NULL for new variables.
#' @return A description of class `tfdistribute_custom_estimator`, `tfdistribute_estimator`.
#'
#' @section Several devices:
#' With the loss as a mean and `loss_reduction` as it is, every optimizer follows the mean over all examples of a step,
#' Keras's legacy ones included, and the reported loss is that mean. Where the function treats gradients itself, it sees
#' those of its device: gradients clipped by their norm are clipped per device, and normalisation is over the device's
#' examples. Each device must run the same code: `minimize()`, `all_reduce()` and metrics are where devices meet.
#' Optimizers of the new Keras (`tf$keras$optimizers$Adam()`) do nothing in a graph, and are refused:
#' `tf$keras$optimizers$legacy$Adam()` works, and so does returning the optimizer instead of calling it.
#'
#' @section Parts of the model on devices of their own:
#' `with(tf$device("CPU:1"), ...)` places what is built inside. Sessions get as many CPU devices as are named.
#'
#' @section Numbers in R:
#' TensorFlow wants whole numbers as `8L`. Lists become Python lists or, with names, dictionaries. Operators such as
#' `x * 2` work on tensors with reticulate 1.32 or newer, or R's tensorflow package; `tf$multiply(x, 2)` always does.
#'
#' @section Errors:
#' `tfdistribute_argument_error` for arguments. When a verb runs, `tfdistribute_callback_error` where `model_fn` failed:
#' its own error is the `parent`, and the backtrace leads to the line. `tfdistribute_model_error` where it returned
#' something else, where devices ran different code, or for an optimizer that cannot train.
#' @section Source:
#' <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/estimator/Estimator>
#' @seealso `vignette("custom-models")`
#' @family estimators
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
  warm_start_from = NULL
) {
  if (!is.null(params) && !is.list(params)) {
    abort_argument("params", params, "a list or NULL")
  }
  class <- check_strings(class, "class", null = TRUE)
  made <- new_estimator(
    "custom",
    model_fn = check_model_fn(model_fn),
    params = params,
    model_class = class %||% character(),
    loss_reduction = check_choice(loss_reduction, "loss_reduction", loss_reductions),
    warm_start_from = check_warm_start(warm_start_from),
    model_dir = model_dir,
    config = config
  )
  structure(made, class = c(class, base::class(made)))
}

model_fn_arguments <- c("features", "labels", "mode", "params", "config")

check_model_fn <- function(value) {
  check_function(value, "model_fn")
  if (is_python_object(value)) {
    return(value)
  }
  formals <- formals(args(value))
  needed <- names(formals)[vapply(formals, is_required, NA)]
  unknown <- setdiff(needed, c(model_fn_arguments, "..."))
  wanted <- paste0("`", model_fn_arguments, "`", collapse = ", ")
  if (length(unknown) > 0) {
    abort_tfdistribute(
      "argument",
      problem = paste0("`model_fn` has an argument `", unknown[[1]], "` that nobody gives it."),
      remedy = paste0("Let it have any of ", wanted, "; what else it needs goes into `params`."),
      argument = "model_fn",
      value = unknown[[1]]
    )
  }
  if (!any(c("features", "...") %in% names(formals))) {
    abort_tfdistribute(
      "argument",
      problem = "`model_fn` has no argument `features`.",
      remedy = paste0("Let it have any of ", wanted, ", and `features` among them."),
      argument = "model_fn"
    )
  }
  value
}

# An R function keeps its params in R; a Python function gets them as Python values.
#' @export
as_wire.tfdistribute_custom_estimator <- function(x) {
  fields <- unclass_list(x)
  if (!is_python_object(x$model_fn)) {
    fields$model_fn <- called_model_fn(x$model_fn, x$params)
    fields["params"] <- list(NULL)
  }
  lapply(fields, as_wire)
}

# What Python calls: hands over the arguments that the function has. The call is written out, so that it reads well in a
# backtrace.
called_model_fn <- function(model_fn, params) {
  force(params)
  taken <- names(formals(args(model_fn)))
  if (!"..." %in% taken) {
    taken <- intersect(model_fn_arguments, taken)
  } else {
    taken <- model_fn_arguments
  }
  call <- rlang::call2("model_fn", !!!rlang::set_names(rlang::syms(taken), taken))
  function(features, labels, mode, config) {
    returned <- eval(call)
    specification_wire(returned, mode)
  }
}

#' @export
format.tfdistribute_custom_estimator <- function(x, ...) {
  taken <- if (is_python_object(x$model_fn)) "..." else names(formals(args(x$model_fn)))
  x$model_fn <- paste0("function(", paste(taken, collapse = ", "), ")")
  if (length(x$params) > 0) {
    x$params <- names(x$params) %||% paste(length(x$params), "values")
  }
  x["model_class"] <- list(NULL)
  NextMethod()
}
