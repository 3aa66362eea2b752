# Shapes of tensors and arrays.

#' Shape of a tensor
#'
#' Creates a shape for TensorFlow's functions, without Python.
#'
#' @param ... Sizes of the dimensions, counts. NULL or NA for an unknown size, such as the batch size.
#' @param dims The same sizes as a list or vector.
#' @returns A list of integers and NULLs, which TensorFlow's functions accept as a shape.
#' @section Errors: `tfdistribute_argument_error` if a size is not a count.
#' @references The function with the same name in R's tensorflow package has the same interface.
#' @examples
#' shape(NULL, 28, 28)
#' @export
shape <- function(..., dims = list(...)) {
  lapply(unname(as.list(dims)), function(size) {
    if (is.null(size) || (length(size) == 1 && is.na(size))) {
      return(NULL)
    }
    check_count(size, minimum = 0L, argument = "dims")
  })
}

# Convert a Python TensorShape, which R's tensorflow creates, to a list.
sizes_of <- function(shape) {
  if (is_python_object(shape)) as.list(python_attribute(shape, "as_list")()) else shape
}

#' Reshape an array row by row
#'
#' Fills the new array in the order of Python and TensorFlow, in which the last dimension varies fastest. (In `dim<-`,
#' the first dimension varies fastest.) Python is not needed.
#'
#' @param x A vector, matrix or array.
#' @param dim Sizes of the new dimensions, counts. One of them may be -1 or NA for the remaining size.
#' @param order `"C"` if the last dimension varies fastest, `"F"` if the first dimension varies fastest, in reading and
#'   in filling.
#' @returns An array.
#' @section Errors: `tfdistribute_argument_error` if the sizes do not fit.
#' @references <https://rstudio.github.io/reticulate/reference/array_reshape.html>
#' @examples
#' array_reshape(1:6, c(2, 3))
#' array_reshape(matrix(1:6, 2), c(3, -1))
#' @export
array_reshape <- function(x, dim, order = c("C", "F"), ...) {
  check_call(...)
  order <- check_default_choice(order, c("C", "F"))
  if (!is.atomic(x) || is.null(x)) {
    abort_argument(x, "a vector, a matrix or an array")
  }
  dim <- check_dim(unlist(dim), length(x))
  if (order == "F") {
    return(array(x, dim))
  }
  aperm(array(in_row_major_order(x), rev(dim)))
}

in_row_major_order <- function(x) {
  if (length(dim(x)) > 1) as.vector(aperm(x)) else as.vector(x)
}

check_dim <- function(dim, length) {
  given <- dim
  if (!is.numeric(dim) && !(is.logical(dim) && length(dim) > 0 && all(is.na(dim)))) {
    abort_argument(given, "counts, or -1 for one of them", "dim")
  }
  open <- is.na(dim) | dim == -1
  known <- prod(dim[!open])
  if (sum(open) == 1 && known > 0) {
    dim[open] <- length / known
  }
  if (length(dim) == 0 || !is_whole(dim) || any(dim < 0) || prod(dim) != length) {
    abort_argument(given, "sizes with the product {length}, the length of `x`", "dim")
  }
  as.integer(dim)
}
