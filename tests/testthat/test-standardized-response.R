far_cars <- function() {
  cars <- mtcars
  cars$price <- cars$mpg * 1000
  cars
}

price_model <- function(..., frame = parent.frame()) {
  linear_regressor(
    feature_columns(price ~ wt + hp, far_cars(), standardize = TRUE),
    model_dir = withr::local_tempdir(.local_envir = frame),
    optimizer = list("adam", learning_rate = 0.05),
    config = run_config(seed = 1),
    ...
  )
}

test_that("a formula standardizes the response, and coef() has the unit of the response", {
  skip_if_no_tensorflow()
  cars <- far_cars()
  model <- price_model()
  train(model, price ~ wt + hp, data = cars, epochs = 300, batch_size = 32)
  expected <- lm(price ~ scale(wt) + scale(hp), cars)
  expect_equal(unname(coef(model)), unname(coef(expected)), tolerance = 1e-4)
  expect_equal(predict(model, cars)$predictions, unname(fitted(expected)), tolerance = 1e-4)
  expect_equal(evaluate(model, cars)$average_loss, mean(residuals(expected)^2), tolerance = 1e-3)
})

test_that("columns without a formula leave the response as it is, with a note", {
  skip_if_no_tensorflow()
  cars <- far_cars()
  input <- input_fn(cars, features = c(wt, hp), response = price)
  model <- price_model()
  expect_message(
    note_far_response(model, input, TRUE),
    "`price` has the mean 20090, and predictions"
  )
  train(model, input)
  # A later formula does not change a model, and the note is for new models.
  train(model, price ~ wt + hp, data = cars)
  expect_silent(note_far_response(model, input, FALSE))
  expect_lt(abs(coef(model)[["(Intercept)"]]), 10)
})

test_that("the argument decides, whatever form the data has", {
  cars <- far_cars()
  by_formula <- input_fn(price ~ wt + hp, cars)
  by_columns <- input_fn(cars, features = c(wt, hp), response = price)
  decided <- function(input, ...) {
    with_standardized_response(price_model(...), input, TRUE)$standardize_response
  }
  expect_true(decided(by_formula))
  expect_true(decided(train_spec(by_formula)))
  expect_null(decided(by_columns))
  expect_false(decided(by_formula, standardize_response = FALSE))
  expect_true(decided(by_columns, standardize_response = TRUE))
  expect_silent(note_far_response(price_model(standardize_response = TRUE), by_columns, TRUE))
  expect_error(
    price_model(standardize_response = "yes"),
    "`standardize_response` must be TRUE, FALSE or NULL",
    class = "tfdistribute_argument_error"
  )
})
