test_that("TensorBoard shows a model_dir on this machine only, until it is stopped", {
  skip_if_no_tensorflow()
  folder <- withr::local_tempdir()
  opened <- NULL
  url <- suppressMessages(tensorboard(
    c(run = folder),
    launch_browser = function(url) opened <<- url
  ))
  withr::defer(tensorboard(action = "stop"))
  expect_match(url, "^http://127[.]0[.]0[.]1:[0-9]+/$")
  expect_identical(opened, url)
  expect_match(paste(readLines(url, warn = FALSE), collapse = ""), "<html|tb-relative-root")
  port <- as.integer(gsub("^.*:|/$", "", url))
  # Its own words say why it does not start.
  refused <- expect_error(
    tensorboard(folder, port = port, launch_browser = FALSE),
    class = "tfdistribute_backend_error"
  )
  expect_match(refused$problem, paste("port", port))
  tensorboard(action = "stop")
  expect_error(suppressWarnings(readLines(url)))
})

test_that("TensorBoard ends with the R session that started it", {
  skip_if_no_tensorflow()
  url <- in_child_r(function() {
    suppressMessages(tensorboard(tempdir(), launch_browser = FALSE))
  })
  expect_match(url, "^http://127")
  expect_error(suppressWarnings(readLines(url)))
})

test_that("arguments of tensorboard() are checked", {
  expect_snapshot(error = TRUE, {
    tensorboard(3)
    tensorboard(character())
    tensorboard("x", action = "begin")
    tensorboard("x", port = -1)
  })
})

test_that("TensorBoard is waited for as long as it lives, and its runs are named", {
  python <- withr::local_tempfile(
    lines = c("#!/bin/sh", "sleep 0.5", "echo 'at http://127.0.0.1:1/ now'")
  )
  Sys.chmod(python, "700")
  expect_message(
    url <- start_tensorboard("--port", say_after_s = 0, python = python),
    "Waiting for TensorBoard .process [0-9]+., which loads TensorFlow"
  )
  withr::defer(stop_tensorboards())
  expect_identical(url, "http://127.0.0.1:1/")
  writeLines(c("#!/bin/sh", "exit 3"), python)
  expect_error(
    start_tensorboard("--port", python = python),
    "it ended with status 3 and no message",
    class = "tfdistribute_backend_error"
  )
  expect_identical(log_arguments("/runs/a"), c("--logdir_spec", "train:/runs/a"))
  expect_identical(log_arguments(c(a = "/a", "/b")), c("--logdir_spec", "a:/a,/b"))
  expect_identical(log_arguments("/runs/a:b"), c("--logdir", "/runs/a:b"))
})

test_that("TensorBoard opens in the Viewer where there is one", {
  shown <- NULL
  withr::local_options(viewer = function(url, ...) shown <<- url)
  open_url("http://127.0.0.1:1/")
  expect_identical(shown, "http://127.0.0.1:1/")
})
