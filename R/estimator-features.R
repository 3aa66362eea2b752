# The features of a model function: a named list of tensors. As in tfestimators, TensorFlow's and R's functions read it
# as one matrix if all features are numbers.

# Anything but a named list is returned unchanged.
as_features <- function(x) {
  if (is.list(x) && !is_python_object(x) && rlang::is_named(x)) {
    theirs <- if (isNamespaceLoaded("tensorflow")) tensorflow_class
    class(x) <- c("tfdistribute_features", theirs, tensor_class)
  }
  x
}

# Attributes of the matrix that model functions use. A feature of the same name takes precedence.
matrix_attributes <- c("shape", "dtype", "get_shape")

#' @export
`[[.tfdistribute_features` <- function(x, i, ...) {
  found <- .subset2(x, i, ...)
  if (is.null(found) && is.character(i)) {
    if (i %in% matrix_attributes) {
      return(python_attribute(features_matrix(x), i))
    }
    # NULL, so that a model function can test for a feature. If it fails later, the error names this feature.
    the$absent_feature <- list(name = shown_as_utf8(i), features = names(x))
  }
  found
}

#' @export
`$.tfdistribute_features` <- function(x, name) {
  x[[name]]
}

# One index selects features, two select from the matrix.
#' @export
`[.tfdistribute_features` <- function(x, ...) {
  if (...length() > 1) features_matrix(x)[...] else as_features(unclass(x)[...])
}

#' @export
as.list.tfdistribute_features <- function(x, ...) {
  unclass(x)
}

# Without names, the features are a list of tensors, and no matrix.
#' @export
`names<-.tfdistribute_features` <- function(x, value) {
  x <- unclass(x)
  names(x) <- value
  as_features(x)
}

#' @export
length.tfdistribute_features <- function(x) {
  length(unclass(x))
}

#' @export
dim.tfdistribute_features <- function(x) {
  matrix <- features_matrix(x)
  if (!is.null(matrix)) dim(matrix)
}

# The value of the features in an operator or a function of R.
#' @export
as_wire.tfdistribute_features <- function(x) {
  features_matrix(x) %||%
    abort_tfdistribute(
      "argument",
      problem = "`features` are a list of columns that are not numbers of one kind, and no matrix.",
      remedy = "Use one of them, as in features${names(x)[[1]]}."
    )
}

#' @export
as.matrix.tfdistribute_features <- function(x, ...) {
  as_wire(x)
}

#' @export
print.tfdistribute_features <- function(x, ...) {
  cat("<features> ", toString(names(x)), "\n", sep = "")
  invisible(x)
}

# The matrix, or NULL if the features are not numbers of one kind, or have lost their names.
features_matrix <- function(x) {
  if (rlang::is_named(x)) call_backend("named_matrix", features = unclass(x))
}
