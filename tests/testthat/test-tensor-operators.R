numbers_in <- function(tensor) {
  as.vector(tensor$numpy())
}

test_that("R's operators work on tensors, with numbers on either side", {
  skip_if_no_tensorflow()
  x <- tf$constant(c(7, -2), tf$float32)
  y <- tf$constant(c(2, 4), tf$float32)
  expect_identical(numbers_in(x + y), c(9, 2))
  expect_identical(numbers_in(x - 1), c(6, -3))
  expect_identical(numbers_in(2 * x), c(14, -4))
  expect_identical(numbers_in(x / y), c(3.5, -0.5))
  expect_identical(numbers_in(x^2), c(49, 4))
  expect_identical(numbers_in(-x), c(-7, 2))
  expect_identical(numbers_in(x - c(1, 2)), c(6, -4))
  expect_identical(numbers_in(x > 0), c(TRUE, FALSE))
  expect_identical(numbers_in(!(x <= y)), c(TRUE, FALSE))
  expect_identical(numbers_in(x == 7 | y != 2), c(TRUE, TRUE))
  expect_identical(numbers_in(x > 0 & y >= 2), c(TRUE, FALSE))
  whole <- tf$constant(c(7L, 9L))
  expect_identical(numbers_in(whole %/% 2L), c(3L, 4L))
  expect_identical(numbers_in(whole %% 4L), c(3L, 1L))
  variable <- tf$Variable(3)
  expect_identical(numbers_in(variable * 2), 6)
  # Newer versions of reticulate ask Python, where a tensor has no unary plus, and 2 is no whole number.
  if (is.null(utils::getS3method("+", "python.builtin.object", optional = TRUE))) {
    expect_identical(numbers_in(+x), c(7, -2))
    expect_identical(numbers_in(whole %/% 2), c(3L, 4L))
  }
})

test_that("positions count from 1, and a single one drops its dimension", {
  skip_if_no_tensorflow()
  skip_beside("tensorflow")
  values <- matrix(c(1, 2, 3, 4, 5, 6), 2)
  x <- tf$constant(values)
  expect_identical(numbers_in(x[, 1]), values[, 1])
  expect_identical(numbers_in(x[2, ]), values[2, ])
  expect_identical(numbers_in(x[2, 3]), values[2, 3])
  expect_identical(as.matrix(x[, 2:3]$numpy()), values[, 2:3])
  expect_identical(as.matrix(x[, c(3, 1)]$numpy()), values[, c(3, 1)])
  expect_identical(as.matrix(x[, 2, drop = FALSE]$numpy()), values[, 2, drop = FALSE])
  n <- 1L
  expect_identical(numbers_in(x[1:n]), values[1, ])
  expect_identical(x[]$shape$as_list(), c(2L, 3L))
})

test_that("tensors have dimensions and a length, and print as Python's", {
  skip_if_no_tensorflow()
  skip_beside("tensorflow")
  x <- tf$constant(matrix(0, 2, 3))
  expect_identical(dim(x), c(2L, 3L))
  expect_length(x, 6)
  expect_null(dim(tf$constant(1)))
  expect_output(print(tf$constant(1)), "tf.Tensor: shape=(), dtype=float32", fixed = TRUE)
  batch <- with(tf$Graph()$as_default(), tf$compat$v1$placeholder(tf$float32, shape(NULL, 3)))
  expect_identical(dim(batch), c(NA, 3L))
})

test_that("positions that a tensor does not have are refused", {
  skip_if_no_tensorflow()
  skip_beside("tensorflow")
  x <- tf$constant(c(1, 2))
  expect_snapshot(error = TRUE, {
    x[3]
    x[1, 1]
    x[-1]
    x[0]
    x[x]
  })
})

test_that("methods of R's tensorflow come before those of this package", {
  skip_beside("tensorflow")
  theirs <- structure(
    list(),
    class = c("tensorflow.tensor", tensor_class, "python.builtin.object")
  )
  Ops.tensorflow.tensor <- function(e1, e2) "theirs"
  `[.tensorflow.tensor` <- function(x, ...) "theirs"
  expect_identical(theirs + 1, "theirs")
  expect_identical(theirs[1], "theirs")
})
