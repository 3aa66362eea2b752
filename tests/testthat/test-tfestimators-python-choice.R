test_that("install_tensorflow() installs only what has Estimators", {
  expect_snapshot(error = TRUE, {
    install_tensorflow(method = "conda")
    install_tensorflow(version = "2.22")
    install_tensorflow(extra_packages = "keras")
  })
})

test_that("a choice of Python is reticulate's", {
  for (name in c("use_condaenv", "use_python", "use_virtualenv")) {
    expect_identical(getExportedValue("tfdistribute", name), getExportedValue("reticulate", name))
  }
})
