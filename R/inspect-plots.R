# Plots of what inspections return, with ggplot2.

#' @rdname importance
#' @export
plot.tfdistribute_importance <- function(x, y = NULL, most = 20, ...) {
  check_call(...)
  variable <- importance <- sd <- NULL # columns of the data, for R CMD check
  most <- check_count(most)
  shown <- utils::head(as.data.frame(x), most)
  shown$sd[is.na(shown$sd)] <- 0
  shown$variable <- factor(shown$variable, rev(shown$variable))
  plot_of_inspection(shown, ggplot2::aes(x = importance, y = variable)) +
    ggplot2::geom_col(fill = series_colours[[1]], alpha = 0.4, width = 0.7) +
    ggplot2::geom_errorbarh(
      ggplot2::aes(xmin = importance - sd, xmax = importance + sd),
      height = 0.25
    ) +
    ggplot2::scale_x_continuous(labels = plain_labels) +
    ggplot2::scale_y_discrete(labels = short_labels) +
    ggplot2::labs(
      x = paste0("increase of the\n", attr(x, "loss")),
      y = NULL,
      caption = if (nrow(x) > most) paste(nrow(x) - most, "more columns are less important")
    )
}

#' @rdname effects.tfdistribute_estimator
#' @export
plot.tfdistribute_effects <- function(x, y = NULL, ...) {
  check_call(...)
  first <- second <- value <- by <- NULL # columns of the data, for R CMD check
  names <- attr(x, "variables")
  # If one of two columns is a number, it is the horizontal axis.
  if (length(names) == 2 && !is_measured(x[[names[[1]]]])) {
    names <- rev(names)
  }
  values <- attr(x, "data")[[names[[1]]]]
  drawn <- as_drawn(x, names, "effect")
  own <- attr(x, "individual")
  own <- if (!is.null(own)) as_drawn(own, names, "prediction")
  is_line <- is_measured(values)
  curve <- if (length(names) == 2) ggplot2::aes(colour = second, group = second)
  scale <- if (is_measured(drawn$second)) {
    # Long enough for numbers of several digits.
    bar <- ggplot2::guide_colourbar(barwidth = 12, barheight = 0.6)
    ggplot2::scale_colour_viridis_c(end = 0.9, guide = bar)
  } else {
    ggplot2::scale_colour_viridis_d(end = 0.9, labels = short_labels)
  }
  plot_of_inspection(drawn, ggplot2::aes(x = first, y = value, group = 1)) +
    (if (is_line) along_numbers(values, drawn, own, curve) else along_labels(values, own)) +
    ggplot2::geom_point(curve, size = if (is_line) 1 else 3) +
    ggplot2::scale_y_continuous(labels = plain_labels) +
    (if (length(names) == 2) scale) +
    # Labels that are too long for a line have one each.
    (if (sum(nchar(levels(drawn$second))) > 30) ggplot2::theme(legend.direction = "vertical")) +
    (if (nlevels(drawn$by) > 0) ggplot2::facet_wrap(ggplot2::vars(by), ncol = 2)) +
    ggplot2::guides(x = ggplot2::guide_axis(check.overlap = TRUE)) +
    ggplot2::labs(x = names[[1]], y = shorten(attr(x, "output"), 40), colour = names[-1])
}

# Curves of rows and of the mean, and a mark below for each row.
along_numbers <- function(values, drawn, own, curve) {
  first <- row <- NULL # columns of the data, for R CMD check
  # Values beyond the curve are not drawn.
  inside <- which(values >= min(drawn$first) & values <= max(drawn$first))
  marks <- list2DF(list(first = values[inside]))
  line <- ggplot2::aes(group = row)
  list(
    if (!is.null(own)) ggplot2::geom_line(line, own, colour = "grey60", alpha = 0.35),
    ggplot2::geom_line(curve, linewidth = 1),
    ggplot2::geom_rug(ggplot2::aes(x = first), marks, inherit.aes = FALSE, alpha = 0.15)
  )
}

# Points of rows, and labels at the side with their frequencies.
along_labels <- function(values, own) {
  counts <- table(as.character(values))
  with_counts <- function(labels) {
    paste0(short_labels(labels), " (", format_count(counts[labels]), ")")
  }
  list(
    if (!is.null(own)) ggplot2::geom_point(data = own, colour = "grey60", alpha = 0.35),
    ggplot2::scale_x_discrete(labels = with_counts),
    ggplot2::coord_flip()
  )
}

# The values of one or two columns as `first` and `second`, the output as `by`, and the prediction as `value`.
as_drawn <- function(x, names, value) {
  by <- setdiff(names(x), c("row", names, value))
  columns <- lapply(unclass_list(x)[names], function(column) {
    if (is_measured(column)) column else factor(as.character(column), unique(as.character(column)))
  })
  names(columns) <- c("first", "second")[seq_along(names)]
  columns$by <- if (length(by) > 0) x[[by]] else factor(rep(NA, nrow(x)))
  list2DF(c(columns, list(row = x[["row"]] %||% seq_len(nrow(x)), value = x[[value]])))
}

#' @rdname calibration
#' @export
plot.tfdistribute_calibration <- function(x, y = NULL, ...) {
  check_call(...)
  predicted <- observed <- lower <- upper <- curve <- NULL # columns of the data, for R CMD check
  drawn <- as.data.frame(x)
  drawn$curve <- factor(drawn$curve, unique(drawn$curve))
  plot_of_inspection(drawn, ggplot2::aes(predicted, observed, colour = curve)) +
    ggplot2::geom_abline(colour = "grey60", linetype = "dashed") +
    ggplot2::geom_line(alpha = 0.5) +
    ggplot2::geom_pointrange(
      ggplot2::aes(ymin = lower, ymax = upper),
      fatten = 2
    ) +
    ggplot2::scale_colour_manual(values = unname(series_colours)) +
    ggplot2::coord_equal(xlim = c(0, 1), ylim = c(0, 1)) +
    ggplot2::labs(x = attr(x, "labels")[[1]], y = attr(x, "labels")[[2]], colour = NULL) +
    (if (nlevels(drawn$curve) == 1) ggplot2::guides(colour = "none"))
}

plot_of_inspection <- function(data, mapping) {
  if (!requireNamespace("ggplot2", quietly = TRUE)) {
    abort_tfdistribute(
      "unsupported",
      problem = "plot() of an inspection needs the package ggplot2, which is not installed.",
      remedy = "Run install.packages(\"ggplot2\")."
    )
  }
  ggplot2::ggplot(data, mapping) +
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
  half <- limit %/% 2 - 1
  end <- substr(texts, nchar(texts) - half + 1, nchar(texts))
  ifelse(nchar(texts) > limit, paste0(substr(texts, 1, half), "...", end), texts)
}
