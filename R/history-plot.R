#' Plot the history of a training
#'
#' Draws a panel per metric, with the losses of training as a line and evaluations as points. If the first losses are
#' much larger than the others, values are drawn on a log scale. In knitr documents, a history is printed and plotted.
#'
#' @param x A [history][history] or an estimator, whose trainings are plotted together.
#' @param y Ignored.
#' @param metrics Names of the metrics to show. NULL (default) shows the loss and every metric that changes between
#'   evaluations, except for metrics that only describe the data and the predictions (`label/mean`, `prediction/mean`).
#' @param method `"ggplot2"`, `"base"`, or `"auto"` for ggplot2 if it is installed.
#' @param smooth TRUE draws running medians of the training loss over its line (with ggplot2, from 50 points on).
#' @param theme_bw TRUE uses ggplot2's black and white theme.
#' @param ... Ignored, or the other arguments for an estimator.
#' @returns A ggplot object. With `"base"`, the plotted data, invisibly.
#' @section Errors: `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' @references The arguments are the same as in tfestimators' `plot()` of a history.
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' history <- train(model, input_fn(mpg ~ wt + hp, mtcars, epochs = 10))
#' plot(history)
#' @export
plot.tfdistribute_history <- function(
  x,
  y,
  metrics = NULL,
  method = c("auto", "ggplot2", "base"),
  smooth = getOption("tf.estimator.plot.history.smooth", TRUE),
  theme_bw = getOption("tf.estimator.plot.history.theme_bw", FALSE),
  ...
) {
  method <- check_default_choice(method, c("auto", "ggplot2", "base"))
  data <- plot_data(x, check_strings(metrics, null = TRUE))
  if (method == "auto") {
    method <- if (requireNamespace("ggplot2", quietly = TRUE)) "ggplot2" else "base"
  }
  if (method == "ggplot2") {
    plot_with_ggplot2(data, check_flag(smooth), check_flag(theme_bw))
  } else {
    plot_with_base(data)
  }
}

#' @rdname plot.tfdistribute_history
#' @export
plot.tfdistribute_estimator <- function(x, ...) {
  plot(training_history(x), ...)
}

knit_print_of_history <- function(x, ...) {
  print(x)
  if (requireNamespace("ggplot2", quietly = TRUE)) {
    print(plot(x))
  } else {
    plot(x)
  }
  invisible(x)
}

# Rows to draw: `step`, `value`, `metric` (a factor in the order of the panels) and `data`.
plot_data <- function(x, metrics) {
  rows <- history_values(x)
  if (nrow(rows) == 0) {
    rows <- data.frame(step = 0, metric = "loss", value = NA_real_, data = "training")
  }
  for (unknown in setdiff(metrics, rows$metric)) {
    check_choice(unknown, unique(rows$metric), argument = "metrics")
  }
  metrics <- metrics %||% metrics_worth_a_panel(rows)
  rows <- rows[rows$metric %in% metrics & is.finite(rows$value), ]
  rows$metric <- factor(rows$metric, metrics)
  rows$data <- factor(rows$data, c("training", "evaluation"))
  rows
}

# One evaluation does not make a curve, and a metric that equals the loss (`average_loss`) would be drawn twice.
metrics_worth_a_panel <- function(rows) {
  evaluated <- rows[rows$data == "evaluation", ]
  values <- split(evaluated$value, evaluated$metric)
  changes <- vapply(values, function(value) length(unique(value)) > 1, NA)
  is_loss <- vapply(
    values,
    function(value) isTRUE(all.equal(value, values$loss, tolerance = 1e-5)),
    NA
  )
  own <- names(values)[changes & !is_loss & !grepl("^(label|prediction)/", names(values))]
  c("loss", intersect(unique(evaluated$metric), own))
}

# TRUE if the larger values of a curve would flatten the rest.
spans_magnitudes <- function(data) {
  if (nrow(data) == 0 || any(data$value <= 0)) {
    return(FALSE)
  }
  spans <- vapply(
    split(data$value, data$metric, drop = TRUE),
    function(value) max(value) > 4 * stats::median(value),
    NA
  )
  any(spans)
}

