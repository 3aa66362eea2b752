test_that("many steps per run give the same model and call R functions at their steps", {
  skip_if_no_tensorflow()
  called <- NULL
  counting <- session_run_hook(
    before_run = function(context) session_run_args(step = "global_step"),
    after_run = function(context, values) called <<- c(called, values$results$step),
    every_n_steps = 10
  )
  trained <- function(steps_per_run, hooks = NULL) {
    config <- run_config(steps_per_run = steps_per_run, save_checkpoints_steps = 25)
    model <- linear_regressor(feature_columns(column_numeric("wt", "hp")), config = config)
    input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 8, num_epochs = 15)
    history <- train(model, input, hooks = hooks)
    list(values = variable_value(model), losses = history$losses$loss, notes = history$notes)
  }
  alone <- trained(1)
  many <- trained(1000, counting)
  expect_identical(many, alone)
  expect_identical(many$notes, character())
  # The first of 60 steps, and every tenth.
  expect_length(called, 7)
  every <- trained(1000, session_run_hook(after_run = function(context, values) NULL))
  expect_identical(every$values, alone$values)
  expect_identical(
    every$notes,
    "This training takes one step per run: session_run_hook() looks at every step."
  )
})
