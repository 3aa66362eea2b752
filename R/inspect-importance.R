#' Importance of columns
#'
#' By how much the loss of a trained model increases if the values of a column are permuted among the rows. A formula's
#' terms are computed from the permuted column, so `log(x)` and `poly(x, 2)` belong to `x`. The loss is the loss of the
#' model: the root mean squared error, in the unit of the response, or the Poisson, quantile or log loss. Rows count by
#' their weights if the model was trained with weights and the data has their column.
#'
#' Columns that depend on each other share their importance, because the model still reads the others. Permute them
#' together with `groups`. On rows that the model did not learn from, overfitting does not count as importance.
#'
#' @param object A trained canned model, such as a [tabular_regressor()], whose training had a formula and data.
#' @param data Rows with the columns of the formula's data, and the response: a data frame, or a matrix with column
#'   names.
#' @param groups Names of columns that are permuted together, a list of strings with a name for each group, or NULL.
#'   Each column that is in no group is permuted alone.
#' @param permutations Permutations of each column, a count.
#' @param rows The largest number of rows that are drawn from the data, a count. NULL for all rows.
#' @param x A result of `importance()`.
#' @param y Ignored.
#' @param most The largest number of columns in the plot, a count.
#' @param ... Must be empty.
#' @returns A tibble of class `tfdistribute_importance`, whose first row is the most important column: `variable`,
#'   `importance` (the mean increase of the loss, a number), and `sd`, the standard deviation of the increase over the
#'   permutations, NA for one. Its attributes are `loss`, a name, and `baseline`, the loss without a permutation.
#'   `plot()` returns a ggplot object.
#' @section Errors:
#' * `tfdistribute_model_directory_error` if the model has not been trained.
#' * `tfdistribute_unsupported_error` if the model is not a canned model, or its training had no names of columns.
#' * `tfdistribute_input_error` if the data lacks a column, or an argument names a column that the model does not read.
#' * `tfdistribute_argument_error` if an argument has the wrong type.
#' @references Fisher, Rudin and Dominici (2019), All Models are Wrong, but Many are Useful,
#'   <https://jmlr.org/papers/v20/18-760.html>
#' @seealso `vignette("understanding-a-model")`
#' @examplesIf tfdistribute_available()
#' model <- tabular_regressor(epochs = 20)
#' train(model, mpg ~ wt + hp + cyl, data = mtcars)
#' importance(model, mtcars, groups = list(engine = c("hp", "cyl")))
#' @export
importance <- function(object, data, groups = NULL, permutations = 5, rows = 10000, ...) {
  check_call(...)
  permutations <- check_count(permutations)
  rows <- check_count(rows, null = TRUE)
  if (!is.null(groups) && (!is.list(groups) || !has_own_names(groups))) {
    abort_argument(groups, "a list of names of columns, with a name for each group, or NULL")
  }
  found <- inspected(object, data, "importance", rows, needs_response = TRUE)
  alone <- setdiff(found$variables, unlist(lapply(groups, check_variables, found, "groups")))
  groups <- c(groups, rlang::set_names(as.list(alone), alone))
  # The first copy is the data itself.
  permuted <- c(list(NULL), rep(unname(groups), each = permutations))
  copy <- function(group) {
    if (!is.null(group)) {
      rlang::set_names(rep(list(sample.int(nrow(found$data))), length(group)), group)
    }
  }
  loss <- loss_of(object)
  is_class <- loss$key == "log_loss"
  mean_loss <- function(predicted) {
    losses <- call_backend(
      "row_losses",
      loss = loss$key,
      # As near to 0 as 32 bits.
      predictions = as_numpy(if (is_class) log(pmax(predicted, 1e-38)) else predicted),
      truth = as_numpy(if (is_class) found$truth - 1L else found$truth),
      shares = object$quantiles
    )
    loss$in_unit(stats::weighted.mean(as.vector(losses), found$weights))
  }
  type <- if (is_class) "prob"
  losses <- unlist(predict_copies(object, found$data, permuted, copy, mean_loss, type))
  increases <- matrix(losses[-1] - losses[[1]], nrow = permutations)
  rows <- tibble::tibble(
    variable = names(groups),
    importance = colMeans(increases),
    sd = apply(increases, 2, stats::sd)
  )
  shown <- paste(format_number(losses[[1]]), "on", format_count(nrow(found$data)), "rows")
  new_inspection(
    rows[order(-rows$importance), ],
    "importance",
    paste0("<importance> increase of the ", loss$name, ", which is ", shown),
    loss = loss$name,
    baseline = losses[[1]]
  )
}
