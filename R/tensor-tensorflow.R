# R's package tensorflow beside this one: its methods for tensors come first.

# The class that it puts before Python's classes of a tensor.
tensorflow_class <- "tensorflow.tensor"

# Called when it is loaded.
join_tensorflow <- function(...) {
  register_operators_of_others()
  # Some of its versions give their class, and so their methods, to variables only.
  filter_classes(function(classes) {
    is_partial <- tensor_class %in% classes && !tensorflow_class %in% classes
    if (is_partial) c(tensorflow_class, classes) else classes
  })
  # Its cbind() and rbind() fail in the first step where the number of rows is not known, as in every model function.
  extend_bind("cbind", tensor_cbind)
  extend_bind("rbind", tensor_rbind)
}

extend_bind <- function(generic, own) {
  theirs <- utils::getS3method(generic, tensorflow_class, optional = TRUE)
  force(own)
  # Their method does not recycle numbers, and gives TensorFlow a dictionary of tensors that have names, as in
  # do.call(cbind, features). It is needed for its own arguments only.
  arguments <- setdiff(names(formals(theirs)), c("...", "deparse.level"))
  extended <- function(...) {
    if (any(names(list(...)) %in% arguments)) theirs(...) else own(...)
  }
  registerS3method(generic, tensorflow_class, extended, envir = baseenv())
}
