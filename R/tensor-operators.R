# R's operators and subsetting for tensors, where neither reticulate nor the R package tensorflow has them.

# Python's class of all tensors and that of variables. R's tensorflow puts its own class before them, so its methods
# come first.
tensor_classes <- c(
  "tensorflow.python.types.core.Tensor",
  "tensorflow.python.ops.variables.Variable"
)

register_tensor_methods <- function() {
  # reticulate 1.32 and newer has arithmetic for all Python objects. Its method must be the same for features, because R
  # takes neither of two different ones.
  theirs <- utils::getS3method("+", "python.builtin.object", optional = TRUE)
  if (is.null(theirs)) {
    for (class in c(tensor_classes, "tfdistribute_features")) {
      registerS3method("Ops", class, tensor_operation)
    }
  } else {
    for (operator in c("+", "-", "*", "/", "^", "%/%", "%%", "<", "<=", ">", ">=", "==", "!=")) {
      method <- utils::getS3method(operator, "python.builtin.object", optional = TRUE)
      registerS3method(operator, "tfdistribute_features", method %||% tensor_operation)
    }
  }
  for (class in tensor_classes) {
    registerS3method("[", class, tensor_subset)
    registerS3method("dim", class, tensor_dim)
    registerS3method("length", class, tensor_length)
  }
}

# A number takes the type of the tensor.
tensor_operation <- function(e1, e2) {
  operands <- if (missing(e2)) list(e1) else list(e1, e2)
  call_backend(
    "tensor_operation",
    operator = environment()$.Generic,
    operands = lapply(operands, tensor_operand)
  )
}

# Features are sent as a dictionary.
tensor_operand <- function(x) {
  if (is_python_object(x) || is.list(x) || length(x) == 1) x else as_numpy(x)
}

# Positions count from 1. A single position drops its dimension, unless `drop` is FALSE; dimensions after the last index
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

# NA for a dimension that is not known, such as that of the batch; NULL for a single number.
tensor_dim <- function(x) {
  sizes <- unlist(call_backend("tensor_dim", tensor = x))
  if (length(sizes) > 0) ifelse(sizes < 0, NA_integer_, sizes)
}

tensor_length <- function(x) {
  as.integer(prod(tensor_dim(x)))
}
