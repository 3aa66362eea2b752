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
  # It opens with the loss on top.
  expect_true(startsWith(opened, paste0(url, "?pinnedCards=")))
  expect_match(utils::URLdecode(opened), "\"tag\":\"loss\"", fixed = TRUE)
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
  runs <- function(log_dir) {
    arguments <- log_arguments(log_dir)
    expect_identical(arguments[[1]], "--logdir")
    links <- list.files(arguments[[2]])
    rlang::set_names(Sys.readlink(file.path(arguments[[2]], links)), links)
  }
  expect_identical(runs("/runs/a:b"), c(train = "/runs/a:b"))
  expect_identical(runs("a"), c(train = file.path(getwd(), "a")))
  expect_identical(runs(c(one = "/a", "/b", "/c/b")), c(b = "/b", "b-1" = "/c/b", one = "/a"))
  expect_identical(
    log_arguments(c("gs://runs/a", "gs://runs/b")),
    c("--logdir_spec", "a:gs://runs/a,b:gs://runs/b")
  )
})

test_that("TensorBoard opens in the Viewer where there is one", {
  shown <- NULL
  withr::local_options(viewer = function(url, ...) shown <<- url)
  open_url("http://127.0.0.1:1/")
  expect_identical(shown, "http://127.0.0.1:1/")
})

test_that("TensorBoard says what it lacks to show a profile", {
  skip_if_no_tensorflow()
  folder <- withr::local_tempdir()
  expect_no_message(note_missing_profiler(folder))
  dir.create(file.path(folder, "profile"))
  lacking <- withr::local_tempfile(lines = c("#!/bin/sh", "exit 1"))
  Sys.chmod(lacking, "700")
  expect_message(
    note_missing_profiler(folder, lacking),
    "pip install tensorboard-plugin-profile",
    fixed = TRUE
  )
})
