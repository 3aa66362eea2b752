# Trainings in the background: their handle, their page, and a Shiny app that polls them.

test_that("a training in the background has a handle and a page, which follows the job to its end", {
  skip_if_no_tensorflow()
  skip_if_no_browser()
  browser <- local_browser()
  withr::local_options(viewer = function(url, ...) open_in_browser(browser, url))
  model <- linear_regressor(
    feature_columns(column_numeric("wt")),
    model_dir = withr::local_tempdir()
  )
  hook <- hook_session_run(after_run = function(context, values) Sys.sleep(0.02))
  job <- suppressMessages(train(
    model,
    mpg ~ wt,
    data = mtcars,
    batch_size = 16,
    epochs = NULL,
    max_steps = 150,
    hooks = hook,
    view = TRUE,
    wait = FALSE
  ))
  withr::defer(job_stop(job))
  expect_s3_class(job, "tfdistribute_job")
  wait_for_page(browser, "current && current.tasks.length === 1")
  # This session reads nothing while the page changes.
  wait_for_page(browser, "current.state === 'training' && current.losses.length > 1", 60)
  asked <- system.time(state <- job_state(job))[["elapsed"]]
  expect_identical(state$state, "training")
  expect_lt(asked, 2)
  # Losses are saved less often than the page is written.
  expect_true(wait_until(function() nrow(job_history(job)$losses) > 0, 60))
  step <- value_in_page(browser, "current.step")
  wait_for_page(browser, sprintf("current.step > %d", step))
  history <- job_wait(job, timeout_s = 60)
  expect_identical(history$global_step, 150L)
  wait_for_page(browser, "current.is_over")
  expect_match(text_of_page(browser, "#state"), "^done . step 150 of 150")
  expect_match(text_of_page(browser, "#tables"), "chief 0\\s+done\\s+150")
})

test_that("a model with a strategy of one machine does not train in the background", {
  skip_if_no_tensorflow()
  model <- linear_regressor(
    feature_columns(column_numeric("wt")),
    config = run_config(strategy_mirrored(devices = 2))
  )
  error <- expect_error(
    train(model, mpg ~ wt, data = mtcars, wait = FALSE),
    "no processes to start",
    class = "tfdistribute_cluster_error"
  )
  expect_match(conditionMessage(error), "cluster = local_cluster(workers = 2)", fixed = TRUE)
})

test_that("a Shiny app shows a training that runs in the background, and never waits for it", {
  skip_if_no_tensorflow("check-all")
  skip_if_no_browser()
  skip_if_not_installed("shiny")
  skip_if_not_installed("ggplot2")
  port <- call_backend("free_ports", count = 1L)[[1]]
  app <- local_child_r(
    function(port) {
      app <- system.file("examples", "shiny-training.R", package = "tfdistribute")
      shiny::runApp(app, port = port, launch.browser = FALSE)
    },
    list(port = port)
  )
  browser <- local_browser(1000, 640)
  url <- paste0("http://127.0.0.1:", port)
  answers <- function() {
    tryCatch(is.character(suppressWarnings(readLines(url))), error = function(error) FALSE)
  }
  expect_true(wait_until(answers, 60))
  open_in_browser(browser, url)
  wait_for_page(browser, "document.getElementById('state').innerText === 'Not trained yet'")
  click <- function(id) value_in_page(browser, sprintf("document.getElementById('%s').click()", id))
  value_in_page(browser, "Shiny.setInputValue('steps', 1000000)")
  click("start")
  wait_for_page(
    browser,
    "/^training, step [1-9]/.test(document.getElementById('state').innerText)",
    90
  )
  expect_match(text_of_page(browser, "#state"), "of 1,000,000$")
  expect_match(text_of_page(browser, "#tasks"), "examples/s", fixed = TRUE)
  # The app answers while the model trains: the plot is drawn anew.
  wait_for_page(browser, "document.querySelector('#losses img') !== null", 20)
  plotted <- value_in_page(browser, "document.querySelector('#losses img').src.length")
  expect_gt(plotted, 1000)
  click("stop")
  wait_for_page(browser, "/^(stopped|done)/.test(document.getElementById('state').innerText)", 30)
  expect_match(text_of_page(browser, "#tasks"), "chief 0\\s+(stopped|done)")
})
