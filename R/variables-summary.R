#' Summarize a model
#'
#' Returns the columns or layers of a model, the number of its parameters, the global step, and its last evaluation.
#' Sizes and results refer to its newest checkpoint.
#'
#' @param object An estimator, such as a [dnn_regressor()].
#' @param ... Not used.
#' @returns A list of class `tfdistribute_model_summary`:
#' * `kind`, `columns` (names, strings), `model_dir`.
#' * `weights`: a tibble with `variable`, `shape` (strings) and `parameters` (counts), without the optimizer's
#'   variables.
#' * `global_step`: a count, 0 before the training.
#' * `classes`: the names of a trained classifier's classes, strings. Of two, the last is the positive class.
#' * `length`: of a tabular model, a list with `end` (the last step), `batch_size`, `losses` of the validation part at
#'   the ends of a linear model and of cycles, and `temperature`, which divides the logits of classes. NULL for other
#'   models.
#' * `limits`: of a tabular model for numbers, the least and the largest prediction, numbers. NULL for other models, and
#'   with `clip = FALSE`.
#' * `evaluation`: the metrics of the last evaluation without a `name`, a named list.
#' @references The generic function is part of base R.
#' @seealso [training_history()], [variable_value()]
#' @examplesIf tfdistribute_available()
#' model <- dnn_regressor(c(16, 8), feature_columns(mpg ~ wt + hp, mtcars, standardize = TRUE))
#' train(model, mpg ~ wt + hp, data = mtcars, epochs = 10)
#' summary(model)
#' @export
summary.tfdistribute_estimator <- function(object, ...) {
  check_call(...)
  facts <- call_backend("model_facts", model_dir = object$model_dir)
  shapes <- lapply(facts$weights, function(weight) as.integer(unlist(weight$shape)))
  columns <- c(object$feature_columns, object$linear_feature_columns, object$dnn_feature_columns)
  structure(
    list(
      kind = object$kind,
      columns = unique(vapply(columns, column_name, "")),
      weights = tibble::tibble(
        variable = vapply(facts$weights, function(weight) weight$name, ""),
        shape = vapply(shapes, function(shape) paste(shape, collapse = " x "), ""),
        parameters = vapply(shapes, prod, 0)
      ),
      global_step = as.integer(facts$global_step),
      evaluation = lapply(facts$evaluation, function(value) value %||% NaN),
      classes = as.character(facts$classes),
      length = if (!is.null(facts$learned$end)) {
        facts$learned[c("end", "batch_size", "losses", "temperature")]
      },
      limits = if (isTRUE(object$clip)) unlist(facts$learned$limits),
      model_dir = object$model_dir
    ),
    class = "tfdistribute_model_summary"
  )
}

#' @export
format.tfdistribute_model_summary <- function(x, ...) {
  weights <- x$weights
  metrics <- x$evaluation[setdiff(names(x$evaluation), "global_step")]
  c(
    interpolate(
      "<{x$kind}> {if (x$global_step == 0) 'not trained' else paste('step', x$global_step)}"
    ),
    if (length(x$columns) > 0) {
      strwrap(
        toString(first_of(x$columns)),
        width = 78,
        initial = "  columns: ",
        prefix = "    "
      )
    },
    if (nrow(weights) > 0) {
      counts <- format(vapply(weights$parameters, format_count, ""), justify = "right")
      lines <- paste0(format(weights$variable), "  ", format(weights$shape), "  ", counts)
      c(
        interpolate(
          "  parameters: {format_count(sum(weights$parameters))} in {nrow(weights)} variable{?s}"
        ),
        paste0("    ", first_of(lines))
      )
    },
    if (!is.null(x$length)) {
      losses <- vapply(unlist(x$length$losses), format_number, "")
      paste0(
        interpolate("  trained: {x$length$end} step{?s} of {x$length$batch_size} rows"),
        if (length(losses) > 0) paste0(", losses of the validation: ", toString(losses)),
        if (!is.null(x$length$temperature)) {
          paste0(", temperature: ", format_number(x$length$temperature))
        }
      )
    },
    if (length(x$limits) > 0) {
      bounds <- paste(vapply(x$limits, format_number, ""), collapse = " to ")
      paste0("  predictions: ", bounds, ", the responses of the training")
    },
    if (length(x$classes) > 0) {
      positive <- if (length(x$classes) == 2) paste0(" (positive: ", x$classes[[2]], ")")
      paste0("  classes: ", toString(first_of(x$classes)), positive)
    },
    if (length(metrics) > 0) {
      values <- toString(paste(names(metrics), "=", vapply(metrics, format_number, "")))
      paste0("  evaluation at step ", x$evaluation$global_step, ": ", values)
    },
    paste("  model_dir:", x$model_dir)
  )
}
