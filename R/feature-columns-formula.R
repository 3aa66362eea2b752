# Feature columns from a formula and a data frame.

# A column per feature of the formula, by the type of its values in `data`.
columns_from_data <- function(formula, data, standardize) {
  read <- read_formula(formula, with_column_names(data))
  new_feature_columns(lapply(read$features, function(name) {
    values <- input_column(read$data, name)
    if (is.list(values) && !is.object(values)) {
      values <- stack_rows(values, name)
    }
    column_for(describe_column(values, name, "labels", is_response = FALSE), values, standardize)
  }))
}

# Labels become indicators, which every model reads. Dates and times are always standardized: they count from 1970, and
# differences between them are small beside that.
column_for <- function(column, values, standardize) {
  name <- column$name
  if (column$type == "string") {
    labels <- column$levels %||% sort(unique(enc2utf8(as.vector(values))), method = "radix")
    return(column_indicator(
      column_categorical_with_vocabulary_list(tidyselect::all_of(name), vocabulary_list = labels)
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
