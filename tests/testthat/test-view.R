# The page of losses and metrics. A page that a test opens is the last of `shown`.
local_viewer <- function(frame = parent.frame()) {
  shown <- new.env()
  withr::local_options(
    viewer = function(url, ...) shown$urls <- c(shown$urls, url),
    .local_envir = frame
  )
  shown
}

metrics_of_page <- function(url) {
  text <- readLines(file.path(dirname(url), "metrics.js"), warn = FALSE)
  jsonlite::fromJSON(sub("^showMetrics\\((.*)\\)$", "\\1", text))
}

cars_history <- function() {
  new_history(list(
    training = list(
      step = c(1, 10, 20),
      loss = c(2, 0.5, 1e-5),
      seconds = c(0, 1, 2),
      examples_per_second = c(NaN, 5, 5)
    ),
    evaluation = list(list(global_step = 20, loss = 0.4, "a <b>" = NaN)),
    examples_per_second = 5,
    global_step = 20,
    model_dir = "/runs/cars"
  ))
}

test_that("the page of a history has its losses and evaluations", {
  skip_if_no_tensorflow()
  skip_if_not_installed("jsonlite")
  shown <- local_viewer()
  path <- view_training(cars_history())
  expect_identical(shown$urls, path)
  # RStudio shows files below the session's temporary directory only.
  expect_true(startsWith(path, tempdir()))
  metrics <- metrics_of_page(path)
  expect_identical(metrics$title, "Training in cars")
  expect_identical(metrics$losses, cbind(c(1, 10, 20), c(2, 0.5, 1e-5)))
  expect_identical(metrics$evaluations$global_step, 20)
  expect_true(metrics$is_over)
  one <- cars_history()
  one$losses <- one$losses[1, ]
  expect_identical(metrics_of_page(view_training(one))$losses, cbind(1, 2))
})

test_that("other values than a job, a history or an estimator are refused", {
  expect_error(
    view_training(3),
    "a job, a history or an estimator",
    class = "tfdistribute_argument_error"
  )
  expect_error(view_training(), class = "tfdistribute_argument_error")
})

test_that("`view` is TRUE, FALSE or automatic, and the hook asks too", {
  withr::local_options(viewer = function(url, ...) NULL)
  expect_true(shows_page(TRUE, NULL))
  expect_false(shows_page(FALSE, list(hook_progress_bar())))
  expect_true(shows_page(FALSE, list(hook_view_metrics())))
  expect_false(rlang::with_interactive(shows_page("auto", NULL), FALSE))
  expect_true(rlang::with_interactive(shows_page("auto", NULL)))
  withr::local_options(viewer = NULL)
  expect_false(rlang::with_interactive(shows_page("auto", NULL)))
  expect_error(shows_page("yes", NULL), "`view` must be TRUE, FALSE or \"auto\"")
})

test_that("a model has one page, which its next training replaces", {
  expect_identical(new_page("model")$directory, new_page("model")$directory)
  expect_identical(new_page("model")$directory, new_page(file.path(getwd(), "model"))$directory)
  expect_false(identical(new_page("model")$directory, new_page("other")$directory))
})

test_that("a page opens at the first event of its training, once", {
  shown <- local_viewer()
  page <- new_page("model")
  progress <- new_progress(show = FALSE, page = page)
  expect_null(shown$urls)
  progress$listener(list(event = "step", step = 1L))
  progress$listener(list(event = "step", step = 2L))
  expect_identical(shown$urls, page$open())
})

test_that("while a verb waits for a Slurm job, the page is written anew every few seconds", {
  asked <- 0
  local_answers(view_job = function(arguments) asked <<- asked + 1)
  local_viewer()
  job <- structure(list(id = "x", scheduler = "slurm", key = "7"), class = "tfdistribute_job")
  seen <- new.env()
  page <- new_page("model")
  for (turn in 1:3) {
    refresh_page(job, page, seen)
  }
  expect_identical(asked, 1)
  seen$refreshed_at <- Sys.time() - 6
  refresh_page(job, page, seen)
  seen$state <- list(ended = 5)
  refresh_page(job, page, seen)
  expect_identical(asked, 3)
  refresh_page(job, NULL, seen)
  job$scheduler <- NULL
  refresh_page(job, page, seen)
  expect_identical(asked, 3)
})

test_that("a browser shows small numbers with their digits, and a name is no markup", {
  skip_if_no_tensorflow()
  skip_if_no_browser()
  local_viewer()
  browser <- local_browser()
  open_in_browser(browser, view_training(cars_history()))
  wait_for_page(browser, "document.querySelectorAll('circle').length === 1")
  expect_identical(text_of_page(browser, "#title"), "Training in cars")
  expect_identical(text_of_page(browser, "#state"), "done \u00b7 step 20 \u00b7 5 examples/s")
  expect_identical(
    text_of_page(browser, "figcaption span"),
    "1e-5 \u00b7 evaluation 0.4 \u00b7 log scale"
  )
  expect_match(text_of_page(browser, "table"), "a <b>\\s*NaN")
  colours <- vapply(c("light", "dark"), FUN.VALUE = "", function(scheme) {
    colour_browser(browser, scheme)
    value_in_page(browser, "getComputedStyle(document.body).backgroundColor")
  })
  expect_identical(unname(colours), c("rgb(255, 255, 255)", "rgb(28, 28, 31)"))
})

test_that("one outlier does not flatten a curve", {
  skip_if_no_tensorflow()
  skip_if_no_browser()
  local_viewer()
  history <- cars_history()
  steps <- seq_len(100)
  values <- sin(steps / 10)
  values[[50]] <- 1000
  history$losses <- tibble::tibble(step = steps, loss = values)
  history$evaluations <- history$evaluations[0, ]
  browser <- local_browser()
  open_in_browser(browser, view_training(history))
  wait_for_page(browser, "document.querySelectorAll('polyline').length > 0")
  expect_match(text_of_page(browser, "figcaption span"), "1 beyond the scale")
  # The curve of the other values takes most of the height.
  heights <- value_in_page(
    browser,
    "[...document.querySelector('.training').points].map(point => point.y)"
  )
  heights <- unlist(heights)[-50]
  expect_gt(diff(range(heights)), 60)
})

test_that("a browser follows a training while it runs", {
  skip_if_no_tensorflow()
  skip_if_no_browser()
  browser <- local_browser()
  withr::local_options(viewer = function(url, ...) open_in_browser(browser, url))
  states <- character()
  # The training lasts until the page has shown four steps, however slow the browser is.
  look <- hook_session_run(every_n_steps = 1, after_run = function(context, values) {
    Sys.sleep(0.15)
    states <<- c(states, text_of_page(browser, "#state"))
    if (length(unique(grep("step", states, value = TRUE))) >= 4) context$request_stop()
  })
  model <- linear_regressor(
    feature_columns(column_numeric("wt")),
    model_dir = withr::local_tempdir()
  )
  input <- input_fn(mpg ~ wt, mtcars, batch_size = 16, epochs = NULL)
  history <- train(model, input, steps = 200, hooks = look, view = TRUE)
  steps <- as.integer(sub(".*step ([0-9]+) of 200.*", "\\1", grep("step", states, value = TRUE)))
  # The page changed by itself, and more than once, before the training ended.
  expect_gte(length(unique(steps)), 3)
  expect_false(is.unsorted(steps))
  expect_true(all(grepl("^(starting|training|Waiting)", states)))
  wait_for_page(browser, "current.is_over")
  expect_match(text_of_page(browser, "#state"), "^done . step [0-9]+")
  expect_gte(value_in_page(browser, "current.losses.length"), nrow(history$losses))
})
