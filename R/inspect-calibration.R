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
  bins <- check_count(bins)
  tail <- (1 - check_share(level)) / 2
  found <- inspected(object, data, "calibration", needs_response = TRUE)
  is_classifier <- !is.null(found$classes)
  rows <- if (is_classifier) reliability_of(object, found, bins) else coverage_of(object, found)
  hits <- round(rows$observed * rows$rows)
  rows$lower <- stats::qbeta(tail, hits, rows$rows - hits + 1)
  rows$upper <- stats::qbeta(1 - tail, hits + 1, rows$rows - hits)
  distances <- abs(rows$observed - rows$predicted) * rows$rows
  sums <- rowsum(cbind(distances, rows$rows), rows$curve, reorder = FALSE)
  error <- rlang::set_names(sums[, 1] / sums[, 2], rownames(sums))
  shown <- paste0(format_number(error), " (", names(error), ")")
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
    rows <- as.double(table(bin))
    means <- unname(rowsum(cbind(predicted, found$truth == class), bin)) / rows
    tibble::tibble(curve, predicted = means[, 1], observed = means[, 2], rows)
  })
  do.call(rbind, curves)
}

coverage_of <- function(object, found) {
  sizes <- sizes_of_residuals(object)
  if (is.null(object$quantiles) && length(sizes) == 0) {
    problem <- "calibration() needs intervals, and this {object$kind} has no residuals of validation rows."
    abort_no_intervals(object, problem)
  }
  rows <- length(found$truth)
  predicted <- output_matrix(object, found$data)
  if (!is.null(object$quantiles)) {
    observed <- unname(colMeans(found$truth <= predicted))
    return(tibble::tibble(curve = "model", predicted = object$quantiles, observed, rows))
  }
  # Few validation rows have no wide intervals.
  levels <- c(seq(0.1, 0.9, 0.1), 0.95)
  levels <- levels[levels <= length(sizes) / (length(sizes) + 1)]
  is_within <- function(level) {
    bounds <- interval_matrix(object, predicted[, 1], level, sizes)
    mean(found$truth >= bounds[, "lwr"] & found$truth <= bounds[, "upr"])
  }
  tibble::tibble(curve = "model", predicted = levels, observed = vapply(levels, is_within, 0), rows)
}

check_share <- function(value, argument = rlang::caller_arg(value)) {
  if (!is_number(value) || value <= 0 || value >= 1) {
    abort_argument(value, "a number above 0 and below 1", argument)
  }
  value
}
