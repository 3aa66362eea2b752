# Names of TensorFlow 1 in `tf`, and their replacements.

# `tf` and its modules store the path by which the user reached them.
as_tensorflow_module <- function(module, path = character()) {
  class(module) <- c("tfdistribute_module", class(module))
  attr(module, "path") <- path
  module
}

#' @export
`$.tfdistribute_module` <- function(x, name) {
  path <- c(attr(x, "path"), name)
  found <- tryCatch(NextMethod(), error = function(error) abort_no_attribute(error, path))
  if (inherits(found, "python.builtin.module")) as_tensorflow_module(found, path) else found
}

abort_no_attribute <- function(error, path) {
  if (!grepl("AttributeError", conditionMessage(error), fixed = TRUE)) {
    rlang::cnd_signal(error)
  }
  call_backend("missing_name", path = as.list(path))
}
