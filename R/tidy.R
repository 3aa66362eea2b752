# Methods for the generics of generics (which broom exports), tibble and ggplot2. R registers them when these packages
# are loaded. lintr recognizes only the generics of packages that are imported.
# nolint start: object_name_linter.

#' Tidy summaries of models and histories
#'
#' These methods implement the generics of the packages generics and broom, tibble and ggplot2.
#'
#' @param x,object An estimator, such as a [dnn_regressor()], a [history], or a fit of parsnip's engine, which is a
#'   [tfdistribute_fit()]. `parsnip::tidy()`, `glance()` and `augment()` accept the fitted model or workflow.
#' @param data,newdata Rows with the model's training features: a data frame, or a matrix with column names. Use one of
#'   the two arguments. A model does not keep its training data.
#' @param interval Level of prediction intervals, which `.lower` and `.upper` are, or NULL. See
#'   [predict.tfdistribute_estimator()].
#' @param ... For `autoplot()`, arguments of [plot.tfdistribute_history()], such as `metrics`. For `augment()`,
#'   arguments of [predict.tfdistribute_estimator()]. Otherwise must be empty.
#' @returns Tibbles, and a ggplot object from `autoplot()`.
#'
#'   For a history:
#' * `tidy()` and `as_tibble()`: a row per value, with `step`, `metric`, `value` and `data` (`"training"` or
#'   `"evaluation"`).
#' * `glance()`: one row with `steps`, `global_step`, `first_loss`, `last_loss`, `examples_per_second`, and a column
#'   `evaluation_<metric>` for each metric of the last evaluation.
#'
#'   For a model:
#' * `tidy()`: the weights of a linear model, with `term`, `estimate`, and `output` (the class or the number of the
#'   response) if it has several. See [coef()][coef.tfdistribute_estimator].
#' * `glance()`: one row with `kind`, `parameters`, `global_step` and `evaluation_<metric>`.
#' * `augment()`: the data with predictions. A regressor adds `.fitted`, and `.resid` if the data has the response. A
#'   classifier adds `.pred_class`, and `.pred_<class>` with the probability of each class, as in tidymodels. Other
#'   models add `.pred_<output>`.
#' * `as_tibble()`: the variables, with `variable`, `shape` and `parameters`.
#' * `autoplot()`: a plot of the history of all trainings.
#'
#'   For a fit of parsnip's engine, `tidy()`, `glance()` and `augment()` return the result for its model, with two
#'   differences:
#' * `tidy()` returns coefficients in the form of [lm()], per unit of the predictors and in the unit of the outcome.
#' * `glance()` has `last_loss`, the last loss of the training, instead of evaluations.
#' @section Errors: The errors of [predict.tfdistribute_estimator()], [coef()][coef.tfdistribute_estimator],
#'   [summary()][summary.tfdistribute_estimator] and [plot.tfdistribute_history()], which these methods call.
#' @references The names of columns follow <https://broom.tidymodels.org>.
#' @examplesIf tfdistribute_available() && requireNamespace("generics", quietly = TRUE)
#' model <- linear_regressor(feature_columns(mpg ~ wt + hp, mtcars, standardize = TRUE))
#' history <- train(model, mpg ~ wt + hp, data = mtcars, epochs = 10)
#' generics::tidy(model)
#' generics::glance(history)
#' generics::augment(model, mtcars)
#' @name tidiers
NULL

#' @rdname tidiers
#' @exportS3Method generics::tidy
tidy.tfdistribute_history <- function(x, ...) {
  check_call(...)
  tibble::as_tibble(history_values(x))
}

#' @rdname tidiers
#' @exportS3Method generics::tidy
tidy.tfdistribute_estimator <- function(x, ...) {
  check_call(...)
  tidy_weights(stats::coef(x))
}

tidy_weights <- function(weights) {
  if (!is.matrix(weights)) {
    return(tibble::tibble(term = names(weights), estimate = unname(weights)))
  }
  outputs <- colnames(weights) %||% as.character(seq_len(ncol(weights)))
  tibble::tibble(
    output = rep(outputs, each = nrow(weights)),
    term = rep(rownames(weights), ncol(weights)),
    estimate = as.vector(weights)
  )
}

#' @rdname tidiers
#' @exportS3Method generics::tidy
tidy.tfdistribute_fit <- function(x, ...) {
  check_call(...)
  model <- restored_model(x)
  if (!is.null(model$hidden_units)) {
    abort_tfdistribute(
      "unsupported",
      problem = "tidy() reads the coefficients of linear models, and `x` has hidden layers.",
      remedy = "Use glance() for a summary.",
      argument = "x"
    )
  }
  weights <- as.matrix(stats::coef(model))
  rownames(weights)[startsWith(rownames(weights), sparse_name)] <- x$sparse
  for (column in Filter(function(column) !is.null(column$center), model$feature_columns)) {
    terms <- weight_names(column, length(column$center))
    weights[terms, ] <- weights[terms, ] / column$scale
    shift <- colSums(weights[terms, , drop = FALSE] * column$center)
    weights["(Intercept)", ] <- weights["(Intercept)", ] - shift
  }
  if (is.null(x$levels)) {
    # The outcome was also standardized.
    weights <- weights * x$scale
    weights["(Intercept)", ] <- weights["(Intercept)", ] + x$center
  }
  tidy_weights(if (ncol(weights) == 1) weights[, 1] else weights)
}

