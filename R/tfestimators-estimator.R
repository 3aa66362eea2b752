# Parts of an estimator that scripts for tfestimators use: its class, and the Python object in it.

# An estimator contains no Python object. This method creates one, for code that calls TensorFlow itself.
#' @export
`$.tfdistribute_estimator` <- function(x, name) {
  if (identical(name, "estimator") && is.null(.subset2(x, "estimator"))) {
    return(call_backend("python_estimator", estimator = x))
  }
  .subset2(x, name)
}
