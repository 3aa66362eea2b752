#' Coefficients of a linear model
#'
#' Reads the weights of a trained [linear_regressor()] or [linear_classifier()] from its newest checkpoint, with the
#' names of [lm()]'s coefficients. A column with `center` and `scale` has the coefficient of the standardized number.
#'
#' @param object A linear model.
#' @param ... Not used.
#' @returns A named vector: `(Intercept)`, and a weight for each number and each category (`cutIdeal`). Categories of
#'   columns without labels are numbered from 0 (`word[0]`). For several responses or more than two classes, a matrix
#'   with a column for each response or class, by their names.
#' @section Errors:
#' * `tfdistribute_model_directory_error` if the model has not been trained.
#' * `tfdistribute_unsupported_error` if the model is not linear. [variable_value()] reads the weights of any model.
#'   `fitted()`, `residuals()` and `nobs()` also raise this error, because a model does not keep its training data, and
#'   so do `confint()` and `vcov()`, because its weights have no standard errors, and `update()`.
#' @references The generic function is part of R's stats package.
#' @seealso [variable_value()]
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(mpg ~ wt + hp, mtcars, standardize = TRUE))
#' train(model, mpg ~ wt + hp, data = mtcars, epochs = 10)
#' coef(model)
#' @importFrom stats coef confint fitted nobs residuals update vcov
#' @export
coef.tfdistribute_estimator <- function(object, ...) {
  check_call(...)
  if (!object$kind %in% c("linear_regressor", "linear_classifier")) {
    abort_tfdistribute(
      "unsupported",
      problem = "coef() reads the weights of linear models, and `object` is a {object$kind}.",
      remedy = "Use variable_names() and variable_value().",
      argument = "object",
      value = object$kind
    )
  }
  variables <- c("bias_weights", weight_variables(object$feature_columns))
  columns <- c(list("(Intercept)"), object$feature_columns)
  weights <- Map(
    function(variable, column) read_weights(object, variable, column),
    variables,
    columns
  )
  facts <- call_backend("model_facts", model_dir = object$model_dir)
  weights <- in_unit_of_response(do.call(rbind, unname(weights)), facts$response_scale)
  colnames(weights) <- output_names(ncol(weights), object, facts$classes)
  if (ncol(weights) == 1) weights[, 1] else weights
}

#' @export
fitted.tfdistribute_estimator <- function(object, ...) {
  abort_no_data("fitted", "predict(model, newdata = data)$predictions")
}

#' @export
nobs.tfdistribute_estimator <- function(object, ...) {
  abort_no_data("nobs", "nrow(data)")
}

#' @export
vcov.tfdistribute_estimator <- function(object, ...) {
  abort_no_answer(
    "vcov() and confint() are not supported: the weights of a model have no standard errors.",
    remedy = "Use confint() with lm() or glm(), or train on resampled rows and compare coef()."
  )
}

#' @export
confint.tfdistribute_estimator <- function(object, parm, level, ...) {
  vcov(object)
}

#' @export
update.tfdistribute_estimator <- function(object, ...) {
  abort_no_answer(
    "update() is not supported: a model has no call that could be evaluated again.",
    remedy = "Use train(), which continues the training, or make a model with other arguments."
  )
}

abort_no_data <- function(verb, instead) {
  abort_no_answer(
    "{verb}() is not supported: a model does not keep the data that it was trained on.",
    remedy = "Use {instead}.",
    .envir = environment()
  )
}

abort_no_answer <- function(problem, remedy, .envir = parent.frame()) {
  abort_tfdistribute("unsupported", problem, remedy, argument = "object", .envir = .envir)
}

# The weights of a standardized response as weights of the response itself.
in_unit_of_response <- function(weights, scale) {
  for (output in seq_along(scale)) {
    own <- unlist(scale[[output]])
    weights[, output] <- weights[, output] * own[[2]]
    weights["(Intercept)", output] <- weights["(Intercept)", output] + own[[1]]
  }
  weights
}

# The classes, or the parts of a response cbind(); NULL for a single output.
output_names <- function(count, object, classes) {
  if (count == 1 || length(classes) == count) {
    return(if (count > 1) classes)
  }
  known <- columns_of_training(object, "coef")
  response <- if (length(known$response) == 1) known$terms[[known$response]]
  parts <- if (!is.null(response)) as.list(str2lang(response))[-1]
  if (length(parts) == count) vapply(parts, deparse1, "")
}

# NULL for a training on rows of a function, which have no names.
columns_of_training <- function(object, verb) {
  rlang::try_fetch(
    call_backend("trained_columns", model_dir = object$model_dir, verb = verb),
    tfdistribute_input_error = function(error) NULL
  )
}

# Names that differ only in case get a number, in the order in which TensorFlow creates the variables.
weight_variables <- function(columns) {
  keys <- vapply(columns, function(column) safe_key(column_name(column)), "")
  created <- order(keys, method = "radix")
  earlier <- integer(length(keys))
  earlier[created] <- stats::ave(created, tolower(keys[created]), FUN = seq_along) - 1L
  paste0(keys, "/weights", ifelse(earlier > 0, paste0("_", earlier), ""))
}

# A matrix with a row for each weight of a column, and a column for each output of the model.
read_weights <- function(object, variable, column) {
  value <- call_backend(
    "variable_value",
    model_dir = object$model_dir,
    name = paste0("linear/linear_model/", variable),
    verb = "coef"
  )
  outputs <- if (is.null(dim(value))) 1 else utils::tail(dim(value), 1)
  value <- matrix(as.vector(value), ncol = outputs)
  rownames(value) <- if (is.character(column)) column else weight_names(column, nrow(value))
  value
}

weight_names <- function(column, count) {
  categories <- column$categorical_column %||% column
  labels <- categories$vocabulary_list
  if (column$kind == "numeric") {
    paste0(column$key, if (count > 1) seq_len(count))
  } else if (length(labels) == count) {
    paste0(categories$key, labels)
  } else if (column$kind == "bucketized" && length(column$boundaries) + 1 == count) {
    bounds <- c(-Inf, column$boundaries, Inf)
    paste0(column_name(column$source_column), "[", utils::head(bounds, -1), ",", bounds[-1], ")")
  } else {
    paste0(column_name(column), "[", seq_len(count) - 1, "]")
  }
}
