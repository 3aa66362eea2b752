test_that("the report names versions, devices and nothing missing on this machine", {
  skip_if_no_tensorflow()
  output <- capture.output(report <- tfdistribute_sitrep())
  expect_identical(nrow(report$problems), 0L)
  expect_null(report$patches)
  expect_match(report$versions[["tensorflow"]], "^2\\.(15|18|21)")
  expect_match(report$versions[["Keras 2"]], "(keras)|(tf_keras)", fixed = FALSE)
  expect_gte(report$devices[["CPU"]], 1)
  expect_match(paste(output, collapse = "\n"), "Nothing is missing", fixed = TRUE)
})

test_that("the report lists the changes to other packages if it is asked to", {
  skip_if_no_tensorflow()
  output <- paste(capture.output(report <- tfdistribute_sitrep(patches = TRUE)), collapse = "\n")
  expect_s3_class(report$patches, "tbl_df")
  expect_true(all(
    c("deprecation_warnings", "r_functions") %in% report$patches$name[report$patches$used]
  ))
  expect_match(
    output,
    "deprecation:_PRINT_DEPRECATION_WARNINGS\n    Each part of an Estimator warns",
    fixed = TRUE
  )
  expect_error(tfdistribute_sitrep(patches = "yes"), class = "tfdistribute_argument_error")
})

test_that("the report does not fail where there is no Python", {
  before <- the$bridge
  withr::defer(the$bridge <- before)
  the$bridge <- list(call = function(...) rlang::abort("no Python here"))
  output <- capture.output(report <- tfdistribute_sitrep())
  expect_match(paste(output, collapse = "\n"), "no Python here", fixed = TRUE)
  expect_match(paste(output, collapse = "\n"), "install_tfdistribute()", fixed = TRUE)
})

test_that("what is missing is told with its fix", {
  before <- the$bridge
  withr::defer(the$bridge <- before)
  the$bridge <- list(call = function(...) {
    list(
      value = list(
        python = "3.11.2",
        executable = "/usr/bin/python3",
        packages = list(tensorflow = NULL, numpy = "1.26.4"),
        problems = list(list(problem = "TensorFlow is missing.", fix = "Run `pip install it`.")),
        cpus = NULL,
        gpus = NULL,
        tensorflow_error = NULL
      )
    )
  })
  output <- capture.output(report <- tfdistribute_sitrep())
  expect_identical(report$problems$problem, "TensorFlow is missing.")
  expect_match(
    paste(output, collapse = "\n"),
    "! TensorFlow is missing.\n  -> Run `pip install it`.",
    fixed = TRUE
  )
})

test_that("GPUs are shown with their memory and driver", {
  gpu <- list(name = "NVIDIA H100", driver = "550.54.15", memory_mb = 81559L)
  unified <- list(name = "NVIDIA GB10", driver = "580.95.05", memory_mb = NULL)
  local_bridge(list(value = list(python = "3.11.2", nvidia_gpus = list(gpu, unified))))
  output <- paste(capture.output(report <- tfdistribute_sitrep()), collapse = "\n")
  expect_identical(report$gpus$memory_mb, c(81559L, NA))
  expect_match(output, "  NVIDIA H100, 81559 MB, driver 550.54.15\n", fixed = TRUE)
})

test_that("a NumPy that reticulate cannot convert is named with its fix", {
  expect_null(numpy_problem("1.26.4"))
  expect_null(numpy_problem(NULL))
  found <- numpy_problem("2.4.6")
  expect_identical(is.null(found), reads_numpy_2())
  expect_true(is.null(found) || grepl("numpy<2", found[[1]]$fix, fixed = TRUE))
  if (!reads_numpy_2()) {
    checked <- the$numpy_fits
    withr::defer(the$numpy_fits <- checked)
    the$numpy_fits <- NULL
    expect_error(check_numpy("2.4.6"), "install_tfdistribute", class = "tfdistribute_backend_error")
  }
})
