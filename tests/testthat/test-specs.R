test_that("specifications are checked when they are made", {
  input <- input_fn(mpg ~ wt, mtcars)
  spec <- train_spec(input, max_steps = 10)
  expect_identical(spec$max_steps, 10L)
  expect_error(train_spec(input, max_steps = 0), class = "tfdistribute_argument_error")
  expect_error(train_spec(3), class = "tfdistribute_input_error")
  expect_error(eval_spec(input, throttle_secs = -1), class = "tfdistribute_argument_error")
  expect_error(eval_spec(input, hooks = "hook"), class = "tfdistribute_argument_error")
  expect_null(eval_spec(input)$steps)
})

test_that("specifications print what they will do", {
  expect_snapshot({
    train_spec(input_fn(mpg ~ wt, mtcars), max_steps = 10)
    eval_spec(input_fn(mpg ~ wt, mtcars), throttle_secs = 5)
  })
})
