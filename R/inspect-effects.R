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
#'   * `"accumulated"`: accumulated local effects of one column of numbers, dates or times. Each row moves only between
#'     the two values around its own, and the sum of the mean differences is shifted to the mean prediction.
#'   * `"auto"`: `"accumulated"` for a column that depends on another column with a rank correlation above 0.5, and
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
  values <- found$data[[variables[[1]]]]
  can_accumulate <- length(variables) == 1 && is_measured(values) && sum(!duplicated(values)) > 2
  if (method == "accumulated" && !can_accumulate) {
    abort_argument(
      method,
      "\"partial\" or \"auto\" for columns other than one of numbers, dates or times"
    )
  }
  reason <- if (method == "auto" && can_accumulate) strongest_dependence(found, variables)
  is_partial <- method != "accumulated" && is.null(reason)
  compute <- if (is_partial) partial_effects else accumulated_effects
  result <- compute(object, found, variables, points, individual)
  output <- name_of_output(found)
  name <- if (is_partial) "partial dependence" else "accumulated local effects"
  by <- paste(variables, collapse = " and ")
  new_inspection(
    result$effects,
    "effects",
    paste0("<effects> mean ", output, " by ", by, ": ", name, reason),
    variables = variables,
    method = if (is_partial) "partial" else "accumulated",
    output = output,
    individual = result$individual,
    data = found$data[variables]
  )
}

partial_effects <- function(object, found, variables, points, individual) {
  data <- found$data
  grid <- lapply(data[variables], grid_rows, points, seq(0.01, 0.99, length.out = points))
  grid <- expand.grid(grid, KEEP.OUT.ATTRS = FALSE)
  copy <- function(point) lapply(grid[point, , drop = FALSE], rep, nrow(data))
  kept <- if (length(variables) == 1) utils::head(sample.int(nrow(data)), individual)
  predicted <- predict_copies(object, data, nrow(grid), copy, function(predicted) {
    predicted <- shown_outputs(object, predicted)
    rbind(colMeans(predicted), predicted[kept, , drop = FALSE])
  })
  places <- rep(seq_len(nrow(grid)), each = 1 + length(kept))
  values <- Map(function(values, rows) rows_at(values, rows[places]), data[variables], grid)
  columns <- c(list(row = rep(c(NA, kept), nrow(grid))), values)
  long <- long_outputs(object, columns, do.call(rbind, predicted), "effect")
  is_mean <- is.na(long$row)
  own <- rlang::set_names(long[!is_mean, ], sub("^effect$", "prediction", names(long)))
  list(effects = long[is_mean, -1], individual = if (length(kept) > 0) own)
}

# Source: Apley and Zhu (2020), equations 15 and 16.
accumulated_effects <- function(object, found, variables, points, ...) {
  values <- found$data[[variables]]
  edges <- grid_rows(values, points, seq(0, 1, length.out = points))
  rows <- which(!is.na(values))
  numbers <- as.double(values)
  # A bin contains its right edge, and the first contains its left edge, too.
  bin <- findInterval(numbers[rows], numbers[edges], left.open = TRUE, rightmost.closed = TRUE)
  ends <- list(edges[bin], edges[bin + 1], rows)
  predicted <- predict_copies(
    object,
    found$data,
    length(ends),
    function(place) rlang::set_names(ends[place], variables),
    function(predicted) shown_outputs(object, predicted),
    rows
  )
  counts <- tabulate(bin)
  steps <- rowsum(predicted[[2]] - predicted[[1]], bin) / counts
  curve <- rbind(0, apply(steps, 2, cumsum))
  middles <- (curve[-1, , drop = FALSE] + curve[-nrow(curve), , drop = FALSE]) / 2
  shift <- colMeans(predicted[[3]]) - colSums(middles * counts) / sum(counts)
  values <- rlang::set_names(list(rows_at(values, edges)), variables)
  list(effects = long_outputs(object, values, sweep(curve, 2, shift, "+"), "effect"))
}

# Rows with the values of a grid, in their order: quantiles of numbers at `shares`, or the most frequent labels.
grid_rows <- function(values, points, shares) {
  if (!is_measured(values)) {
    counts <- sort(table(as.character(values)), decreasing = TRUE)
    first <- match(names(utils::head(counts, points)), as.character(values))
    return(first[order(values[first])])
  }
  numbers <- as.double(values)
  sorted <- order(numbers, na.last = NA)
  distinct <- sorted[!duplicated(numbers[sorted])]
  chosen <- sorted[round(1 + shares * (length(sorted) - 1))]
  if (length(distinct) <= points) distinct else chosen[!duplicated(numbers[chosen])]
}

# Whether values are numbers, dates or times.
is_measured <- function(values) {
  inherits(values, c("Date", "POSIXct")) || (is.numeric(values) && is.null(dim(values)))
}

# A text about the number on which one depends most; NULL if no number matters.
strongest_dependence <- function(found, variable) {
  others <- Filter(is_measured, found$data[setdiff(found$variables, variable)])
  if (length(others) > 0) {
    others <- vapply(others, as.double, double(nrow(found$data)))
    own <- as.double(found$data[[variable]])
    strengths <- abs(suppressWarnings(stats::cor(own, others, "pairwise.complete.obs", "spearman")))
    strongest <- which.max(strengths)
    if (isTRUE(strengths[strongest] > 0.5)) {
      name <- colnames(strengths)[[strongest]]
      strength <- format_number(strengths[[strongest]])
      paste0(", because its rank correlation with ", name, " is ", strength)
    }
  }
}
