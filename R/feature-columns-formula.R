# Feature columns from a formula and a data frame.

# A column per feature of the formula, by the type of its values in `data`.
columns_from_data <- function(formula, data, standardize, new_levels) {
  if (is_spark_table(data)) {
    return(columns_from_spark(formula, data, standardize, new_levels))
  }
  read <- read_formula(formula, with_column_names(data))
  note_identifiers(read$data, read$features)
  new_feature_columns(lapply(read$features, function(name) {
    values <- input_column(read$data, name)
    if (is_sparse(values)) {
      return(column_of_sparse(values, name))
    }
    if (is_plain_list(values)) {
      values <- stack_rows(values, name)
    }
    column <- describe_column(values, name, "labels", is_response = FALSE)
    column_for(column, values, standardize, new_levels)
  }))
}

# Number of rows from which a column with a different label in each row causes a note.
many_rows <- 20

# A label that occurs in only one row contains no information about other rows, and each label adds a weight.
note_identifiers <- function(data, features) {
  is_identifier <- function(name) {
    values <- input_column(data, name)
    has_labels <- is.factor(values) || is.character(values)
    has_labels && is.null(dim(values)) && anyDuplicated(values) == 0
  }
  for (name in Filter(is_identifier, features)) {
    note_identifier(name, length(input_column(data, name)))
  }
}

note_identifier <- function(name, count) {
  if (count < many_rows) {
    return(invisible())
  }
  rlang::inform(c(
    "!" = interpolate(c(
      "`{name}` has {count} labels in {count} rows, ",
      "so a model learns nothing about other rows from it."
    )),
    i = interpolate("Leave it out of the formula, as in y ~ . - `{name}`.")
  ))
}

# Labels become indicators, which every model reads. Dates and times are always standardized, because they count from
# 1970, and the differences between them are small in comparison.
column_for <- function(
  column,
  values,
  standardize,
  new_levels = "warn",
  labels = column$levels %||% sort(unique(enc2utf8(as.vector(values))), method = "radix"),
  center = apply(number_matrix(values, column), 2, mean, na.rm = TRUE),
  scale = apply(number_matrix(values, column), 2, spread)
) {
  name <- column$name
  if (column$type == "string") {
    listed <- column_categorical_with_vocabulary_list(
      tidyselect::all_of(name),
      vocabulary_list = setdiff(labels, missing_label),
      default_value = if (new_levels == "ignore") -1L
    )
    listed$warns <- if (new_levels == "warn") TRUE
    return(column_indicator(listed))
  }
  is_time <- column$type %in% c("date", "datetime")
  is_scaled <- is_time || (standardize && column$type %in% c("float", "integer", "integer64"))
  if (is_scaled && !all(is.finite(center))) {
    abort_no_center(name)
  }
  column_numeric(
    tidyselect::all_of(name),
    shape = if (length(column$shape) == 0) 1L else column$shape,
    center = if (is_scaled) center,
    scale = if (is_scaled) scale
  )
}

abort_no_center <- function(name) {
  abort_tfdistribute(
    "input",
    problem = "The column `{name}` cannot be standardized: its mean is not finite.",
    remedy = "Leave it out of the formula, or remove the rows where is.infinite({name}).",
    argument = name
  )
}

# A row for each row of the data.
number_matrix <- function(values, column) {
  matrix(as_double(values), ncol = prod(column$shape))
}

# integer64 stores its bits in doubles.
as_double <- function(values) {
  if (inherits(values, "integer64")) {
    return(bit64::as.double.integer64(values))
  }
  # Classes such as haven_labelled may have no method for as.double() in this session.
  as.double(unclass(values))
}

spread <- function(numbers) {
  divisor(stats::sd(numbers, na.rm = TRUE))
}

# A constant column becomes 0 with any divisor.
divisor <- function(deviation) {
  if (is.finite(deviation) && deviation > 0) deviation else 1
}
