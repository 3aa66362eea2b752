#' Give a model another run configuration
#'
#' Returns the same model, with the same checkpoints, set up to train on other devices. It accepts estimators of this
#' package, objects made by tfestimators, and Python's `tf.estimator.Estimator`. It does not train.
#'
#' @param object An estimator, such as a [dnn_regressor()], an object of class `tf_estimator` from tfestimators, or a
#'   Python `tf.estimator.Estimator`.
#' @param config A [run_config()]. Its `model_dir`, if set, replaces the object's directory.
#' @returns An object of the same kind, which leaves the original unchanged. For an estimator of this package, it is a
#'   copy with the configuration. For other objects, it is a copy with a new Python Estimator, which works in any code
#'   that accepts an Estimator. The copy also repairs TensorFlow's mistakes under strategies: sessions see their
#'   devices, reported losses are means, Keras optimizers keep their step size, and R functions run on R's thread. If
#'   [train()] trains the copy, it runs many steps per call, and otherwise one step per call.
#' @section Model functions:
#' A model function from other code is assumed to be written for one device, with a loss that is the mean over its
#' examples. If it divides the loss by the number of devices itself, steps are too small.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type.
#' * `tfdistribute_run_config_error`, `tfdistribute_strategy_error` or `tfdistribute_unsupported_error` if the model, or
#'   this machine, cannot train with the configuration.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/RunConfig>
#' @seealso `vignette("coming-from-tfestimators")`
#' @examples
#' model <- linear_regressor(feature_columns(column_numeric("wt")))
#' distribute(model, run_config(strategy_mirrored(devices = 2)))
#' @examplesIf tfdistribute_available()
#' column <- tf$feature_column$numeric_column("wt")
#' made_in_python <- tf$estimator$LinearRegressor(list(column), model_dir = tempfile("model-"))
#' copy <- distribute(made_in_python, run_config(strategy_mirrored(devices = 2)))
#' copy$config$train_distribute$num_replicas_in_sync
#' @export
distribute <- function(object, config, ...) {
  check_call(...)
  UseMethod("distribute")
}

#' @export
distribute.default <- function(object, config, ...) {
  check_estimator(object)
}

#' @export
distribute.tfdistribute_estimator <- function(object, config, ...) {
  check_config(config)
  own <- if (!isTRUE(attr(object, "temporary"))) object$model_dir
  directory <- chosen_model_dir(own, config$model_dir)
  if (!is.null(directory)) {
    object["model_dir"] <- directory
    attr(object, "temporary") <- FALSE
  }
  object["config"] <- list(config)
  object
}

#' @export
distribute.tf_estimator <- function(object, config, ...) {
  object$estimator <- distribute(python_estimator(object), config)
  object
}

#' @export
distribute.python.builtin.object <- function(object, config, ...) {
  call_backend("distribute", estimator = object, config = check_config(config))
}

check_config <- function(config) {
  check_class(config, "tfdistribute_run_config", "what run_config() returns")
}
