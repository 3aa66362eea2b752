# Options of the session that the processes of a job get.

test_that("options are sent, but not those that say how this session runs", {
  file <- textConnection("a")
  on.exit(close(file))
  of_rstudio <- new.env()
  attr(of_rstudio, "name") <- "tools:rstudio"
  of_front_end <- function(...) 1
  environment(of_front_end) <- of_rstudio
  withr::local_options(
    my.rate = 0.1,
    my.transform = function(x) x * 2,
    my.list = list(a = 1, b = "c"),
    digits = 4,
    mc.cores = 4,
    error = quote(invisible()),
    device = "pdf",
    rstudio.notebook.executing = TRUE,
    cli.num_colors = 256L,
    repos = c(CRAN = "https://user:secret@example.org"),
    my.api_key = "secret",
    my.state = new.env(),
    my.states = list(list(new.env())),
    my.connection = file,
    my.viewer = of_front_end
  )
  sent <- shared_options()
  expect_identical(sent[c("my.rate", "digits")], list(my.rate = 0.1, digits = 4L))
  expect_identical(sent$my.list, list(a = 1, b = "c"))
  expect_true(is.function(sent$my.transform))
  kept <- c("mc.cores", "error", "device", "rstudio.notebook.executing", "cli.num_colors", "repos")
  kept <- c(kept, "my.api_key", "my.state", "my.states", "my.connection", "my.viewer")
  expect_identical(intersect(names(sent), kept), character())
})

test_that("a function that is the value of an option is sent with its variables", {
  folder <- withr::local_tempdir()
  local_bridge(list(value = NULL))
  withr::local_preserve_seed()
  make <- function(factor, unused = 1) function(x) x * factor
  withr::local_options(my.transform = make(3))
  write_task(folder, "train", list(object = list()))
  withr::local_options(my.transform = NULL)
  read_task(folder, "digest")
  received <- getOption("my.transform")
  expect_identical(received(2), 6)
  expect_identical(ls(environment(received)), "factor")
})

test_that("a note names the options that a sent function uses and the processes do not get", {
  withr::local_options(mc.cores = 4, my.rate = 0.1, my.state = new.env(), Ncpus = NULL)
  folder <- withr::local_tempdir()
  local_bridge(list(value = NULL))
  withr::local_preserve_seed()
  helper <- function(n = getOption("mc.cores", 1)) n
  model_fn <- function(features, labels) {
    list(helper(), getOption("my.rate"), getOption("Ncpus"), base::getOption("my.state"))
  }
  expect_snapshot(invisible(write_task(folder, "train", list(object = list(model_fn = model_fn)))))
  expect_message(
    write_task(folder, "train", list(object = list(model_fn = stats::lm))),
    NA
  )
})

if (checks_all()) {
  test_that("a model function reads the options of the session in one process and in several", {
    skip_if_no_tensorflow()
    found <- in_child_r(timeout_s = 240, function() {
      model_fn <- function(features, labels, mode) {
        predicted <- features$wt *
          tf$compat$v1$get_variable("w", list(), initializer = tf$zeros_initializer())
        list(
          predictions = list(mpg = predicted),
          loss = if (mode != "infer") tf$reduce_mean((labels - predicted)^2),
          optimizer = list("sgd", learning_rate = getOption("my.rate", 0.001))
        )
      }
      weight <- function(rate, workers) {
        options(my.rate = rate)
        config <- if (workers > 1) {
          run_config(
            strategy_multi_worker(),
            cluster = local_cluster(workers, start_timeout_s = 200)
          )
        }
        model <- estimator(model_fn, config = config)
        train(model, input_fn(mpg ~ wt, mtcars, batch_size = 8, epochs = NULL), steps = 5)
        as.numeric(variable_value(model, "w"))
      }
      list(
        alone = c(weight(0.01, 1), weight(0.02, 1)),
        cluster = weight(0.02, 2)
      )
    })
    expect_equal(found$cluster, found$alone[[2]], tolerance = 1e-5)
    expect_gt(abs(diff(found$alone)), 0.1)
  })
}
