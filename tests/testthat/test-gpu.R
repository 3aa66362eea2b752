for (device in c("CPU:0", if (checks_gpu()) "GPU:0")) {
  test_that(sprintf("a model trains from R on %s", device), {
    skip_if_no_tensorflow()
    model <- linear_regressor(
      feature_columns(mpg ~ wt, mtcars, standardize = TRUE),
      optimizer = list("sgd", learning_rate = 0.1),
      config = run_config(strategy_one_device(device), seed = 1)
    )
    train(model, mpg ~ wt, data = mtcars, batch_size = 32, epochs = 200, shuffle = FALSE)
    expected <- unname(fitted(lm(mpg ~ wt, mtcars)))
    predicted <- unlist(predict(model, mtcars), use.names = FALSE)
    expect_equal(predicted, expected, tolerance = 1e-3)
  })
}

if (checks_gpu()) {
  test_that("the report shows the GPU, and nothing that TensorFlow lacks to use it", {
    skip_if_no_tensorflow()
    capture.output(report <- tfdistribute_sitrep())
    expect_gte(nrow(report$gpus), 1)
    expect_gte(report$devices[["GPU"]], 1)
    expect_identical(nrow(report$problems), 0L)
  })
}
