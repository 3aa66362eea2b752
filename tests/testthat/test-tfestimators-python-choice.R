test_that("install_tensorflow() installs only what has Estimators", {
  expect_snapshot(error = TRUE, {
    install_tensorflow(method = "conda")
    install_tensorflow(version = "2.22")
    install_tensorflow(extra_packages = "keras")
  })
})

test_that("a choice of Python is reticulate's", {
  chosen <- list()
  withr::local_envvar(RETICULATE_PYTHON = NA)
  expect_error(use_python("/nowhere/python", required = TRUE), "nowhere")
})
