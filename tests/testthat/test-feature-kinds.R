# Features of another kind than in training.

kinds <- function() {
  data <- data.frame(
    number = rep(1:3, 4),
    day = as.Date("2023-01-01") + 0:11,
    flag = rep(c(TRUE, FALSE), 6),
    label = factor(rep(c("a", "b", "c"), 4)),
    y = 1:12 / 4
  )
  data$time <- as.POSIXct("2023-01-01", tz = "UTC") + 0:11
  data
}

changed <- function() {
  list(
    number = factor(kinds()$number),
    day = as.POSIXct(kinds()$day),
    flag = as.integer(kinds()$flag),
    label = as.integer(kinds()$label),
    time = as.Date(kinds()$time)
  )
}

test_that("every verb rejects a feature of another kind than in training", {
  skip_if_no_tensorflow()
  model <- linear_regressor(feature_columns(y ~ ., kinds()))
  train(model, y ~ ., data = kinds())
  for (name in names(changed())) {
    data <- kinds()
    data[[name]] <- changed()[[name]]
    start <- paste0("The feature \"", name, "\" holds ")
    expect_error(predict(model, newdata = data), start, class = "tfdistribute_input_error")
    expect_error(evaluate(model, data), start, class = "tfdistribute_input_error")
    expect_error(train(model, y ~ ., data = data), start, class = "tfdistribute_input_error")
  }
  expect_snapshot(error = TRUE, {
    predict(model, newdata = transform(kinds(), number = factor(number)))
    predict(model, newdata = transform(kinds(), day = as.POSIXct(day)))
  })
  # Doubles and whole numbers are one kind, and so are strings and factors.
  alike <- transform(kinds(), number = as.double(number), label = as.character(label))
  expect_equal(predict(model, newdata = alike), predict(model, newdata = kinds()))
})

test_that("the evaluation of a training has its kinds, and unread features may have any", {
  skip_if_no_tensorflow()
  model <- linear_regressor(feature_columns(column_numeric("number")))
  other <- transform(kinds(), day = as.POSIXct(day))
  training <- train_spec(input_fn(y ~ number + day, kinds()), max_steps = 1)
  train_and_evaluate(model, training, eval_spec(input_fn(y ~ number + day, other)))
  other$number <- factor(other$number)
  expect_error(
    train_and_evaluate(model, training, eval_spec(input_fn(y ~ number + day, other))),
    "The feature \"number\" holds a factor",
    class = "tfdistribute_input_error"
  )
})

test_that("model functions do not read the codes of new data", {
  skip_if_no_tensorflow()
  model <- estimator(function(features, labels, mode) {
    weight <- tf$compat$v1$get_variable("w", list())
    output <- tf$cast(features$number, tf$float32) * weight
    if (mode == "infer") {
      return(estimator_spec(mode, predictions = list(output = output)))
    }
    estimator_spec(mode, loss = tf$reduce_mean((labels - output)^2), optimizer = "sgd")
  })
  train(model, y ~ number, data = kinds())
  expect_error(
    predict(model, newdata = data.frame(number = factor(1:3))),
    "but the model was trained with numbers in it",
    class = "tfdistribute_input_error"
  )
})
