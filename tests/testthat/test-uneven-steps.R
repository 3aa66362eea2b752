test_that("every row of a step that does not divide over two devices counts alike", {
  skip_if_no_tensorflow("smoke")
  data <- data.frame(x = c(1:10, 100) / 10, y = c(1:10, -50))
  line <- function(features, labels, mode) {
    zero <- tf$compat$v1$zeros_initializer()
    slope <- tf$compat$v1$get_variable("slope", list(), initializer = zero)
    predicted <- features$x * slope
    if (mode == "infer") {
      return(estimator_spec(mode, predictions = list(y = predicted)))
    }
    loss <- tf$reduce_mean((labels - predicted)^2)
    estimator_spec(mode, loss = loss, optimizer = list("sgd", learning_rate = 0.01))
  }
  # The last step has three rows. Gradient descent in R:
  slope <- 0
  for (rows in list(1:4, 5:8, 9:11)) {
    errors <- data$y[rows] - slope * data$x[rows]
    loss <- mean(errors^2)
    slope <- slope + 0.01 * mean(2 * errors * data$x[rows])
  }
  for (strategy in list(NULL, strategy_mirrored(devices = 2))) {
    model <- estimator(line, config = run_config(strategy))
    history <- train(model, input_fn(y ~ x, data, batch_size = 4, shuffle = FALSE))
    expect_equal(as.vector(variable_value(model, "slope")[[1]]), slope, tolerance = 1e-5)
    expect_equal(tail(as.data.frame(history)$value, 1), loss, tolerance = 1e-5)
  }
})
