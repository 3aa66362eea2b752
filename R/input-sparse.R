# Sparse matrices of the package Matrix as features. Models read the numbers of their columns as weighted categories.

is_sparse <- function(x) {
  isS4(x) && inherits(x, "sparseMatrix")
}

sparse_names <- function(data) {
  if (!is.matrix(data)) names(data)[vapply(as.list(data), is_sparse, NA)]
}

# The feature with the values of a sparse matrix.
values_name <- function(name) {
  sprintf("%s_values", name)
}

# The column of a linear model for a sparse matrix.
column_of_sparse <- function(x, name) {
  numbers <- column_categorical_with_identity(tidyselect::all_of(name), num_buckets = ncol(x))
  column_categorical_weighted(numbers, values_name(name))
}

# The columns, with two columns in place of each sparse matrix.
with_sparse_columns <- function(columns) {
  sparse <- sparse_names(columns)
  taken <- intersect(values_name(sparse), names(columns))
  if (length(taken) > 0) {
    abort_tfdistribute(
      "input",
      problem = "`{taken[[1]]}` is a column, but the values of a sparse matrix get this name.",
      remedy = "Rename the column `{taken[[1]]}`.",
      argument = taken[[1]]
    )
  }
  for (name in sparse) {
    columns[c(name, values_name(name))] <- sparse_columns(columns[[name]], name)
  }
  columns
}

# Data of a model that was trained on a sparse matrix, which may be dense here.
with_known_sparse <- function(data, features) {
  for (name in if (is.matrix(data)) NULL else names(data)) {
    if (is.matrix(data[[name]]) && values_name(name) %in% features) {
      data[[name]] <- Matrix::Matrix(data[[name]], sparse = TRUE)
    }
  }
  data
}

# For each row of a sparse matrix, the numbers of its columns, from 0, and their values. Shorter rows end with -1 and 0,
# which TensorFlow ignores, and zeros are left out, because it leaves out their values only.
sparse_columns <- function(x, name) {
  x <- methods::as(methods::as(methods::as(x, "dMatrix"), "generalMatrix"), "CsparseMatrix")
  if (anyNA(x@x)) {
    abort_tfdistribute(
      "input",
      problem = "The sparse matrix `{name}` has missing values.",
      remedy = "Replace them, as in {name}@x[is.na({name}@x)] <- 0.",
      argument = name
    )
  }
  kept <- abs(x@x) >= smallest_number
  row <- x@i[kept] + 1L
  by_row <- order(row)
  counts <- tabulate(row, nrow(x))
  place <- cbind(row[by_row], sequence(counts))
  padded <- function(values, padding) {
    rows <- array(padding, c(nrow(x), max(1L, counts)))
    rows[place] <- values[kept][by_row]
    rows
  }
  list(padded(rep(seq_len(ncol(x)) - 1L, diff(x@p)), -1L), padded(x@x, 0))
}

# TensorFlow computes with 0 in place of smaller numbers.
smallest_number <- 2^-126

# Models that read each column as it is would take the numbers of columns for values.
refuse_sparse <- function(sparse, model) {
  if (length(sparse) > 0) {
    abort_tfdistribute(
      "input",
      problem = "The feature `{sparse[[1]]}` is a sparse matrix, which {model} does not read.",
      remedy = c(
        "Use a linear model, or column_embedding() in a dnn_regressor() or dnn_classifier(), or give ",
        "as.matrix({sparse[[1]]}) if it is small."
      ),
      argument = sparse[[1]]
    )
  }
}
