#' Plot the history of a training
#'
#' Draws training losses as a line and evaluations as points, with one panel per metric.
#'
#' @param x A [history][history].
#' @param y Ignored.
#' @param metrics Names of the metrics to show. NULL (default) shows the loss, and the other metrics if there are at
#'   least two evaluations.
#' @param method `"ggplot2"`, `"base"`, or `"auto"` for ggplot2 if it is installed.
#' @param smooth TRUE adds a smoothed line of the training loss (with ggplot2, from ten points on).
#' @param theme_bw TRUE for ggplot2's black and white theme.
#' @param ... Ignored.
#' @returns A ggplot object; with `"base"`, invisibly the data that was drawn.
#' @section Errors: `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' @references The arguments are those of tfestimators' `plot()` of a history.
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' history <- train(model, input_fn(mpg ~ wt + hp, mtcars, num_epochs = 10))
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
  data <- as.data.frame(x)
  if (nrow(data) == 0) {
    data <- data.frame(step = 0, metric = "loss", value = NA_real_, data = "training")
  }
  several <- nrow(x$evaluations) > 1
  metrics <- check_strings(metrics, null = TRUE) %||%
    if (several) unique(data$metric) else "loss"
  unknown <- setdiff(metrics, data$metric)
  if (length(unknown) > 0) {
    check_choice(unknown[[1]], unique(data$metric), argument = "metrics")
  }
  data <- data[data$metric %in% metrics, ]
  if (method == "auto") {
    method <- if (requireNamespace("ggplot2", quietly = TRUE)) "ggplot2" else "base"
  }
  if (method == "ggplot2") {
    plot_with_ggplot2(data, check_flag(smooth), check_flag(theme_bw))
  } else {
    plot_with_base(data)
  }
}

plot_with_ggplot2 <- function(data, smooth, theme_bw) {
  step <- value <- metric <- NULL # columns of the data, for R CMD check
  training <- data[data$data == "training", ]
  evaluation <- data[data$data == "evaluation", ]
  aes <- ggplot2::aes(x = step, y = value, colour = data)
  plot <- ggplot2::ggplot(data, aes) +
    ggplot2::geom_line(data = training, alpha = if (smooth) 0.4 else 1) +
    ggplot2::geom_point(data = evaluation) +
    ggplot2::labs(x = "step", y = NULL, colour = NULL)
  if (smooth && nrow(training) >= 10) {
    plot <- plot +
      ggplot2::geom_smooth(data = training, formula = y ~ x, method = "loess", se = FALSE)
  }
  if (theme_bw) {
    plot <- plot + ggplot2::theme_bw()
  }
  plot + ggplot2::facet_wrap(ggplot2::vars(metric), scales = "free_y")
}

plot_with_base <- function(data) {
  metrics <- unique(data$metric)
  old <- graphics::par(mfrow = grDevices::n2mfrow(length(metrics)))
  on.exit(graphics::par(old))
  for (metric in metrics) {
    rows <- data[data$metric == metric, ]
    graphics::plot(rows$step, rows$value, type = "n", xlab = "step", ylab = metric)
    training <- rows[rows$data == "training", ]
    evaluation <- rows[rows$data == "evaluation", ]
    graphics::lines(training$step, training$value)
    graphics::points(evaluation$step, evaluation$value, pch = 19)
  }
  invisible(data)
}
