test_that("a trained model becomes code of Keras in either language", {
  skip_if_no_tensorflow()
  data <- data.frame(wt = mtcars$wt, am = factor(mtcars$am))
  columns <- feature_columns(column_numeric("wt", center = 3, scale = 2))
  model <- linear_classifier(columns, optimizer = "sgd", model_dir = withr::local_tempdir())
  train(model, input_fn(am ~ wt, data, batch_size = 16, epochs = 2))
  expect_match(keras_code(model), "layer_dense(", fixed = TRUE)
  expect_match(keras_code(model, "Python"), "model.fit(features", fixed = TRUE)
})
