#' Variables and checkpoints of a trained model
#'
#' `variable_names()` lists the variables of the newest checkpoint, and `variable_value()` reads them.
#' `latest_checkpoint()` returns the checkpoint's prefix, and `model_dir()` the model's directory.
#'
#' @param object An estimator, such as a [dnn_regressor()].
#' @param variable Names of variables, strings. NULL reads all variables.
#' @param checkpoint_dir An estimator, or the path of a `model_dir`.
#' @returns
#' * `variable_names()`: strings.
#' * `variable_value()`: a named list of numbers and arrays of the variables' shapes.
#' * `latest_checkpoint()`: a string, or NULL if nothing was trained.
#' * `model_dir()`: a string.
#' @section Errors:
#' * `tfdistribute_model_directory_error` if the model has not been trained.
#' * `tfdistribute_argument_error` if the variable does not exist.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#get_variable_names>
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt")))
#' train(model, input_fn(mpg ~ wt, mtcars, epochs = 10))
#' variable_names(model)
#' variable_value(model, "linear/linear_model/wt/weights")
#' latest_checkpoint(model)
#' model_dir(model)
#' @name variables
NULL

#' @rdname variables
#' @export
variable_names <- function(object, ...) {
  check_call(...)
  unlist(call_backend("variable_names", model_dir = model_dir(object)))
}

#' @rdname variables
#' @export
variable_value <- function(object, variable = NULL, ...) {
  check_call(...)
  directory <- model_dir(object)
  names <- check_strings(variable, null = TRUE) %||%
    unlist(call_backend("variable_names", model_dir = directory, verb = "variable_value"))
  values <- lapply(names, function(name) {
    call_backend("variable_value", model_dir = directory, name = name)
  })
  names(values) <- names
  values
}

#' @rdname variables
#' @export
latest_checkpoint <- function(checkpoint_dir, ...) {
  check_required()
  UseMethod("latest_checkpoint")
}

#' @export
latest_checkpoint.tfdistribute_estimator <- function(checkpoint_dir, ...) {
  latest_checkpoint(model_dir(checkpoint_dir), ...)
}

#' @export
latest_checkpoint.default <- function(checkpoint_dir, ...) {
  check_call(...)
  directory <- check_string(checkpoint_dir)
  call_backend("latest_checkpoint", model_dir = path.expand(directory))
}

#' @rdname variables
#' @export
model_dir <- function(object, ...) {
  check_required()
  UseMethod("model_dir")
}

#' @export
model_dir.tfdistribute_estimator <- function(object, ...) {
  check_call(...)
  object$model_dir
}

#' @export
model_dir.default <- function(object, ...) {
  check_estimator(object)
}
