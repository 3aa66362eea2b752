# What scripts for tfestimators ask of an estimator: its class, and the Python object in it.

# An estimator holds no Python object: this makes one, for code that calls TensorFlow itself.
#' @export
`$.tfdistribute_estimator` <- function(x, name) {
  if (identical(name, "estimator") && is.null(.subset2(x, "estimator"))) {
    return(call_backend("python_estimator", estimator = x))
  }
  .subset2(x, name)
}
