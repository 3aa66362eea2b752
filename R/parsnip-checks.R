# Checks of the rows that parsnip gives its engine.

# A data frame, with the predictors of a sparse matrix or of sparse vectors as one column. `sparse` are their names in
# the training, NULL in the training itself.
check_predictors <- function(x, argument = "x", sparse = NULL) {
  if (!is.data.frame(x) && !is.matrix(x) && !is_sparse(x)) {
    abort_argument(x, "a data frame, or a matrix with column names", argument = argument)
  }
  if (is.null(colnames(x))) {
    abort_tfdistribute(
      "argument",
      problem = "`{argument}` is a matrix without column names.",
      remedy = "Name its columns."
    )
  }
  if (nrow(x) == 0 || ncol(x) == 0) {
    abort_argument(x, "a data frame with rows and columns", argument = argument)
  }
  sparse <- sparse %||% names_of_sparse(x)
  absent <- setdiff(sparse, colnames(x))
  if (length(absent) > 0) {
    abort_unknown_column(absent, colnames(x), argument, subject = "The model")
  }
  others <- x[, setdiff(colnames(x), sparse), drop = FALSE]
  rows <- as.data.frame(if (is_sparse(x)) as.matrix(others) else others, stringsAsFactors = FALSE)
  if (length(sparse) > 0) {
    rows[[sparse_name]] <- as_sparse(x[, sparse, drop = FALSE])
  }
  rows
}

sparse_name <- ".sparse"

names_of_sparse <- function(x) {
  if (is_sparse(x)) {
    colnames(x)
  } else if (is.data.frame(x) && isNamespaceLoaded("sparsevctrs")) {
    names(x)[vapply(x, sparsevctrs::is_sparse_numeric, NA)]
  }
}

as_sparse <- function(x) {
  if (is_sparse(x)) {
    x
  } else if (is.data.frame(x) && isNamespaceLoaded("sparsevctrs")) {
    sparsevctrs::coerce_to_sparse_matrix(x)
  } else {
    Matrix::Matrix(as.matrix(x), sparse = TRUE)
  }
}

check_outcome <- function(y, rows) {
  is_outcome <- is.factor(y) || (is.numeric(y) && is.null(dim(y)) && !is.object(y))
  if (!is_outcome || length(y) != rows) {
    abort_argument(y, "numbers or a factor, one for each of the {rows} row{?s} of `x`")
  }
  missing <- sum(missing_in(y))
  if (missing > 0) {
    abort_tfdistribute(
      "input",
      problem = "`y` has {missing} missing value{?s}.",
      remedy = "Remove these rows, for example with step_naomit(all_outcomes(), skip = TRUE) in a recipe."
    )
  }
  y
}

# Recipes replace missing values, but the engine has no argument for this. Workflows turn labels that did not occur in
# training into missing values.
check_complete <- function(rows) {
  # A sparse matrix is checked where it is converted.
  unfilled <- incomplete(rows, setdiff(names(rows), sparse_name))
  if (length(unfilled) == 0) {
    return(invisible())
  }
  abort_missing(
    rows,
    unfilled,
    remedy = c(
      "Remove these rows, or replace the values in a recipe, for example with ",
      "{if (is.numeric(rows[[unfilled[[1]]]])) 'step_impute_median' else 'step_unknown'}",
      "(`{unfilled[[1]]}`)."
    )
  )
}

check_row_weights <- function(weights, rows) {
  if (is.null(weights)) {
    return(NULL)
  }
  usable <- is.numeric(weights) && length(weights) == rows && all(is.finite(weights))
  if (!usable || any(weights < 0) || all(weights == 0)) {
    abort_argument(
      weights,
      "numbers of at least 0, one for each of the {rows} row{?s} of `x` and not all 0, or NULL"
    )
  }
  as.double(weights)
}

# The weights of the rows with those of their classes.
with_class_weights <- function(weights, class_weights, y) {
  if (is.null(class_weights)) {
    return(weights)
  }
  counts <- table(y)
  if (is.numeric(class_weights) && length(class_weights) == 1 && is.null(names(class_weights))) {
    rarest <- which.min(ifelse(counts == 0, Inf, counts))
    class_weights <- replace(rep(1, length(counts)), rarest, class_weights)
  } else if (is.numeric(class_weights) && !is.null(names(class_weights))) {
    class_weights <- class_weights[names(counts)]
  }
  usable <- is.factor(y) && is.numeric(class_weights) && length(class_weights) == nlevels(y)
  if (!usable || !all(is.finite(class_weights) & class_weights >= 0)) {
    abort_argument(
      class_weights,
      "a number of at least 0 for each level of a factor `y`, one number, or NULL"
    )
  }
  unname(class_weights[as.integer(y)]) * (weights %||% 1)
}

# Numbers are centered and scaled, because their unit must not determine the duration of training.
outcome_values <- function(y) {
  if (is.factor(y)) {
    return(list(values = y, levels = levels(y)))
  }
  center <- mean(y)
  scale <- spread(y)
  list(values = (y - center) / scale, center = center, scale = scale)
}
