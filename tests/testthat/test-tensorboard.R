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

test_that("several directories have names", {
  expect_identical(log_arguments("/runs/a:b"), c("--logdir", "/runs/a:b"))
  expect_identical(
    log_arguments(c(one = "/a", "/b", "gs://c/b")),
    c("--logdir_spec", "one:/a,b:/b,b-1:gs://c/b")
  )
})

test_that("TensorBoard opens in the Viewer where there is one", {
  shown <- NULL
  withr::local_options(viewer = function(url, ...) shown <<- url)
  open_url("http://127.0.0.1:1/")
  expect_identical(shown, "http://127.0.0.1:1/")
})