series_colours <- c(training = "#0072B2", evaluation = "#D55E00")

plot_with_ggplot2 <- function(data, smooth, theme_bw) {
  step <- value <- metric <- NULL # columns of the data, for R CMD check
  training <- data[data$data == "training", ]
  evaluation <- data[data$data == "evaluation", ]
  has_trend <- smooth && nrow(training) >= 50
  single <- if (nrow(training) == 1) training
  trend <- if (has_trend) transform(training, value = running_median(value))
  theme <- if (theme_bw) ggplot2::theme_bw else ggplot2::theme_minimal
  plot <- ggplot2::ggplot(data, ggplot2::aes(x = step, y = value, colour = data)) +
    ggplot2::geom_line(data = curves(training), alpha = if (has_trend) 0.3 else 1) +
    (if (has_trend) ggplot2::geom_line(data = trend, linewidth = 0.9)) +
    ggplot2::geom_line(data = curves(evaluation), linewidth = 0.6) +
    ggplot2::geom_point(data = rbind(single, evaluation), size = 2) +
    ggplot2::scale_colour_manual(values = series_colours, breaks = names(series_colours)) +
    ggplot2::scale_x_continuous(labels = plain_labels) +
    (if (spans_magnitudes(data)) ggplot2::scale_y_log10(labels = plain_labels)) +
    ggplot2::facet_wrap(ggplot2::vars(metric), scales = "free_y") +
    ggplot2::labs(x = "step", y = NULL, colour = NULL) +
    theme(base_size = 13) +
    ggplot2::theme(
      legend.position = if (nrow(evaluation) > 0) "top" else "none",
      legend.justification = "left",
      legend.margin = ggplot2::margin(),
      legend.box.margin = ggplot2::margin(b = -4),
      panel.grid.minor = ggplot2::element_blank(),
      panel.spacing = ggplot2::unit(1.5, "lines"),
      strip.background = ggplot2::element_blank(),
      strip.text = ggplot2::element_text(face = "bold", hjust = 0)
    )
  plot
}

# The rows of metrics with several values. ggplot2 reports a line of one point in a message.
curves <- function(rows) {
  rows[rows$metric %in% rows$metric[duplicated(rows$metric)], ]
}

# Each number is formatted separately: 0.3, 30, 3,000.
plain_labels <- function(x) {
  ifelse(is.na(x), NA, vapply(x, format, "", big.mark = ",", trim = TRUE, scientific = FALSE))
}

# Means of running medians over a twentieth of the values. The windows become smaller towards the beginning, where a
# loss falls steeply, so the first value is not smoothed. At the end, windows lose only their right half, because a
# single value would bend the line.
running_median <- function(value) {
  half <- length(value) %/% 40
  running_value(running_value(value, half, stats::median), half %/% 2, mean)
}

running_value <- function(value, half, summary) {
  last <- length(value)
  vapply(
    seq_along(value),
    function(at) {
      reach <- min(half, at - 1)
      summary(value[(at - reach):min(at + reach, last)])
    },
    0
  )
}

plot_with_base <- function(data) {
  metrics <- levels(data$metric)
  old <- graphics::par(mfrow = grDevices::n2mfrow(length(metrics)))
  on.exit(graphics::par(old))
  for (metric in metrics) {
    rows <- data[data$metric == metric, ]
    range <- if (nrow(rows) == 0) data.frame(step = 0, value = 0) else rows
    graphics::plot(
      range$step,
      range$value,
      type = "n",
      xlab = "step",
      ylab = metric,
      log = if (spans_magnitudes(rows)) "y" else ""
    )
    for (each in levels(rows$data)) {
      drawn <- rows[rows$data == each, ]
      colour <- series_colours[[each]]
      graphics::lines(drawn$step, drawn$value, col = colour)
      if (each == "evaluation" || nrow(drawn) == 1) {
        graphics::points(drawn$step, drawn$value, pch = 19, col = colour)
      }
    }
  }
  invisible(data)
}
