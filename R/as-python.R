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

# R functions for Python programs. The Python module tfdistribute.r starts R and evaluates give_to_python() once. After
# that, it calls only the functions that it received.

give_to_python <- function() {
  options(keep.source = TRUE, rlang_backtrace_on_error = "full")
  backend()
  python_module("tfdistribute.r")$receive(value_for_python(find_for_python))
  invisible()
}

# Find a function in a file for Python. Returns its `value` or an `error` as plain values.
find_for_python <- function(path, name, what, params) {
  tryCatch(
    list(value = function_for_python(path, name, what, params)),
    error = function(error) {
      kinds <- error_kinds(error)
      texts <- list(
        kind = kinds[[1]],
        problem = error$problem %||%
          paste0("`", basename(path), "` failed: ", conditionMessage(error)),
        remedy = error$remedy,
        argument = error$argument,
        value = error$value
      )
      list(error = lapply(texts, shown_as_utf8))
    }
  )
}

function_for_python <- function(path, name, what, params) {
  home <- new.env(parent = globalenv())
  source(path, local = home, keep.source = TRUE)
  found <- get0(name, envir = home, mode = "function", inherits = FALSE)
  if (is.null(found)) {
    functions <- Filter(function(each) is.function(home[[each]]), ls(home))
    abort_tfdistribute(
      "argument",
      problem = "`path` \"{basename(path)}\" has no function `{name}`.",
      remedy = if (length(functions) > 0) {
        "Use one of its functions: {toString(first_of(functions))}."
      },
      argument = "name",
      value = name
    )
  }
  if (what == "model") {
    model_fn <- found
    return(guard_first_error(model_fn_wire(check_model_fn(model_fn), params)))
  }
  guard_first_error(function() {
    input <- found()
    as_wire(check_class(input, "tfdistribute_input", "what input_fn() returns", argument = name))
  })
}

# Like guard_callback(), for calls outside of call_backend(), which clears the previous error first.
guard_first_error <- function(callback) {
  force(callback)
  guard_callback(function(...) {
    the$callback_error <- NULL
    the$callback_trace <- NULL
    callback(...)
  })
}
