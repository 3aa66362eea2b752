#' Explain predictions of rows
#'
#' SHAP values divide the difference between the prediction of a row and the mean prediction of the data among the
#' columns, so their sum is this difference. The Python package shap computes them from predictions for rows whose
#' columns come partly from the row and partly from rows of the data, as if columns did not depend on each other. Up to
#' ten columns, it takes all subsets of columns, otherwise a sample of their orders.
#'
#' `reticulate::py_install("shap")` installs shap with numba, scikit-learn, SciPy and pandas, about 500 MB.
#'
#' @inheritParams importance
#' @param rows Rows to explain, a data frame.
#' @param reference The largest number of rows that are drawn from `data`, a count.
#' @returns A tibble of class `tfdistribute_explanation`: `row` (the number of the row), `variable`, `value` (a string)
#'   and `shap`, in the unit of the prediction, which is a probability for a classifier. More than two classes add a
#'   column `class`, and quantiles a column `quantile`. The attribute `base` is the mean prediction of the data, a
#'   number for each output.
#' @section Errors:
#' * `tfdistribute_backend_error` if shap is not installed.
#' * The errors of [importance()].
#' @references Lundberg and Lee (2017), A Unified Approach to Interpreting Model Predictions,
#'   <https://arxiv.org/abs/1705.07874>. <https://shap.readthedocs.io>
#' @seealso [effects()][effects.tfdistribute_estimator]
#' @examples
#' \dontrun{
#' explain_rows(model, diamonds[1:2, ], diamonds)
#' }
#' @export
explain_rows <- function(object, rows, data, reference = 100, ...) {
  check_call(...)
  reference <- check_count(reference)
  check_table(rows)
  found <- inspected(object, data, "explain_rows", reference)
  explained <- inspected(object, rows, "explain_rows")$data
  pool <- rbind(found$data, explained)
  # shap calculates with numbers. Equal values have one number, that of their first row.
  codes <- vapply(pool, function(values) match(values, values) + 0, double(nrow(pool)))
  predicted_of <- function(codes) {
    output_matrix(object, list2DF(Map(rows_at, pool, as.data.frame(codes))))
  }
  outputs <- colnames(predicted_of(codes[1, , drop = FALSE]))
  background <- seq_len(nrow(found$data))
  answer <- call_backend(
    "shap_values",
    predict = predicted_of,
    rows = as_numpy(codes[-background, , drop = FALSE]),
    background = as_numpy(codes[background, , drop = FALSE]),
    seed = sample.int(1e6, 1)
  )
  row <- seq_len(nrow(explained))
  columns <- expand.grid(row = row, variable = names(pool), stringsAsFactors = FALSE)
  columns$value <- unlist(lapply(explained, format, digits = 4, trim = TRUE), use.names = FALSE)
  shap <- matrix(answer$values, nrow(columns), dimnames = list(NULL, outputs))
  long <- long_outputs(object, columns, shap, "shap")
  base <- rlang::set_names(as.vector(answer$base), outputs)
  shown <- toString(trimws(paste(names(base), format_number(base))))
  new_inspection(
    long[order(long$row), ],
    "explanation",
    paste0("<explanation> of the ", name_of_output(found), ", whose mean is ", shown),
    base = base
  )
}
