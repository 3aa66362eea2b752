# Spark DataFrames as inputs: Spark summarizes their columns, and writes their rows once as Parquet files.

# A table of sparklyr, or a DataFrame of pyspark.
is_spark_table <- function(x) {
  inherits(x, "tbl_spark") ||
    (is_python_object(x) && any(grepl("^pyspark[.]sql[.].*[.]DataFrame$", class(x))))
}

# The DataFrame in Python.
spark_table <- function(x) {
  if (is_python_object(x)) {
    return(x)
  }
  sc <- sparklyr::spark_connection(x)
  call_backend(
    "spark_table",
    # A connection of pysparklyr has a session of Python.
    session = if (is_python_object(sc$session)) sc$session else spark_address(sc),
    query = as.character(dbplyr::sql_render(x))
  )
}

# A list of columns without values, by which formulas and tidyselect helpers find names and types.
spark_columns <- function(table) {
  types <- call_backend("spark_columns", table = table)
  lapply(types, function(type) {
    if (startsWith(type, "Spark")) structure(list(), class = type) else empty_column(type)
  })
}

# The input of a DataFrame in Python. `...` are further arguments of input_parquet().
spark_input <- function(
  table,
  features = NULL,
  response = NULL,
  weights = NULL,
  staging = NULL,
  ...
) {
  columns <- spark_columns(table)
  features <- select_columns(rlang::enquo(features), columns, "features")
  response <- select_response(rlang::enquo(response), columns)
  weights <- select_response(rlang::enquo(weights), columns, "weights")
  check_chosen(columns, features, response)
  chosen <- c(features, weights, response)
  lapply(chosen, function(name) describe_column(columns[[name]], name, NULL, FALSE))
  if (is.null(staging)) {
    abort_tfdistribute(
      "argument",
      problem = "`staging` was not given.",
      remedy = "Give the directory for the rows, which Spark, this machine and all tasks share."
    )
  }
  describe <- function(paths) {
    input_parquet(paths, response, features, ..., weights = weights)
  }
  staging <- check_string(staging)
  # Unusable arguments are an error before Spark computes.
  describe(staging)
  paths <- call_backend(
    "write_spark_rows",
    table = table,
    names = as.list(chosen),
    staging = absolute_path(staging)
  )
  describe(as.character(unlist(paths)))
}

# A feature column for each feature of the formula, from a summary that Spark computes.
columns_from_spark <- function(formula, data, standardize, new_levels) {
  table <- spark_table(data)
  empty <- spark_columns(table)
  features <- read_formula(formula, empty)$features
  columns <- lapply(features, function(name) {
    describe_column(empty[[name]], name, "labels", is_response = FALSE)
  })
  summary <- call_backend("spark_summary", table = table, names = as.list(features))
  new_feature_columns(lapply(columns, function(column) {
    found <- summary$columns[[column$name]]
    if (length(found$labels) == summary$rows) {
      note_identifier(column$name, summary$rows)
    }
    column_for(
      column,
      NULL,
      standardize,
      new_levels,
      labels = as.character(unlist(found$labels)),
      center = found$mean,
      scale = divisor(found$deviation)
    )
  }))
}
