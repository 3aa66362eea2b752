#' Give a model another run configuration
#'
#' The same model, with the same checkpoints, trained on other devices. Takes estimators of this package, objects that
#' tfestimators made, and Python's own `tf.estimator.Estimator`. It trains nothing.
#'
#' @param object An estimator, such as [dnn_regressor()] makes; an object of class `tf_estimator`, as tfestimators makes
#'   it; or a Python `tf.estimator.Estimator`.
#' @param config What [run_config()] returns. Where it has a `model_dir`, the copy has that; else it keeps the object's.
#' @return The same kind of object: an estimator with the configuration; or a copy that holds a new Python Estimator,
#'   which any code that takes one can train. What TensorFlow does wrong under strategies is repaired in it: sessions
#'   get their devices, reported losses are means, Keras optimizers keep their step size, and functions of R stay on R's
#'   thread. Trained by [train()] it takes many steps per run, by other code one. The original stays as it is.
#' @section Model functions:
#' A model function that others wrote is taken to be written for one device: its loss is the mean over the examples that
#' it sees. Where it divides by the number of devices itself, steps come out too small.
#' @section Errors:
#' `tfdistribute_argument_error`; `tfdistribute_run_config_error`, `tfdistribute_strategy_error` or
#' `tfdistribute_unsupported_error` for a configuration that the model, or this machine, cannot be trained under.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/estimator/RunConfig>
#' @seealso `vignette("coming-from-tfestimators")`
#' @examples
#' model <- linear_regressor(feature_columns(column_numeric("wt")))
#' distribute(model, run_config(strategy_mirrored(devices = 2)))
#' @examplesIf tfdistribute_available()
#' column <- tf$feature_column$numeric_column("wt")
#' made_in_python <- tf$estimator$LinearRegressor(list(column))
#' copy <- distribute(made_in_python, run_config(strategy_mirrored(devices = 2)))
#' copy$config$train_distribute$num_replicas_in_sync
#' @export
distribute <- function(object, config) {
  UseMethod("distribute")
}

#' @export
distribute.default <- function(object, config) {
  abort_not_estimator(object, "distribute")
}

#' @export
distribute.tfdistribute_estimator <- function(object, config) {
  check_config(config)
  own <- if (!isTRUE(attr(object, "temporary"))) object$model_dir
  directory <- chosen_model_dir(own, config$model_dir)
  if (!is.null(directory)) {
    object$model_dir <- directory
    attr(object, "temporary") <- FALSE
  }
  object$config <- config
  object
}

#' @export
distribute.tf_estimator <- function(object, config) {
  object$estimator <- distribute(python_estimator(object), config)
  object
}

#' @export
distribute.python.builtin.object <- function(object, config) {
  call_backend("distribute", estimator = object, config = check_config(config))
}

check_config <- function(config) {
  check_class(config, "config", "tfdistribute_run_config", "what run_config() returns")
}
