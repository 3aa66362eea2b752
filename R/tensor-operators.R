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
