#' Effects of columns on predictions
#'
#' The mean prediction of a trained model by the values of one or two columns, in the units of the data. This is a
#' method of R's own generic function [stats::effects()].
#'
#' @inheritParams importance
#' @param variables Names of one or two columns of the formula's data, strings.
#' @param method `"partial"`, `"accumulated"` or `"auto"`:
#'   * `"partial"`: partial dependence, the mean prediction if all rows have a value. If the column depends on others,
#'     this includes rows that do not occur, such as a diamond of 4 carats that is 4 mm long.
#'   * `"accumulated"`: accumulated local effects of columns of numbers, dates or times. Each row moves only between the
#'     two values around its own, and the sum of the mean differences is shifted to the mean prediction. The effects of
#'     two columns include their interaction.
#'   * `"auto"`: `"accumulated"` for columns that depend on another column with a rank correlation above 0.5, and
#'     otherwise `"partial"`. `print()` names the other column.
#' @param points The largest number of values of each column, a count. They are quantiles of the data, for `"partial"`
#'   from the first to the last hundredth, or the most frequent labels.
#' @param individual Rows whose own predictions are kept with partial dependence on one column, a count or 0.
#' @param x A result of `effects()`.
#' @returns A tibble of class `tfdistribute_effects` with the `variables`, in their types, and `effect`, the mean
#'   prediction. This is a probability for a classifier: of the second of two classes, or of each `class` of more. A
#'   model of quantiles has a column `quantile`. Its attributes are `method`, and `individual`, a tibble with `row`, the
#'   value and `prediction`, or NULL. `plot()` returns a ggplot object, with a mark
#'   below for each row of the data, or the frequencies of labels.
#' @inheritSection importance Errors
#' @references Apley and Zhu (2020), Visualizing the Effects of Predictor Variables in Black Box Supervised Learning
#'   Models, <https://doi.org/10.1111/rssb.12377>. Goldstein and others (2015), Peeking Inside the Black Box,
#'   <https://doi.org/10.1080/10618600.2014.907095>
#' @seealso [importance()], [explain_rows()]
#' @examplesIf tfdistribute_available()
#' model <- tabular_regressor(epochs = 20)
#' train(model, mpg ~ wt + hp + cyl, data = mtcars)
#' effects(model, mtcars, "wt")
#' @importFrom stats effects
#' @export
effects.tfdistribute_estimator <- function(
  object,
  data,
  variables,
  method = c("auto", "partial", "accumulated"),
  points = 25,
  individual = 30,
  rows = 1000,
  ...
) {
  check_call(...)
  method <- check_default_choice(method, c("auto", "partial", "accumulated"))
  points <- check_count(points, minimum = 2L)
  individual <- check_count(individual, minimum = 0L)
  found <- inspected(object, data, "effects", check_count(rows, null = TRUE))
  variables <- check_variables(variables, found, "variables")
  if (length(variables) > 2) {
    abort_argument(variables, "names of one or two columns")
  }
  has_bins <- function(values) is_measured(values) && sum(!duplicated(values)) > 2
  can_accumulate <- all(vapply(found$data[variables], has_bins, TRUE))
  if (method == "accumulated" && !can_accumulate) {
    abort_argument(method, "\"partial\" or \"auto\" for columns other than numbers, dates or times")
  }
  reason <- if (method == "auto" && can_accumulate) strongest_dependence(found, variables)
  is_partial <- method != "accumulated" && is.null(reason)
  data <- found$data[is_partial | stats::complete.cases(found$data[variables]), , drop = FALSE]
  grid <- lapply(data[variables], grid_rows, points, margin = if (is_partial) 0.01 else 0)
  has_curves <- is_partial && length(variables) == 1
  kept <- if (has_curves) utils::head(sample.int(nrow(data)), individual)
  compute <- if (is_partial) partial_effects else accumulated_effects
  numbers <- compute(object, data, grid, kept)
  # The mean at each point of the grid, and then the predictions of rows there.
  places <- lapply(expand.grid(grid), rep, each = 1 + length(kept))
  values <- Map(rows_at, data[variables], places)
  row <- rep(c(NA, kept), length.out = length(places[[1]]))
  long <- long_outputs(object, c(list(row = row), values), numbers, "effect")
  own <- long[!is.na(long$row), ]
  names(own)[[ncol(own)]] <- "prediction"
  output <- name_of_output(found)
  by <- paste(variables, collapse = " and ")
  name <- if (is_partial) "partial dependence" else "accumulated local effects"
  new_inspection(
    long[is.na(long$row), -1],
    "effects",
    paste0("<effects> mean ", output, " by ", by, ": ", name, reason),
    variables = variables,
    method = if (is_partial) "partial" else "accumulated",
    output = output,
    individual = if (length(kept) > 0) own,
    data = found$data[variables]
  )
}

