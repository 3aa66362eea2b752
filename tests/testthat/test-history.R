example_history <- function() {
  new_history(list(
    training = list(
      step = array(c(1, 10, 20)),
      loss = array(c(3, 2, 1)),
      seconds = array(c(0, 0.5, 1)),
      examples_per_second = array(c(NaN, 900, 1100))
    ),
    evaluation = list(
      list(loss = 2.5, accuracy = 0.5, global_step = 10),
      list(loss = 1.5, accuracy = 0.75, global_step = 20)
    ),
    examples_per_second = 1000,
    global_step = 20,
    model_dir = "runs/example"
  ))
}

test_that("a history prints steps, losses, speed and the last evaluation", {
  expect_snapshot({
    example_history()
    summary(example_history())
  })
})

test_that("a history shows which hosts trained which steps", {
  history <- example_history()
  history["workers"] <- list(table_of(
    list(
      list(first_step = 0, last_step = 10, workers = 3, hosts = "a, b, c"),
      list(first_step = 10, last_step = 20, workers = 2, hosts = "a, c")
    ),
    first_step = NA_integer_,
    last_step = NA_integer_,
    workers = NA_integer_,
    hosts = NA_character_
  ))
  shown <- utils::capture.output(print(history))
  expect_match(shown, "steps 10 to 20: 2 workers (a, c)", fixed = TRUE, all = FALSE)
})

test_that("a history without a step says so", {
  empty <- new_history(list(
    training = list(
      step = array(double()),
      loss = array(double()),
      seconds = array(double()),
      examples_per_second = array(double())
    ),
    evaluation = list(),
    examples_per_second = NaN,
    global_step = 20,
    model_dir = "runs/example"
  ))
  expect_snapshot(empty)
  expect_identical(summary(empty)$steps, 0L)
  expect_s3_class(plot(empty, method = "ggplot2"), "ggplot")
})

test_that("a history of one entry keeps columns of length one", {
  expect_identical(
    nrow(
      new_history(list(
        training = list(
          step = array(1),
          loss = array(3),
          seconds = array(0),
          examples_per_second = array(NaN)
        ),
        evaluation = list(),
        examples_per_second = NaN,
        global_step = 1,
        model_dir = "x"
      ))$losses
    ),
    1L
  )
})

test_that("as.data.frame() gives a row for each value", {
  data <- as.data.frame(example_history())
  expect_named(data, c("step", "metric", "value", "data"))
  expect_identical(nrow(data), 7L)
  expect_identical(data$value[data$metric == "accuracy"], c(0.5, 0.75))
})

test_that("summary() counts steps and gives the last evaluation", {
  facts <- summary(example_history())
  expect_identical(facts$steps, 20L)
  expect_identical(facts$last_loss, 1)
  expect_identical(facts$evaluation$accuracy, 0.75)
})

test_that("plot() draws losses and evaluations with ggplot2 and without", {
  plot <- plot(example_history(), method = "ggplot2")
  expect_s3_class(plot, "ggplot")
  expect_identical(levels(plot$data$metric), c("loss", "accuracy"))
  file <- withr::local_tempfile(fileext = ".png")
  grDevices::png(file)
  drawn <- plot(example_history(), method = "base", metrics = "loss")
  grDevices::dev.off()
  expect_identical(drawn$value, c(3, 2, 1, 2.5, 1.5))
  expect_gt(file.size(file), 1000)
  expect_error(
    plot(example_history(), metrics = "auc"),
    class = "tfdistribute_argument_error"
  )
})

a_history <- function(losses, evaluation = list()) {
  steps <- seq_along(losses)
  new_history(list(
    training = list(
      step = array(steps),
      loss = array(losses),
      seconds = array(steps / 10),
      examples_per_second = array(rep(100, length(steps)))
    ),
    evaluation = evaluation,
    examples_per_second = 100,
    global_step = max(steps),
    model_dir = "runs/example"
  ))
}

test_that("one evaluation is plotted without a message of ggplot2", {
  skip_if_not_installed("ggplot2")
  history <- a_history(c(3, 2, 1), list(list(loss = 2, accuracy = 0.5, global_step = 3)))
  withr::local_pdf(NULL)
  # ggplot2 reports a line of one point, which tests do not see in every version of testthat.
  for (plot in list(plot(history, metrics = c("loss", "accuracy")), plot(a_history(3)))) {
    for (layer in Filter(function(layer) inherits(layer$geom, "GeomLine"), plot$layers)) {
      expect_false(1L %in% table(as.character(layer$data$metric)))
    }
    expect_no_message(print(plot))
  }
})

test_that("a plot leaves out what is constant, drawn already, or only describes the data", {
  evaluation <- lapply(1:3, function(step) {
    list(
      loss = 1 / step,
      average_loss = 1 / step,
      accuracy = step / 4,
      `accuracy/baseline` = 0.5,
      `label/mean` = 3,
      `prediction/mean` = 3 - 1 / step,
      global_step = step
    )
  })
  history <- a_history(c(3, 2, 1), evaluation)
  expect_identical(levels(plot(history)$data$metric), c("loss", "accuracy"))
  expect_identical(levels(plot(history, metrics = "label/mean")$data$metric), "label/mean")
  # A single evaluation is no curve, but a point beside the losses.
  once <- plot(a_history(c(3, 2, 1), evaluation[1]))
  expect_identical(levels(once$data$metric), "loss")
  expect_true("evaluation" %in% once$data$data)
})

test_that("large first losses do not flatten the rest of a plot", {
  is_log <- function(history) !is.null(plot(history)$scales$get_scales("y"))
  expect_true(is_log(a_history(c(4400, 300, 9, 8, 7, 6, 5))))
  expect_false(is_log(a_history(c(7, 6, 5, 5, 4))))
  expect_false(is_log(a_history(c(4400, 300, 0, 0, 0))))
})

test_that("the trend in a plot begins with the data, never leaves it, and does not follow its last value", {
  value <- c(44, 32, 8, 1.5 + sin(1:200) / 5)
  trend <- running_median(value)
  expect_length(trend, length(value))
  expect_identical(trend[[1]], value[[1]])
  expect_gte(min(trend), min(value))
  with_outlier <- running_median(c(value, 3))
  expect_lt(abs(with_outlier[[length(value) + 1]] - 1.5), 0.2)
})

test_that("knitr prints a history and plots it", {
  skip_if_not_installed("knitr")
  file <- withr::local_tempfile(fileext = ".png")
  grDevices::png(file)
  printed <- capture.output(knitr::knit_print(example_history()))
  grDevices::dev.off()
  expect_match(printed[[1]], "<history> steps 1 to 20", fixed = TRUE)
  expect_gt(file.size(file), 1000)
})

test_that("training_history() reads the directory of a model, in any session", {
  answer <- local_answers(training_history = function(arguments) {
    list(
      training = list(step = 1, loss = 3, seconds = 0, examples_per_second = NaN),
      evaluation = list(),
      examples_per_second = NaN,
      global_step = 1,
      model_dir = arguments$model_dir
    )
  })
  model <- linear_regressor(feature_columns(column_numeric("x")), model_dir = "/runs/x")
  expect_identical(training_history(model)$model_dir, "/runs/x")
  expect_identical(training_history("/runs/x")$losses$loss, 3)
  expect_identical(plot(model)$data$value, 3)
  expect_error(training_history(mtcars), class = "tfdistribute_argument_error")
})
