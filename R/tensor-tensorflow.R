# Compatibility with R's package tensorflow, whose methods for tensors take precedence.

# The class that the package adds before Python's classes of a tensor.
tensorflow_class <- "tensorflow.tensor"

# Called when the package is loaded.
join_tensorflow <- function(...) {
  register_operators_of_others()
  # Some of its versions assign their class, and so their methods, only to variables.
  filter_classes(function(classes) {
    is_partial <- tensor_class %in% classes && !tensorflow_class %in% classes
    if (is_partial) c(tensorflow_class, classes) else classes
  })
  # Its cbind() and rbind() fail in the first step if the number of rows is not known, as in every model function.
  extend_bind("cbind", tensor_cbind)
  extend_bind("rbind", tensor_rbind)
}

extend_bind <- function(generic, own) {
  theirs <- utils::getS3method(generic, tensorflow_class, optional = TRUE)
  force(own)
  # Its method does not recycle numbers, and passes TensorFlow a dictionary of tensors that have names, as in
  # do.call(cbind, features). It is needed only for its own arguments.
  arguments <- setdiff(names(formals(theirs %||% own)), c("...", "deparse.level"))
  extended <- function(...) {
    if (any(names(list(...)) %in% arguments)) theirs(...) else own(...)
  }
  registerS3method(generic, tensorflow_class, extended, envir = baseenv())
}
