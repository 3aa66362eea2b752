test_that("a trained model becomes code of Keras in either language", {
  skip_if_no_tensorflow()
  data <- data.frame(wt = mtcars$wt, am = factor(mtcars$am))
  columns <- feature_columns(column_numeric("wt", center = 3, scale = 2))
  model <- linear_classifier(columns, optimizer = "sgd", model_dir = withr::local_tempdir())
  train(model, input_fn(am ~ wt, data, batch_size = 16, epochs = 2))
  expect_match(keras_code(model), "keras$layers$Dense(", fixed = TRUE)
  expect_match(keras_code(model, "Python"), "model.fit(features", fixed = TRUE)
})

test_that("the program in R trains the same model", {
  skip_if_no_tensorflow()
  model <- linear_regressor(
    feature_columns(column_numeric("wt", "hp", center = 3, scale = 2)),
    optimizer = list("sgd", learning_rate = 0.1),
    standardize_response = TRUE,
    model_dir = withr::local_tempdir()
  )
  train(model, input_fn(mpg ~ wt + hp, mtcars, batch_size = 32, epochs = 1))
  predicted <- in_child_r(
    function(code, cars) {
      session <- new.env()
      session$features <- lapply(cars[c("wt", "hp")], function(x) matrix(as.numeric(x)))
      session$labels <- matrix(cars$mpg)
      eval(parse(text = code), session)
      predicted <- session$model$predict(session$features, verbose = 0L)
      as.vector(predicted$predictions)
    },
    list(code = unclass(keras_code(model)), cars = mtcars)
  )
  # A linear model begins with zeros, and all rows are one batch.
  expected <- predict(model, newdata = mtcars)$predictions
  expect_gt(stats::sd(expected), 0.1)
  expect_equal(predicted, as.vector(expected), tolerance = 1e-5)
})