#' @rdname tidiers
#' @exportS3Method generics::glance
glance.tfdistribute_history <- function(x, ...) {
  check_call(...)
  facts <- summary(x)
  names <- c("steps", "global_step", "first_loss", "last_loss", "examples_per_second")
  tibble::as_tibble(c(unclass(facts)[names], evaluation_columns(facts$evaluation)))
}

#' @rdname tidiers
#' @exportS3Method generics::glance
glance.tfdistribute_estimator <- function(x, ...) {
  check_call(...)
  facts <- summary(x)
  tibble::tibble(
    kind = facts$kind,
    parameters = sum(facts$weights$parameters),
    global_step = facts$global_step,
    !!!evaluation_columns(facts$evaluation)
  )
}

#' @rdname tidiers
#' @exportS3Method generics::glance
glance.tfdistribute_fit <- function(x, ...) {
  check_call(...)
  losses <- x$history$value[x$history$data == "training"]
  tibble::add_column(
    glance.tfdistribute_estimator(restored_model(x)),
    last_loss = utils::tail(losses, 1)
  )
}

evaluation_columns <- function(metrics) {
  metrics <- metrics[setdiff(names(metrics), "global_step")]
  names(metrics) <- sprintf("evaluation_%s", names(metrics))
  metrics
}

#' @rdname tidiers
#' @exportS3Method generics::augment
augment.tfdistribute_estimator <- function(x, data = NULL, newdata = NULL, interval = NULL, ...) {
  rows <- check_augmented(data %||% newdata)
  if (!is.null(interval)) {
    bounds <- stats::predict(x, newdata = rows, interval = interval, ...)
    columns <- rlang::set_names(
      as.data.frame(bounds[, c("lwr", "upr"), drop = FALSE]),
      c(".lower", ".upper")
    )
    return(tibble::as_tibble(c(augment.tfdistribute_estimator(x, rows, ...), columns)))
  }
  is_classifier <- endsWith(x$kind, "_classifier")
  outputs <- if (is_classifier) c("classes", "probabilities")
  predictions <- stats::predict(x, newdata = rows, predict_keys = outputs, ...)
  if (is_classifier) {
    classes <- call_backend("learned", model_dir = x$model_dir)$classes
    typed <- lapply(c("class", "prob"), typed_predictions, predictions = predictions, x, classes)
    return(tibble::as_tibble(c(tibble::as_tibble(rows), class_columns(typed[[1]], typed[[2]]))))
  }
  known <- call_backend("trained_columns", model_dir = x$model_dir, verb = "augment")
  rows <- tibble::as_tibble(rows)
  response <- if (rlang::is_string(known$response)) rows[[known$response]]
  tibble::as_tibble(c(rows, prediction_columns(predictions, response)))
}

#' @rdname tidiers
#' @exportS3Method generics::augment
augment.tfdistribute_fit <- function(x, data = NULL, newdata = NULL, ...) {
  check_call(...)
  rows <- check_augmented(data %||% newdata)
  predictions <- if (is.null(x$levels)) {
    list(.fitted = stats::predict(x, rows))
  } else {
    class_columns(stats::predict(x, rows, "class"), stats::predict(x, rows, "prob"))
  }
  tibble::as_tibble(c(tibble::as_tibble(rows), predictions))
}

check_augmented <- function(rows) {
  check_table(rows, "data", "Give the rows to predict for, as in augment(model, data).")
}

prediction_columns <- function(predictions, response) {
  if (!identical(names(predictions), "predictions")) {
    return(rlang::set_names(as.list(predictions), paste0(".pred_", names(predictions))))
  }
  fitted <- predictions$predictions
  has_residuals <- is.numeric(fitted) && is.numeric(response) && length(fitted) == length(response)
  c(list(.fitted = fitted), if (has_residuals) list(.resid = response - fitted))
}

class_columns <- function(class, probabilities) {
  c(
    list(.pred_class = class),
    rlang::set_names(as.list(probabilities), paste0(".pred_", names(probabilities)))
  )
}

#' @rdname tidiers
#' @exportS3Method tibble::as_tibble
as_tibble.tfdistribute_history <- function(x, ...) {
  tibble::as_tibble(history_values(x))
}

#' @rdname tidiers
#' @exportS3Method tibble::as_tibble
as_tibble.tfdistribute_estimator <- function(x, ...) {
  summary(x)$weights
}

#' @rdname tidiers
#' @exportS3Method ggplot2::autoplot
autoplot.tfdistribute_history <- function(object, ...) {
  plot(object, method = "ggplot2", ...)
}

#' @rdname tidiers
#' @exportS3Method ggplot2::autoplot
autoplot.tfdistribute_estimator <- function(object, ...) {
  plot(training_history(object), method = "ggplot2", ...)
}
# nolint end
