# Weights and transformations of examples, for any input.

#' Weights and transformations of examples
#'
#' Every input accepts `weights`, a column with the weight of each row, and `transform`, a function that changes the
#' features and labels of whole batches in TensorFlow. Neither can drop or add rows.
#'
#' @section Weights:
#' A column of weights is not a feature. Each kind of model uses it in its own way:
#' * Canned models use it as their `weight_column`, which need not be set. In training, the loss of a batch is the mean
#'   over its rows of loss times weight. Metrics such as `average_loss` are divided by the sum of the weights. A
#'   statistic that the model learns from the rows, such as the scale of the response, counts a row as often as its
#'   weight says.
#' * [Tabular models][tabular_estimators] learn from the rows of positive weight only, as if there were no others.
#' * Keras models use it as the `sample_weight` of Keras's `fit()` and `evaluate()`.
#' * A [model function][estimator] reads it from `features` under its name.
#'
#' Weights are finite numbers of at least 0, and not all of them may be 0. Replacements by `impute = "mean"` or
#' `"median"` are weighted, and functions get the values of the rows of positive weight. Terms of a formula learn from
#' all rows, as in [lm()].
#'
#' Training and evaluation each use the weights of their own input. Predictions use no weights. In
#' [train_and_evaluate()], both inputs must have the same column of weights, or none.
#'
#' @section Transform:
#' `transform(features, labels)` gets a named list of tensors, with the rows of a batch as first dimension, and the
#' labels, a tensor, or NULL without labels, as for predicting. It returns `list(features, labels)`. A function
#' without an argument `labels` gets and returns only the features. An R function calls TensorFlow's functions, from
#' [tf] or Python. It runs once or twice per verb, on R's own thread, and never while the model trains. A Python
#' function also works. Weights are not among the features, and are kept.
#'
#' The model reads the result, so feature columns name the new features, and requests to a model of
#' [export_savedmodel()] contain them. tfdistribute determines their types and shapes by calling `transform` with
#' tensors without values, and checks them like the types and shapes of other inputs. The levels of a factor are kept if
#' the column is unchanged. The columns are unknown if a feature has a type that R does not have (such as float64 or
#' uint8), is a sparse tensor, or has a shape that depends on the values. In this case, only TensorFlow detects
#' mistakes.
#'
#' @section Errors:
#' * `tfdistribute_argument_error` if `transform` is not a function of `features` and `labels`.
#' * `tfdistribute_input_error` if `weights` is a feature or the response, or if `transform` returns something other
#'   than tensors, or changes the number of rows.
#' * `tfdistribute_input_error`, from a verb, if `weights` is not a column of numbers, has a missing, negative or
#'   infinite value in any input but TFRecord files and functions that return datasets, or is 0 in all rows in memory.
#' * `tfdistribute_callback_error` if `transform` fails. The `parent` is the function's own error.
#' @references <https://www.tensorflow.org/api_docs/python/tf/data/Dataset#map>
#' @examplesIf tfdistribute_available()
#' cars <- transform(mtcars, lbs = wt * 1000, importance = ifelse(am == 1, 2, 1))
#' input <- input_fn(
#'   cars,
#'   features = c(lbs, hp),
#'   response = mpg,
#'   weights = importance,
#'   transform = function(features) {
#'     features$hp_per_ton <- tf$math$divide(features$hp, tf$math$divide(features$lbs, 2204.6))
#'     features
#'   }
#' )
#' model <- linear_regressor(feature_columns(column_numeric("hp_per_ton")))
#' train(model, input)
#' @name input_transform
NULL

# Wrap an input in weights and a transformation. Without either, return the input itself. The column of weights is among
# its features.
transformed_input <- function(source, weights, transform) {
  transform <- check_transform(transform)
  if (is.null(weights) && is.null(transform)) {
    return(source)
  }
  new_description(
    "input",
    "transformed",
    source = source,
    weights = weights,
    transform = transform
  )
}

# The input of an argument (an input, a train_spec() or eval_spec(), or anything else), before any transformation.
source_of <- function(x) {
  if (inherits(x, c("tfdistribute_train_spec", "tfdistribute_eval_spec"))) {
    source_of(x$input)
  } else if (inherits(x, "tfdistribute_transformed_input")) {
    source_of(x$source)
  } else {
    x
  }
}

# The argument with `change(source, ...)` in place of its source.
map_source <- function(x, change, ...) {
  if (inherits(x, c("tfdistribute_train_spec", "tfdistribute_eval_spec"))) {
    x$input <- map_source(x$input, change, ...)
  } else if (inherits(x, "tfdistribute_transformed_input")) {
    x["source"] <- list(map_source(x$source, change, ...))
  } else {
    x <- change(x, ...)
  }
  x
}

check_transform <- function(transform) {
  if (is.null(transform) || is_python_object(transform)) {
    return(transform)
  }
  check_function(transform, null = TRUE)
  names <- names(formals(args(transform)))
  if (!("features" %in% names) || length(setdiff(names, c("features", "labels"))) > 0) {
    abort_tfdistribute(
      "argument",
      problem = "`transform` has the arguments {toString(names)}.",
      remedy = "Let it be a function(features, labels), or a function(features)."
    )
  }
  transform
}

check_weights_apart <- function(weights, features, response) {
  if (!is.null(weights) && weights %in% c(features, response)) {
    abort_tfdistribute(
      "input",
      problem = c(
        "The column `{weights}` is both the weights and ",
        "{if (weights %in% response) 'the response' else 'a feature'}."
      ),
      remedy = "Give a column of its own as `weights`; a copy of the column will do.",
      argument = "weights",
      value = weights
    )
  }
}

#' @export
format.tfdistribute_transformed_input <- function(x, ...) {
  source <- x$source
  if (!is.null(x$weights)) {
    source <- without_weights(source, x$weights)
  }
  c(
    format(source, ...),
    if (!is.null(x$weights)) paste0("  weights     ", x$weights),
    if (!is.null(x$transform)) paste0("  transform   ", show_function(x$transform))
  )
}

# For printing only.
without_weights <- function(source, weights) {
  source["features"] <- list(if (!is.null(source$features)) setdiff(source$features, weights))
  if (inherits(source, "tfdistribute_in_memory_input")) {
    source["columns"] <- list(source$columns[setdiff(names(source$columns), weights)])
  }
  source
}

show_function <- function(x) {
  if (is_python_object(x)) {
    return("a Python function")
  }
  paste0("function(", toString(names(formals(args(x)))), ")")
}
