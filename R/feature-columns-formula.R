# Feature columns from a formula and a data frame.

# A column per feature of the formula, by the type of its values in `data`.
columns_from_data <- function(formula, data, standardize, new_levels) {
  read <- read_formula(formula, with_column_names(data))
  note_identifiers(read$data, read$features)
  new_feature_columns(lapply(read$features, function(name) {
    values <- input_column(read$data, name)
    if (is.list(values) && !is.object(values)) {
      values <- stack_rows(values, name)
    }
    column <- describe_column(values, name, "labels", is_response = FALSE)
    column_for(column, values, standardize, new_levels)
  }))
}

# Rows from which on a column with a label of its own in each is noted.
many_rows <- 20

# A label that no other row has tells a model nothing about other rows, and each is a weight.
note_identifiers <- function(data, features) {
  is_identifier <- function(name) {
    values <- input_column(data, name)
    has_labels <- is.factor(values) || is.character(values)
    has_labels && length(values) >= many_rows && is.null(dim(values)) && anyDuplicated(values) == 0
  }
  for (name in Filter(is_identifier, features)) {
    count <- length(input_column(data, name))
    rlang::inform(c(
      "!" = paste0(
        "`",
        name,
        "` has ",
        count,
        " labels in ",
        count,
        " rows, ",
        "so a model learns nothing about other rows from it."
      ),
      i = paste0("Leave it out of the formula, as in y ~ . - `", name, "`.")
    ))
  }
}

# Labels become indicators, which every model reads. Dates and times are always standardized: they count from 1970, and
# differences between them are small beside that.
column_for <- function(column, values, standardize, new_levels = "error") {
  name <- column$name
  if (column$type == "string") {
    labels <- column$levels %||% sort(unique(enc2utf8(as.vector(values))), method = "radix")
    return(column_indicator(
      column_categorical_with_vocabulary_list(
        tidyselect::all_of(name),
        vocabulary_list = labels,
        default_value = if (new_levels == "ignore") -1L
      )
    ))
  }
  is_time <- column$type %in% c("date", "datetime")
  is_scaled <- is_time || (standardize && column$type %in% c("float", "integer", "integer64"))
  shape <- if (length(column$shape) == 0) 1L else column$shape
  numbers <- if (is_scaled) matrix(as_double(values), ncol = prod(shape))
  column_numeric(
    tidyselect::all_of(name),
    shape = shape,
    center = if (is_scaled) apply(numbers, 2, mean, na.rm = TRUE),
    scale = if (is_scaled) apply(numbers, 2, spread)
  )
}

# integer64 stores its bits in doubles.
as_double <- function(values) {
  if (inherits(values, "integer64")) bit64::as.double.integer64(values) else as.double(values)
}

# A constant column becomes 0, whatever it is divided by.
spread <- function(numbers) {
  deviation <- stats::sd(numbers, na.rm = TRUE)
  if (is.finite(deviation) && deviation > 0) deviation else 1
}
