# Plots of what inspections return, with ggplot2.

#' @rdname importance
#' @export
plot.tfdistribute_importance <- function(x, y = NULL, most = 20, ...) {
  check_call(...)
  shown <- utils::head(as.data.frame(x), check_count(most))
  shown$sd[is.na(shown$sd)] <- 0
  shown$variable <- factor(shown$variable, rev(shown$variable))
  others <- if (nrow(x) > most) paste(nrow(x) - most, "more columns are less important")
  plot_of_inspection(shown, ggplot2::aes(.data$importance, .data$variable)) +
    ggplot2::geom_col(fill = series_colours[[1]], alpha = 0.4, width = 0.7) +
    ggplot2::geom_errorbarh(
      ggplot2::aes(xmin = .data$importance - .data$sd, xmax = .data$importance + .data$sd),
      height = 0.25
    ) +
    ggplot2::scale_x_continuous(labels = plain_labels) +
    ggplot2::scale_y_discrete(labels = short_labels) +
    ggplot2::labs(x = paste0("increase of the\n", attr(x, "loss")), y = NULL, caption = others)
}

#' @rdname effects.tfdistribute_estimator
#' @export
plot.tfdistribute_effects <- function(x, y = NULL, ...) {
  check_call(...)
  names <- attr(x, "variables")
  # If one of two columns is a number, it is the horizontal axis.
  names <- if (is_measured(x[[names[[1]]]])) names else rev(names)
  first <- names[[1]]
  other <- names[-1]
  second <- if (length(other) > 0) x[[other]]
  by <- setdiff(names(x), c(names, "effect"))
  plot <- plot_of_inspection(x, ggplot2::aes(.data[[first]], .data$effect, group = 1))
  curve <- if (length(other) > 0) ggplot2::aes(colour = .data[[other]], group = .data[[other]])
  scale <- if (is_measured(second)) {
    # Long enough for numbers of several digits.
    bar <- ggplot2::guide_colourbar(barwidth = 12, barheight = 0.6)
    ggplot2::scale_colour_viridis_c(end = 0.9, guide = bar)
  } else {
    ggplot2::scale_colour_viridis_d(end = 0.9, labels = short_labels)
  }
  is_line <- is_measured(x[[first]])
  layers <- if (is_line) along_numbers else along_labels
  plot +
    layers(attr(x, "data")[first], attr(x, "individual"), x, curve) +
    ggplot2::geom_point(curve, size = if (is_line) 1 else 3) +
    ggplot2::scale_y_continuous(labels = plain_labels) +
    scale +
    # Labels that are too long for a line have one each.
    (if (!is_measured(second) && sum(nchar(unique(as.character(second)))) > 30) {
      ggplot2::theme(legend.direction = "vertical")
    }) +
    (if (length(by) > 0) ggplot2::facet_wrap(by, ncol = 2)) +
    ggplot2::guides(x = ggplot2::guide_axis(check.overlap = TRUE)) +
    ggplot2::labs(x = first, y = shorten(attr(x, "output"), 40), colour = other)
}

# Curves of rows and of the mean, and a mark below for each row.
along_numbers <- function(data, own, effects, curve) {
  first <- names(data)
  # Values beyond the curve are not drawn.
  range <- range(effects[[first]])
  is_inside <- which(data[[first]] >= range[[1]] & data[[first]] <= range[[2]])
  line <- ggplot2::aes(y = .data$prediction, group = .data$row)
  mark <- ggplot2::aes(.data[[first]])
  list(
    if (!is.null(own)) ggplot2::geom_line(line, own, colour = "grey60", alpha = 0.35),
    ggplot2::geom_line(curve, linewidth = 1),
    ggplot2::geom_rug(mark, data[is_inside, , drop = FALSE], inherit.aes = FALSE, alpha = 0.15)
  )
}

# Points of rows, and labels at the side with their frequencies.
along_labels <- function(data, own, ...) {
  counts <- table(as.character(data[[1]]))
  with_counts <- function(labels) {
    paste0(short_labels(labels), " (", format_count(counts[as.character(labels)]), ")")
  }
  point <- ggplot2::aes(y = .data$prediction)
  list(
    if (!is.null(own)) ggplot2::geom_point(point, own, colour = "grey60", alpha = 0.35),
    ggplot2::scale_x_discrete(labels = with_counts),
    ggplot2::coord_flip()
  )
}

#' @rdname calibration
#' @export
plot.tfdistribute_calibration <- function(x, y = NULL, ...) {
  check_call(...)
  x$curve <- factor(x$curve, unique(x$curve))
  plot_of_inspection(x, ggplot2::aes(.data$predicted, .data$observed, colour = .data$curve)) +
    ggplot2::geom_abline(colour = "grey60", linetype = "dashed") +
    ggplot2::geom_line(alpha = 0.5) +
    ggplot2::geom_pointrange(ggplot2::aes(ymin = .data$lower, ymax = .data$upper), fatten = 2) +
    ggplot2::scale_colour_manual(values = unname(series_colours)) +
    ggplot2::coord_equal(xlim = c(0, 1), ylim = c(0, 1)) +
    ggplot2::labs(x = attr(x, "labels")[[1]], y = attr(x, "labels")[[2]], colour = NULL) +
    (if (nlevels(x$curve) == 1) ggplot2::guides(colour = "none"))
}

plot_of_inspection <- function(data, mapping) {
  if (!requireNamespace("ggplot2", quietly = TRUE)) {
    abort_tfdistribute(
      "unsupported",
      problem = "plot() of an inspection needs the package ggplot2, which is not installed.",
      remedy = "Run install.packages(\"ggplot2\")."
    )
  }
  ggplot2::ggplot(as.data.frame(data), mapping) +
    ggplot2::theme_minimal(base_size = 13) +
    ggplot2::theme(
      legend.position = "top",
      legend.justification = "left",
      panel.grid.minor = ggplot2::element_blank(),
      strip.text = ggplot2::element_text(face = "bold", hjust = 0)
    )
}

# The ends of long texts distinguish them as often as their beginnings.
short_labels <- function(texts, limit = 30) {
  texts <- as.character(texts)
  half <- limit %/% 2 - 1
  end <- substr(texts, nchar(texts) - half + 1, nchar(texts))
  ifelse(nchar(texts) > limit, paste0(substr(texts, 1, half), "...", end), texts)
}
