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
  expect_identical(sort(unique(plot$data$metric)), c("accuracy", "loss"))
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
