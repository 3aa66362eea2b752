#' Calibration of a model
#'
#' Compares the probabilities that a trained model predicts with shares of rows of data that it did not learn from.
#'
#' * Of a classifier, the reliability curve: rows are divided by the predicted probability into bins of equal width, and
#'   the mean probability of a bin is compared with the share of rows in which the event happens. The event is the
#'   second of two classes, or the most probable one of more. A [tabular_classifier()] divides its logits by a
#'   temperature, and is also compared without it.
#' * Of a [tabular_regressor()], the shares of responses in its [intervals][predict.tfdistribute_estimator] of several
#'   levels, or the shares that are not above its `quantiles`.
#'
#' @inheritParams importance
#' @param bins Bins of probabilities, a count.
#' @param level Confidence level of the intervals of shares, a number between 0 and 1.
#' @param x A result of `calibration()`.
#' @returns A tibble of class `tfdistribute_calibration` with a row per bin, level or quantile: `curve` (`"model"` or
#'   `"without temperature"`), `predicted` and `observed` (shares), `lower` and `upper` (the interval of Clopper and
#'   Pearson for `observed`), and `rows`, a count. The attribute `error` is the expected calibration error of each
#'   curve, the mean difference of `predicted` and `observed`, in which bins count by their rows. `plot()` returns a
#'   ggplot object.
#' @section Errors:
#' * `tfdistribute_unsupported_error` if a regressor has no intervals.
#' * The errors of [importance()].
#' @references Guo, Pleiss, Sun and Weinberger (2017), On Calibration of Modern Neural Networks,
#'   <https://arxiv.org/abs/1706.04599>
#' @examplesIf tfdistribute_available()
#' model <- tabular_classifier(hidden_units = 16)
#' train(model, Species ~ ., data = iris[c(TRUE, FALSE), ])
#' calibration(model, iris[c(FALSE, TRUE), ], bins = 5)
#' @export
calibration <- function(object, data, bins = 10, level = 0.95, ...) {
  check_call(...)
  check_estimator(object)
  bins <- check_count(bins)
  level <- check_share(level)
  found <- inspected(object, data, "calibration", needs_response = TRUE)
  is_classifier <- !is.null(found$classes)
  rows <- if (is_classifier) reliability_of(object, found, bins) else coverage_of(object, found)
  hits <- round(rows$observed * rows$rows)
  tail <- (1 - level) / 2
  rows$lower <- stats::qbeta(tail, hits, rows$rows - hits + 1)
  rows$upper <- stats::qbeta(1 - tail, hits + 1, rows$rows - hits)
  weighted <- abs(rows$observed - rows$predicted) * rows$rows
  by_curve <- rowsum(cbind(weighted, rows$rows), rows$curve, reorder = FALSE)
  error <- rlang::set_names(by_curve[, 1] / by_curve[, 2], rownames(by_curve))
  shown <- paste0(vapply(error, format_number, ""), " (", names(error), ")")
  axes <- c("predicted probability", "observed share", "level", "share of the rows")
  new_inspection(
    rows,
    "calibration",
    paste("<calibration> expected calibration error", toString(shown)),
    error = error,
    labels = axes[if (is_classifier) 1:2 else 3:4]
  )
}

reliability_of <- function(object, found, bins) {
  logits <- as.matrix(stats::predict(object, newdata = found$data, type = "link"))
  is_binary <- ncol(logits) == 1
  logits <- if (is_binary) cbind(0, logits) else logits
  temperatures <- c(model = 1, `without temperature` = found$temperature)
  curves <- lapply(names(temperatures)[!duplicated(temperatures)], function(curve) {
    scores <- exp((logits - apply(logits, 1, max)) * temperatures[[curve]])
    class <- if (is_binary) 2 else max.col(scores, "first")
    predicted <- scores[cbind(seq_len(nrow(scores)), class)] / rowSums(scores)
    bin <- pmin(floor(predicted * bins), bins - 1)
    sums <- unname(rowsum(cbind(predicted, found$truth == class, 1), bin))
    tibble::tibble(
      curve = curve,
      predicted = sums[, 1] / sums[, 3],
      observed = sums[, 2] / sums[, 3],
      rows = sums[, 3]
    )
  })
  do.call(rbind, curves)
}

coverage_of <- function(object, found) {
  levels <- object$quantiles
  if (is.null(levels)) {
    sizes <- sizes_of_residuals(object)
    if (length(sizes) == 0) {
      problem <- "calibration() needs intervals, and this {object$kind} has no residuals of validation rows."
      abort_no_intervals(object, problem)
    }
    fitted <- output_matrix(object, found$data)[, 1]
    # Few validation rows have no wide intervals.
    levels <- Filter(
      function(level) level <= length(sizes) / (length(sizes) + 1),
      c(seq(0.1, 0.9, 0.1), 0.95)
    )
    hits <- vapply(
      levels,
      function(level) {
        bounds <- interval_matrix(object, fitted, level, sizes)
        mean(found$truth >= bounds[, "lwr"] & found$truth <= bounds[, "upr"])
      },
      0
    )
  } else {
    hits <- unname(colMeans(found$truth <= output_matrix(object, found$data)))
  }
  rows <- length(found$truth)
  tibble::tibble(curve = "model", predicted = levels, observed = hits, rows = rows)
}

check_share <- function(value, argument = rlang::caller_arg(value)) {
  if (!is_number(value) || value <= 0 || value >= 1) {
    abort_argument(value, "a number above 0 and below 1", argument)
  }
  value
}
