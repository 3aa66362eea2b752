test_that("many steps per run give the same model and call R functions at their steps", {
  skip_if_no_tensorflow()
  called <- NULL
  counting <- hook_session_run(
    before_run = function(context) session_run_args(step = "global_step"),
    after_run = function(context, values) called <<- c(called, values$results$step),
    every_n_steps = 10
  )
  trained <- function(steps_per_run, hooks = NULL) {
    config <- run_config(steps_per_run = steps_per_run, save_checkpoints_steps = 25)
    model <- linear_regressor(feature_columns(column_numeric("wt", "hp")), config = config)
    input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 8, epochs = 15)
    history <- train(model, input, hooks = hooks)
    list(values = variable_value(model), losses = history$losses$loss, notes = history$notes)
  }
  alone <- trained(1)
  many <- trained(1000, counting)
  expect_identical(many, alone)
  expect_identical(many$notes, character())
  # The first of 60 steps, and every tenth.
  expect_length(called, 7)
  every <- trained(1000, hook_session_run(after_run = function(context, values) NULL))
  expect_identical(every$values, alone$values)
  expect_identical(
    every$notes,
    "This training takes one step per run: hook_session_run() looks at every step."
  )
})

test_that("a training on a factor prints nothing, and neither does TensorFlow's start", {
  skip_if_no_tensorflow()
  child <- local_child_r(function() {
    data <- data.frame(group = factor(rep(c("a", "b", "c"), 100)), y = rep(c(0, 1, 2), 100))
    config <- run_config(save_checkpoints_steps = 200)
    model <- linear_regressor(feature_columns(y ~ group, data), config = config)
    train(model, y ~ group, data = data, batch_size = 10, epochs = 20)
    evaluate(model, data)
    nrow(predict(model, data))
  })
  expect_identical(result_of(child, 120), 300L)
  expect_identical(readLines(child$get_output_file()), character())
})

test_that("the option for passes reaches Python, and its errors R", {
  skip_if_no_tensorflow()
  withr::local_options(tfdistribute.passes = c("-loop", "-resident_rows"))
  config <- run_config(steps_per_run = 10)
  model <- linear_regressor(feature_columns(column_numeric("wt")), config = config)
  history <- train(model, mpg ~ wt, data = mtcars, batch_size = 8, epochs = 5)
  expect_identical(
    history$notes,
    "This training takes one step per run: the pass `loop` is switched off."
  )
  options(tfdistribute.passes = "-lop")
  error <- expect_error(
    train(model, mpg ~ wt, data = mtcars),
    class = "tfdistribute_argument_error"
  )
  expect_identical(error$value, "-lop")
  expect_match(conditionMessage(error), "-loop", fixed = TRUE)
})
