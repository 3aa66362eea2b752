#' Convert a description to TensorFlow's own object
#'
#' Creates the TensorFlow object for code that calls TensorFlow directly, such as constructors of tfestimators. Starts
#' Python and TensorFlow. The verbs of this package convert descriptions themselves.
#'
#' @param x A [run_config()], one of the [hooks], or a [parse_example_spec]. Python functions that you call from R also
#'   accept these descriptions without `as_python()`.
#' @returns A Python `tf.estimator.RunConfig` for a [run_config()], a `tf.estimator.SessionRunHook` for a hook, and a
#'   dictionary for a [parse_example_spec]. The object cannot be saved or sent to another process.
#' @section Errors:
#' * `tfdistribute_argument_error` if `x` is another object.
#' * `tfdistribute_strategy_error` if this machine does not have the devices.
#' * `tfdistribute_run_config_error` if TensorFlow does not accept the settings.
#' * `tfdistribute_unsupported_error` if TensorFlow has no such hook.
#' * `tfdistribute_backend_error` if TensorFlow is not installed.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/estimator/RunConfig>
#' @examplesIf tfdistribute_available()
#' config <- as_python(run_config(strategy_mirrored(devices = 2)))
#' config$train_distribute$num_replicas_in_sync
#' @export
as_python <- function(x, ...) {
  check_required()
  UseMethod("as_python")
}

#' @export
as_python.default <- function(x, ...) {
  abort_argument(x, "a run_config(), a hook or a parse_example_spec")
}

#' @rdname as_python
#' @export
as_python.tfdistribute_run_config <- function(x, ...) {
  check_call(...)
  call_backend("build_run_config", settings = x)
}

# The matrix of the features in a model function, or a dictionary if they are not numbers of one kind.
#' @export
as_python.tfdistribute_features <- function(x, ...) {
  features_matrix(x) %||% python_value(unclass(x))
}

# reticulate calls this when a description is passed to a Python function.
as_python_argument <- function(x, convert = FALSE) {
  as_python(x)
}
