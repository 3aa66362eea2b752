# A note on features that slow down the learning of a network.

# Standard deviation from which a feature causes a note.
large_spread <- 1000

note_large_features <- function(object, input) {
  deep <- if (startsWith(object$kind, "dnn_linear")) {
    object$dnn_feature_columns
  } else if (startsWith(object$kind, "dnn")) {
    object$feature_columns
  }
  raw <- Filter(is_raw_number, deep)
  keys <- vapply(raw, function(column) column$key, "")
  data <- source_of(input)$data
  if (is.null(data)) {
    # The data is in files, or comes from a function.
    return(invisible())
  }
  spreads <- lapply(rlang::set_names(intersect(keys, column_names(data))), function(name) {
    values <- input_column(data, name)
    if (is.numeric(values) && !is.object(values)) stats::sd(utils::head(values, 1e5), na.rm = TRUE)
  })
  large <- names(Filter(function(spread) isTRUE(spread >= large_spread), spreads))
  if (length(large) > 0) {
    spread <- interpolate(c(
      "{backquoted(utils::head(large, 5))}{cli::qty(length(large))} spread{?s/} over thousands, ",
      "and networks learn best from numbers near 1."
    ))
    rlang::inform(c(
      "!" = spread,
      i = paste(
        "Standardize with feature_columns(y ~ ., data, standardize = TRUE), or `center` and `scale` of",
        "column_numeric()."
      )
    ))
  }
}