partial_effects <- function(object, data, grid, kept) {
  points <- expand.grid(grid)
  copy <- function(point) lapply(points[point, , drop = FALSE], rep, nrow(data))
  predicted <- predict_copies(object, data, seq_len(nrow(points)), copy, function(predicted) {
    rbind(colMeans(predicted), predicted[kept, , drop = FALSE])
  })
  do.call(rbind, predicted)
}

# Source: Apley and Zhu (2020), equations 15 and 16.
accumulated_effects <- function(object, data, grid, ...) {
  # A bin contains its right edge, and the first contains its left edge, too.
  bin <- function(values, edges) {
    findInterval(values, values[edges], left.open = TRUE, rightmost.closed = TRUE)
  }
  bins <- Map(bin, lapply(data[names(grid)], as.double), grid)
  # Each column has the value at the left or right edge of its bin, or its own.
  sides <- expand.grid(rep(list(c(0, 1, NA)), length(grid)))
  move <- function(edges, bin, side) if (is.na(side)) seq_along(bin) else edges[bin + side]
  copy <- function(place) Map(move, grid, bins, sides[place, ])
  predicted <- predict_copies(object, data, seq_len(nrow(sides)), copy, identity)
  # For each output, the predictions by row and copy.
  apply(simplify2array(predicted), 2, accumulated, bins)
}

# The effect of one column, or the sum of the effects of two and of their interaction, at the edges of bins. `p` are
# predictions for the rows at the edges: left, right and own of the first column, by those of the second.
accumulated <- function(p, bins) {
  i <- bins[[1]]
  if (length(bins) == 1) {
    curve <- accumulate(p[, 2] - p[, 1], i)
    return(curve + mean(p[, 3] - (curve[i] + curve[i + 1]) / 2))
  }
  j <- bins[[2]]
  steps <- mean_by_cell(p[, 5] - p[, 4] - p[, 2] + p[, 1], i, j)
  sums <- rbind(0, cbind(0, t(apply(apply(steps, 2, cumsum), 1, cumsum))))
  at <- function(right, above) sums[cbind(i + right, j + above)]
  # These sums also change along one axis alone, by other steps than the predictions.
  along_i <- p[, 8] - p[, 7] - (at(1, 0) + at(1, 1) - at(0, 0) - at(0, 1)) / 2
  along_j <- p[, 6] - p[, 3] - (at(0, 1) + at(1, 1) - at(0, 0) - at(1, 0)) / 2
  sums <- sums + outer(accumulate(along_i, i), accumulate(along_j, j), "+")
  as.vector(sums) + mean(p[, 9] - (at(0, 0) + at(1, 0) + at(0, 1) + at(1, 1)) / 4)
}

accumulate <- function(steps, bin) c(0, cumsum(rowsum(steps, bin) / tabulate(bin)))

# Means by the cells of two bins. A cell without rows has the mean of the nearest one with rows.
mean_by_cell <- function(steps, i, j) {
  means <- tapply(steps, list(i, j), mean)
  filled <- which(!is.na(means))
  for (empty in which(is.na(means))) {
    away <- (row(means)[filled] - row(means)[empty])^2 + (col(means)[filled] - col(means)[empty])^2
    means[empty] <- means[filled[which.min(away)]]
  }
  means
}

# Rows with the values of a grid, in their order: quantiles of numbers, the first of which is at the share `margin`, or
# the most frequent labels.
grid_rows <- function(values, points, margin) {
  if (!is_measured(values)) {
    counts <- sort(table(as.character(values)), decreasing = TRUE)
    first <- match(names(utils::head(counts, points)), as.character(values))
    return(first[order(values[first])])
  }
  numbers <- as.double(values)
  sorted <- order(numbers, na.last = NA)
  distinct <- sorted[!duplicated(numbers[sorted])]
  shares <- seq(margin, 1 - margin, length.out = points)
  chosen <- sorted[round(1 + shares * (length(sorted) - 1))]
  if (length(distinct) <= points) distinct else chosen[!duplicated(numbers[chosen])]
}

# Whether values are numbers, dates or times.
is_measured <- function(values) {
  inherits(values, c("Date", "POSIXct")) || (is.numeric(values) && is.null(dim(values)))
}

# A text about the number on which one of the columns depends most; NULL if no number matters.
strongest_dependence <- function(found, variables) {
  numbers <- list2DF(lapply(Filter(is_measured, found$data), as.double))
  others <- numbers[setdiff(names(numbers), variables)]
  if (length(others) > 0) {
    use <- "pairwise.complete.obs"
    all <- suppressWarnings(stats::cor(numbers[variables], others, use, method = "spearman"))
    strongest <- utils::head(sort(apply(abs(all), 2, max), decreasing = TRUE), 1)
    if (isTRUE(strongest > 0.5)) {
      relation <- ", because its rank correlation with "
      paste0(relation, names(strongest), " is ", format_number(strongest))
    }
  }
}
