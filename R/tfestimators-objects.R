# The verbs of this package for objects of tfestimators.

#' Use objects of tfestimators
#'
#' These methods are for scripts of tfestimators. The verbs [train()], [evaluate()], `predict()`, [train_and_evaluate()]
#' and [export_savedmodel()], and the functions [distribute()], [variable_names()], [variable_value()],
#' [latest_checkpoint()] and [model_dir()], accept objects from tfestimators: lists of class `tf_estimator` with the
#' Python object as `estimator`. An object keeps its configuration, and [distribute()] changes it.
#'
#' Inputs must come from this package's [input_fn()], because inputs of tfestimators use TensorFlow 1 queues, which
#' strategies do not support. If tfestimators is loaded, `predict()` passes other inputs to it.
#'
#' @param object An object of class `tf_estimator`.
#' @param input_fn An [input_fn()], or a function that returns a `tf.data.Dataset`.
#' @param ... Passed to the method for estimators of this package.
#' @returns The same result as for estimators of this package.
#' @section Errors:
#' * `tfdistribute_argument_error` if `object$estimator` is not a Python object.
#' * The errors for estimators of this package.
#' @references <https://github.com/rstudio/tfestimators>
#' @examplesIf tfdistribute_available()
#' # As tfestimators makes it:
#' columns <- list(tf$feature_column$numeric_column("wt"))
#' object <- structure(
#'   list(estimator = tf$estimator$LinearRegressor(columns, model_dir = tempfile("model-"))),
#'   class = c("tf_estimator", "tf_estimator_regressor")
#' )
#' train(object, input_fn(mpg ~ wt, mtcars, epochs = 5))
#' predict(object, input_fn(~wt, mtcars[1:3, ]))
#' @name tf_estimator
NULL

#' @export
train.tf_estimator <- function(object, ...) {
  train(as_wrapped(object), ...)
}

#' @export
evaluate.tf_estimator <- function(object, ...) {
  evaluate(as_wrapped(object), ...)
}

#' @rdname tf_estimator
#' @export
predict.tf_estimator <- function(object, input_fn, ...) {
  # Both packages have a method for this generic, and R calls the method of the package that was loaded last.
  if (isNamespaceLoaded("tfestimators") && !inherits(input_fn, "tfdistribute_input")) {
    theirs <- get("predict.tf_estimator", envir = asNamespace("tfestimators"))
    return(theirs(object, input_fn = input_fn, ...))
  }
  predict(as_wrapped(object), input_fn = input_fn, ...)
}

#' @export
train_and_evaluate.tf_estimator <- function(object, ...) {
  train_and_evaluate(as_wrapped(object), ...)
}

#' @export
export_savedmodel.tf_estimator <- function(object, export_dir_base, ...) {
  export_savedmodel(as_wrapped(object), export_dir_base, ...)
}

#' @export
latest_checkpoint.tf_estimator <- function(checkpoint_dir, ...) {
  latest_checkpoint(model_dir(checkpoint_dir), ...)
}

#' @export
model_dir.tf_estimator <- function(object, ...) {
  python_estimator(object)$model_dir
}

# The object as a description for one verb. It contains a Python object, so it cannot be saved.
as_wrapped <- function(object) {
  new_estimator(
    "wrapped",
    list(estimator = python_estimator(object), calls_r = TRUE),
    model_dir = model_dir(object)
  )
}

python_estimator <- function(object) {
  estimator <- unclass(object)$estimator
  if (!is_python_object(estimator)) {
    abort_tfdistribute(
      "argument",
      problem = "`object$estimator` is {show_value(estimator)}, not a Python Estimator.",
      remedy = "Make the object again: objects that hold Python cannot be saved and read.",
      argument = "object"
    )
  }
  estimator
}
