#' Summarize a model
#'
#' Returns what a model learned from: rows, columns and the response. Of a tabular model, it also returns the weights of
#' its parts, and its loss on the validation rows beside the losses of each part and of a constant. Sizes and results
#' refer to the newest checkpoint. [variable_names()] lists the variables.
#'
#' @param object An estimator, such as a [dnn_regressor()].
#' @param ... Not used.
#' @returns A list of class `tfdistribute_model_summary`:
#' * `kind`, `columns` (names, strings), `model_dir`.
#' * `weights`: a tibble with `variable`, `shape` (strings) and `parameters` (counts), without the optimizer's
#'   variables.
#' * `global_step`: a count, 0 before the training.
#' * `classes`: the names of a trained classifier's classes, strings. Of two, the last is the positive class.
#' * `rows`: the number of rows of the last training, and `response`: the name of its response. NULL if they are not
#'   known.
#' * `range`: the least and the largest response of the last training, numbers. NULL if it was not in memory.
#' * `scores`: of a tabular model that chose its end, losses on the validation rows, numbers: `model`, its parts alone
#'   (`linear`, `layers`, `trees`), and `constant`, which is the loss of the mean, of the quantiles or of
#'   the shares of the classes. `loss` names them.
#' * `seconds`: duration of the training, a number, and `began`: its begin, a [POSIXct]. NULL if they are not known.
#' * `length`: of a tabular model, a list with `end` (the last step), `batch_size`, `losses` of the validation part at
#'   the ends of cycles of the layers, `temperature`, which divides the logits of classes, and `weights` of the parts.
#'   NULL for other models.
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
      rows = facts$rows,
      response = facts$response,
      range = unlist(facts$range),
      scores = scores_of(object, facts$learned),
      loss = if (!is.null(facts$learned)) loss_of(object)$name,
      seconds = seconds_of(facts),
      began = time_of(facts$began),
      evaluation = lapply(facts$evaluation, function(value) value %||% NaN),
      classes = as.character(facts$classes),
      length = if (!is.null(facts$learned$end)) {
        facts$learned[c("end", "batch_size", "losses", "temperature", "weights")]
      },
      limits = if (isTRUE(object$clip)) unlist(facts$learned$limits),
      model_dir = object$model_dir
    ),
    training = describe_training(object, facts),
    class = "tfdistribute_model_summary"
  )
}

#' @export
format.tfdistribute_model_summary <- function(x, ...) {
  weights <- x$weights
  training <- attr(x, "training")
  metrics <- x$evaluation[setdiff(names(x$evaluation), "global_step")]
  c(
    interpolate(
      "<{x$kind}> {if (x$global_step == 0) 'not trained' else paste('step', x$global_step)}"
    ),
    wrapped_line("columns", toString(first_of(x$columns))),
    unlist(Map(wrapped_line, names(training), training), use.names = FALSE),
    if (nrow(weights) > 0) {
      interpolate(
        "  parameters: {format_count(sum(weights$parameters))} in {nrow(weights)} variable{?s}"
      )
    },
    if (!is.null(x$length$temperature)) {
      paste("  temperature:", format_number(x$length$temperature))
    },
    if (length(x$limits) > 0) {
      bounds <- paste(format_number(x$limits), collapse = " to ")
      paste0("  predictions: ", bounds, ", the responses of the training")
    },
    if (length(metrics) > 0) {
      values <- toString(paste(names(metrics), "=", format_number(metrics)))
      paste0("  evaluation at step ", x$evaluation$global_step, ": ", values)
    },
    paste("  model_dir:", x$model_dir)
  )
}

wrapped_line <- function(label, text) {
  if (nzchar(text)) {
    strwrap(text, width = 98, initial = paste0("  ", label, ": "), prefix = "    ")
  }
}
