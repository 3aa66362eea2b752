test_that("the versions that Estimators need are installed", {
  expect_true("tensorflow-cpu==2.15.1" %in% python_packages(gpu = FALSE))
  expect_true("tensorflow[and-cuda]==2.15.1" %in% python_packages(gpu = TRUE))
  expect_true("tensorflow-estimator==2.15.0" %in% python_packages())
})

test_that("arguments are checked before anything is installed", {
  expect_error(install_tfdistribute(envname = ""), class = "tfdistribute_argument_error")
  expect_error(install_tfdistribute(gpu = "maybe"), class = "tfdistribute_argument_error")
  expect_error(install_tfdistribute(python = 3), class = "tfdistribute_argument_error")
})

test_that("a Python that TensorFlow 2.15 cannot use is refused with its path", {
  error <- tryCatch(
    install_tfdistribute(envname = "unused", gpu = FALSE, python = "/no/such/python", ask = FALSE),
    error = identity
  )
  expect_s3_class(error, "tfdistribute_backend_error")
  expect_identical(error$argument, "python")
  expect_match(conditionMessage(error), "/no/such/python", fixed = TRUE)
})

test_that("a suitable Python is found where there is one", {
  skip_if_no_tensorflow()
  expect_true(file.exists(find_python()))
})
