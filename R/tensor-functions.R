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
