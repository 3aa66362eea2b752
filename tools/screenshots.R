# Make the screenshots of the vignettes and of the site again, with a headless Chromium:
#   tools/env Rscript tools/screenshots.R [live | tensorboard | shiny | site]
# The last one needs the site of `make site`.
library(tfdistribute)
for (file in c("environment", "processes", "browser")) {
  source(file.path("tests/testthat", paste0("helper-", file, ".R")))
}
options(tfdistribute.progress = FALSE)
figures <- "vignettes/figures"

diamonds <- transform(as.data.frame(ggplot2::diamonds), price = price / 1000)
set.seed(1)
in_training <- sample(c(TRUE, FALSE), nrow(diamonds), replace = TRUE, prob = c(0.9, 0.1))

diamonds_model <- function(config, model_dir) {
  dnn_regressor(
    hidden_units = c(64, 32),
    feature_columns = feature_columns(price ~ ., diamonds, standardize = TRUE),
    optimizer = list("adam", learning_rate = 0.003),
    config = config,
    model_dir = model_dir
  )
}

data_of <- function(rows, ...) input_fn(price ~ ., diamonds[rows, ], ...)

# The page of a training with two processes and an evaluator, at three moments.
shoot_live <- function() {
  # The page shows the directory as its user knows it.
  models <- path.expand("~/models-of-screenshots")
  model_dir <- file.path("~", basename(models), "diamonds")
  stopifnot(!file.exists(models))
  withr::defer(unlink(models, recursive = TRUE))
  browser <- local_browser(760, 470)
  withr::local_options(viewer = function(url, ...) open_in_browser(browser, url))
  config <- run_config(
    cluster = local_cluster(workers = 2),
    save_checkpoints_secs = 4
  )
  pause <- hook_session_run(
    after_run = function(context, values) Sys.sleep(0.015),
    every_n_steps = 5
  )
  training <- data_of(in_training, batch_size = 512, epochs = NULL)
  job <- train_and_evaluate(
    diamonds_model(config, model_dir),
    train_spec(training, max_steps = 6000, hooks = pause),
    eval_spec(data_of(!in_training), start_delay_secs = 0, throttle_secs = 1),
    view = TRUE,
    wait = FALSE
  )
  withr::defer(job_stop(job))
  moments <- c(
    begin = "current && current.step > 50",
    middle = "current.step > 3000 && current.evaluations.length > 2",
    end = "current.is_over"
  )
  for (moment in names(moments)) {
    wait_for_page(browser, moments[[moment]], 240)
    if (moment == "end") {
      colour_browser(browser, "dark")
    }
    take_screenshot(browser, file.path(figures, paste0("view-", moment, ".png")))
  }
  shrink(file.path(figures, paste0("view-", names(moments), ".png")))
}

shoot_tensorboard <- function() {
  model_dir <- file.path(withr::local_tempdir(), "diamonds")
  config <- run_config(save_checkpoints_steps = 500, save_summary_steps = 50)
  train_and_evaluate(
    diamonds_model(config, model_dir),
    train_spec(data_of(in_training, batch_size = 512, epochs = NULL), max_steps = 3000),
    eval_spec(data_of(!in_training), throttle_secs = 0)
  )
  browser <- local_browser(1100, 640)
  withr::defer(tensorboard(action = "stop"))
  tensorboard(model_dir, launch_browser = function(url) open_in_browser(browser, url))
  wait_for_page(browser, "document.querySelectorAll('card-view svg path').length > 3", 60)
  Sys.sleep(3)
  take_screenshot(browser, file.path(figures, "tensorboard.png"))
  shrink(file.path(figures, "tensorboard.png"))
}

shoot_shiny <- function() {
  port <- call_free_port()
  local_child_r(
    function(port) {
      app <- system.file("examples", "shiny-training.R", package = "tfdistribute")
      shiny::runApp(app, port = port, launch.browser = FALSE)
    },
    list(port = port)
  )
  browser <- local_browser(900, 560)
  url <- paste0("http://127.0.0.1:", port)
  answers <- function() !inherits(try(suppressWarnings(readLines(url)), silent = TRUE), "try-error")
  wait_until(answers, 60)
  open_in_browser(browser, url)
  state <- "document.getElementById('state').innerText"
  wait_for_page(browser, paste0(state, " === 'Not trained yet'"))
  value_in_page(browser, "$('#steps').val(200000).trigger('change')")
  value_in_page(browser, "document.getElementById('start').click()")
  wait_for_page(browser, paste0("/^training, step [1-9]/.test(", state, ")"), 120)
  Sys.sleep(6)
  take_screenshot(browser, file.path(figures, "shiny.png"))
  shrink(file.path(figures, "shiny.png"))
  value_in_page(browser, "document.getElementById('stop').click()")
  wait_for_page(browser, paste0("/^(stopped|done)/.test(", state, ")"), 60)
}

# Write pictures with 256 colors, less than half of the bytes: the installed package has to stay below 5 MB.
shrink <- function(files) {
  code <- paste(
    "import sys; from PIL import Image; plain = Image.Dither.NONE",
    "[Image.open(each).convert('RGB').quantize(256, dither=plain).save(each, optimize=True) for each in sys.argv[1:]]",
    sep = "\n"
  )
  status <- system2("python", c("-c", shQuote(code), files))
  stopifnot(status == 0)
}

call_free_port <- function() {
  getFromNamespace("call_backend", "tfdistribute")("free_ports", count = 1L)[[1]]
}

shoot_site <- function() {
  browser <- local_browser(1100, 760)
  open_in_browser(browser, ".environment/site/index.html")
  Sys.sleep(1)
  take_screenshot(browser, ".environment/site.png")
}

wanted <- commandArgs(trailingOnly = TRUE)
shoot <- list(
  live = shoot_live,
  tensorboard = shoot_tensorboard,
  shiny = shoot_shiny,
  site = shoot_site
)
for (name in if (length(wanted) > 0) wanted else names(shoot)) {
  shoot[[name]]()
  cat("made", name, "\n")
}
