numbers_in <- function(tensor) {
  as.vector(tensor$numpy())
}

test_that("R's functions of numbers give TensorFlow's tensors with R's values", {
  skip_if_no_tensorflow()
  skip_beside("tensorflow")
  absent <- c("cummax", "cummin", "gamma", "signif")
  functions <- setdiff(c(methods::getGroupMembers("Math"), "round"), absent)
  tensors <- list(
    tf$constant(c(0.3, 0.75, 0.5), tf$float32),
    tf$Variable(c(1.25, 2.5), dtype = tf$float32),
    tf$constant(c(3L, 1L)),
    tf$constant(c(TRUE, TRUE))
  )
  for (name in functions) {
    for (tensor in tensors) {
      expected <- suppressWarnings(do.call(name, list(numbers_in(tensor))))
      found <- numbers_in(do.call(name, list(tensor)))
      # The tangent has poles, which fractions of 32 bits miss.
      at <- !is.nan(expected) | name != "tanpi"
      expect_equal(found[at], expected[at], tolerance = 1e-5, label = name)
    }
  }
  x <- tf$constant(c(2.345, 10), tf$float32)
  expect_equal(numbers_in(log(x, base = 2)), log2(c(2.345, 10)), tolerance = 1e-6)
  expect_equal(numbers_in(round(x, 1)), c(2.3, 10), tolerance = 1e-6)
  for (name in absent) {
    expect_error(do.call(name, list(x)), name, class = "tfdistribute_unsupported_error")
  }
})

test_that("sums, means and their like are of all values, or along dimensions that count from 1", {
  skip_if_no_tensorflow()
  skip_beside("tensorflow")
  values <- matrix(c(0.5, -1, 2, 4, 8, 0.25), 2)
  x <- tf$constant(values, tf$float32)
  for (name in c("sum", "prod", "max", "min", "range", "mean")) {
    expect_equal(numbers_in(do.call(name, list(x))), do.call(name, list(values)), tolerance = 1e-6)
  }
  expect_identical(numbers_in(all(x > -2)), TRUE)
  expect_identical(numbers_in(any(x > 8)), FALSE)
  expect_identical(numbers_in(sum(x, axis = 1)), colSums(values))
  expect_identical(numbers_in(max(x, axis = -1)), c(8, 4))
  expect_identical(dim(mean(x, axis = 2, keepdims = TRUE)), c(2L, 1L))
  # TensorFlow's mean of whole numbers is a whole number, and it does not take those of TRUE and FALSE.
  expect_identical(numbers_in(mean(tf$constant(c(1L, 2L)))), 1.5)
  expect_identical(numbers_in(mean(x > 1)), 0.5)
  expect_identical(numbers_in(sum(x > 1)), 3L)
  expect_identical(numbers_in(sum(x, 1, tf$constant(c(1L, 2L)))), sum(values, 1, 1:2))
})

test_that("tensors and numbers are joined as columns and rows, and transposed", {
  skip_if_no_tensorflow()
  skip_beside("tensorflow")
  x <- tf$constant(c(1, 2), tf$float32)
  y <- tf$Variable(c(3, 4), dtype = tf$float32)
  m <- tf$constant(matrix(1:4, 2))
  expect_identical(cbind(x, y, 1)$numpy(), unname(cbind(1:2, 3:4, 1)))
  expect_identical(rbind(2, x, y, deparse.level = 0)$numpy(), unname(rbind(2, 1:2, 3:4)))
  expect_identical(cbind(m, x, c(8, 9), x > 1)$numpy(), cbind(matrix(1:4, 2), 1:2, 8:9, 0:1) + 0)
  expect_identical(t(m)$numpy(), t(matrix(1:4, 2)))
  expect_identical(t(x)$numpy(), t(c(1, 2)))
  expect_identical(numbers_in(head(tf$range(9L))), 0:5)
  expect_identical(numbers_in(tail(tf$range(9L), 2)), 7:8)
  expect_identical(head(m, -1)$numpy(), head(matrix(1:4, 2), -1))
  expect_identical(dim(tail(m, 0)), c(0L, 2L))
})

test_that("a function that does not suit a tensor names the one that does", {
  skip_if_no_tensorflow()
  skip_beside("tensorflow")
  x <- tf$constant(matrix(0, 2, 2))
  expect_snapshot(error = TRUE, {
    sum(x, axis = 0)
    sum(x, na.rm = TRUE)
    max(x, x, axis = 1)
    cumsum(x)
    t(tf$zeros(shape(1, 1, 1)))
    head(x, 1.5)
    order(x)
    signif(x, 2)
  })
})
