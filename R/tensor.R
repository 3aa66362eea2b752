# R's operators and subsetting for tensors, if neither reticulate nor the R package tensorflow has them.

tensor_class <- "tensorflow.python.types.core.Tensor"

operators <- strsplit("+ - * / ^ %/% %% < <= > >= == != & | !", " ", fixed = TRUE)[[1]]

register_tensor_methods <- function() {
  register <- function(generic, method, package = "base", class = tensor_class) {
    registerS3method(generic, class, method, envir = asNamespace(package))
  }
  register("Ops", tensor_operation)
  register_operators_of_others()
  # Operators and cbind() need one method, or one class, for all arguments. The other methods are only for features.
  for (class in c(tensor_class, "tfdistribute_features")) {
    register("Math", tensor_math, class = class)
    register("Summary", tensor_summary, class = class)
    register("mean", tensor_summary, class = class)
    register("t", tensor_transpose, class = class)
    register("xtfrm", tensor_order, class = class)
    register("head", tensor_part, "utils", class)
    register("tail", tensor_part, "utils", class)
  }
  register("cbind", tensor_cbind)
  register("rbind", tensor_rbind)
  register("[", tensor_subset)
  register("dim", tensor_dim)
  register("length", tensor_length)
}

# R's tensorflow has operators for its class, and reticulate 1.32 and newer for all Python objects. R uses neither of
# two different methods, so other packages' methods are also the methods of features, and of tensors without their
# class.
register_operators_of_others <- function() {
  # Older versions of reticulate compare Python objects as R values, which tensors do not have.
  has_arithmetic <- !is.null(utils::getS3method("+", "python.builtin.object", optional = TRUE))
  for (operator in c(operators, if (getRversion() >= "4.3.0") "%*%")) {
    for (class in c(if (has_arithmetic) "python.builtin.object", tensorflow_class)) {
      method <- utils::getS3method(operator, class, optional = TRUE)
      if (!is.null(method)) {
        registerS3method(operator, tensor_class, method, envir = baseenv())
      }
    }
  }
}

# A number gets the type of the tensor.
tensor_operation <- function(e1, e2) {
  operands <- if (missing(e2)) list(e1) else list(e1, e2)
  call_backend(
    "tensor_operation",
    operator = environment()$.Generic,
    operands = lapply(operands, tensor_operand)
  )
}

tensor_operand <- function(x) {
  if (is_python_object(x) || is.list(x) || length(x) == 1) x else as_numpy(x)
}

# Positions count from 1. A single position drops its dimension, unless `drop` is FALSE. Dimensions after the last index
# are kept whole.
tensor_subset <- function(x, ..., drop = TRUE) {
  positions <- lapply(rlang::enquos(..., .ignore_empty = "none"), function(index) {
    if (!rlang::quo_is_missing(index)) check_positions(rlang::eval_tidy(index))
  })
  call_backend("tensor_subset", tensor = x, positions = unname(positions), drop = check_flag(drop))
}

check_positions <- function(positions) {
  if (is_python_object(positions)) {
    abort_tfdistribute(
      "argument",
      problem = "A tensor cannot be a position in `[`.",
      remedy = "Use tf$gather(x, i), whose positions count from 0, or tf$boolean_mask(x, mask).",
      argument = "["
    )
  }
  if (length(positions) == 0 || !is_whole(positions) || any(positions < 1)) {
    abort_argument(positions, "positions, which count from 1", "[")
  }
  as.list(as.integer(positions))
}

# NA for an unknown dimension, such as the batch. NULL for a single number.
tensor_dim <- function(x) {
  sizes <- unlist(call_backend("tensor_dim", tensor = x))
  if (length(sizes) > 0) ifelse(sizes < 0, NA_integer_, sizes)
}

tensor_length <- function(x) {
  as.integer(prod(tensor_dim(x)))
}

# R's functions for tensors: the groups Math and Summary, mean(), t(), cbind(), rbind(), head() and tail(). The
# functions of R's package tensorflow have the same arguments.

tensor_math <- function(x, ...) {
  tensor_function(environment()$.Generic, list(x, ...))
}

# Several tensors are reduced to one number.
tensor_summary <- function(x, ..., axis = NULL, keepdims = FALSE, na.rm = FALSE) {
  if (!isFALSE(na.rm)) {
    abort_argument(na.rm, "FALSE for a tensor")
  }
  tensor_function(
    environment()$.Generic,
    list(x, ...),
    axis = check_axis(axis),
    keepdims = check_flag(keepdims)
  )
}

# Dimensions count from 1, as everywhere in R, but TensorFlow counts from 0. -1 is the last dimension in both.
check_axis <- function(axis) {
  if (is.null(axis)) {
    return(NULL)
  }
  if (length(axis) == 0 || !is_whole(axis) || any(axis == 0)) {
    abort_argument(axis, "dimensions, which count from 1 or, from the last one, from -1")
  }
  as.list(as.integer(axis) - (axis > 0L))
}

tensor_transpose <- function(x) {
  tensor_function("t", list(x))
}

tensor_part <- function(x, n = 6L, ...) {
  if (length(n) != 1 || !is_whole(n)) {
    abort_argument(n, "a whole number of rows")
  }
  tensor_function(environment()$.Generic, list(x), n = as.integer(n))
}

# R does not dispatch these by UseMethod(), so there is no .Generic. Tensors have no names that `deparse.level` could
# change.
tensor_cbind <- function(...) {
  tensor_function("cbind", without_level(...))
}

tensor_rbind <- function(...) {
  tensor_function("rbind", without_level(...))
}

without_level <- function(...) {
  values <- list(...)
  values[rlang::names2(values) != "deparse.level"]
}

# R's sort(), order() and rank() call this function. Without it, they compare element by element, forever.
tensor_order <- function(x) {
  abort_tfdistribute(
    "unsupported",
    problem = "R cannot sort a tensor, which has no values while a model is built.",
    remedy = "Use tf$sort(x) in place of sort(), and tf$argsort(x) in place of order().",
    argument = "x"
  )
}

tensor_function <- function(.name, .values, ...) {
  call_backend(
    "tensor_function",
    name = .name,
    values = lapply(unname(.values), tensor_operand),
    options = list(...)
  )
}

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
