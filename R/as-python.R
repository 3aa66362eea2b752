#' TensorFlow's own object for a description
#'
#' For code that talks to TensorFlow itself, such as constructors of tfestimators. Starts Python and TensorFlow. The
#' verbs of this package do this by themselves.
#'
#' @param x A [run_config()], one of the [hooks], or a [parse_example_spec]. Functions of Python take these as they are.
#' @param ... Not used.
#' @return For a [run_config()], a Python `tf.estimator.RunConfig`; for a hook, a `tf.estimator.SessionRunHook`; for a
#'   [parse_example_spec], a dictionary. It cannot be saved, nor sent to another process.
#' @section Errors:
#' `tfdistribute_strategy_error` for devices that this machine does not have, `tfdistribute_run_config_error` for
#' settings that TensorFlow does not take, `tfdistribute_unsupported_error` for a strategy that this version does not
#' train with, such as a TPU's, `tfdistribute_backend_error` without TensorFlow.
#' @section Source:
#' <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/estimator/RunConfig>
#' @examplesIf tfdistribute_available()
#' config <- as_python(run_config(strategy_mirrored(devices = 2)))
#' config$train_distribute$num_replicas_in_sync
#' @export
as_python <- function(x, ...) {
  UseMethod("as_python")
}

#' @export
as_python.default <- function(x, ...) {
  abort_argument("x", x, "a run_config(), a hook or a parse_example_spec")
}

#' @rdname as_python
#' @export
as_python.tfdistribute_run_config <- function(x, ...) {
  call_backend("build_run_config", config = x)
}

# Called by reticulate where a description is given to a function of Python.
as_python_argument <- function(x, convert = FALSE) {
  as_python(x)
}
