test_that("shape() keeps what is not known", {
  expect_identical(shape(NULL, 28, NA), list(NULL, 28L, NULL))
  expect_identical(shape(dims = c(2, 3)), list(2L, 3L))
  expect_error(shape(1.5), class = "tfdistribute_argument_error")
})

test_that("array_reshape() fills as NumPy does", {
  expect_identical(array_reshape(1:6, c(2, 3)), matrix(1:6, 2, byrow = TRUE))
  expect_identical(array_reshape(matrix(1:6, 2), c(3, -1)), matrix(c(1L, 5L, 4L, 3L, 2L, 6L), 3))
  expect_identical(array_reshape(1:6, c(NA, 2), order = "F"), array(1:6, c(3, 2)))
  expect_snapshot(error = TRUE, {
    array_reshape(1:6, c(4, -1))
    array_reshape(1:6, c(-1, -1))
  })
})

test_that("array_reshape() agrees with NumPy", {
  skip_if_no_tensorflow()
  x <- array(as.double(1:24), c(2, 3, 4))
  numpy <- reticulate::import("numpy")
  for (dim in list(c(4L, 6L), c(3L, 2L, 4L), 24L)) {
    expect_equal(array_reshape(x, dim), numpy$reshape(x, as.list(dim)), ignore_attr = TRUE)
  }
})
