test_that("input_layer() turns features into one tensor in a model function", {
  skip_if_no_tensorflow()
  data <- data.frame(
    `fuel use` = mtcars$mpg,
    wt = mtcars$wt,
    gear = factor(mtcars$gear),
    check.names = FALSE
  )
  columns <- feature_columns(
    column_numeric("wt"),
    column_indicator(column_categorical_with_vocabulary_list(
      "gear",
      vocabulary_list = levels(data$gear)
    )),
    column_numeric("fuel use")
  )
  sums <- function(features, labels, mode) {
    layer <- input_layer(features, columns)
    list(
      predictions = list(layer = layer),
      loss = if (mode != "infer") tf$reduce_mean(tf$compat$v1$layers$dense(layer, 1L)),
      optimizer = "sgd"
    )
  }
  config <- run_config(strategy_mirrored(devices = 2))
  model <- estimator(sums, model_dir = withr::local_tempdir(), config = config)
  data$label <- 0
  train(model, input_fn(label ~ ., data, batch_size = 16))
  layer <- do.call(rbind, predict(model, input_fn(data, features = -label))$layer)
  # In the order of the columns' names.
  expected <- cbind(mtcars$mpg, outer(mtcars$gear, c(3, 4, 5), `==`), mtcars$wt)
  expect_equal(layer, expected, tolerance = 1e-6)
})

test_that("input_layer() refuses bare categories", {
  skip_if_no_tensorflow()
  columns <- feature_columns(column_categorical_with_identity("gear", num_buckets = 6))
  expect_error(input_layer(list(), columns), class = "tfdistribute_model_error")
})
