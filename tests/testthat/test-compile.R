test_that("XLA compiles the steps of a training, which gives the same model up to rounding", {
  skip_if_no_tensorflow("check-all")
  cars <- transform(mtcars, hp = hp / 100, mpg = mpg / 10)
  trained <- function(compile, model_fn = NULL) {
    config <- run_config(compile = compile, save_checkpoints_steps = 100)
    columns <- feature_columns(column_numeric("wt", "hp"))
    model <- if (is.null(model_fn)) {
      linear_regressor(columns, config = config)
    } else {
      estimator(model_fn, config = config)
    }
    input <- input_fn(mpg ~ wt + hp, cars, batch_size = 8, epochs = 15)
    history <- train(model, input)
    list(values = variable_value(model), loss = history$losses$loss, compiled = history$compiled)
  }
  regression <- function(features, labels, mode, params) {
    x <- tf$stack(list(features$wt, features$hp), axis = 1L)
    output <- tf$reduce_sum(tf$multiply(x, tf$compat$v1$get_variable("w", list(2L))), 1L)
    estimator_spec(
      mode,
      loss = tf$compat$v1$losses$mean_squared_error(labels, output),
      optimizer = tf$compat$v1$train$GradientDescentOptimizer(0.01)
    )
  }
  for (model_fn in list(NULL, regression)) {
    plain <- trained(FALSE, model_fn)
    expect_false(plain$compiled)
    compiled <- trained(TRUE, model_fn)
    expect_true(compiled$compiled)
    expect_identical(all.equal(compiled[1:2], plain[1:2], tolerance = 1e-5), TRUE)
    # Less than 20,000 steps.
    expect_identical(trained("auto", model_fn), plain)
  }
})

test_that("a training that cannot be compiled ends with the reason", {
  skip_if_no_tensorflow()
  every_step <- hook_session_run(after_run = function(context, values) NULL)
  model <- linear_regressor(
    feature_columns(column_numeric("wt")),
    config = run_config(compile = TRUE)
  )
  error <- expect_error(
    train(model, mpg ~ wt, data = mtcars, hooks = every_step),
    "hook_session_run() looks at every step",
    fixed = TRUE,
    class = "tfdistribute_unsupported_error"
  )
  expect_identical(error$argument, "compile")
  model$config <- run_config(strategy_mirrored(2), compile = TRUE)
  expect_error(
    train(model, mpg ~ wt, data = mtcars),
    "`compile` is TRUE, and strategy_mirrored() has more than one device.",
    fixed = TRUE,
    class = "tfdistribute_run_config_error"
  )
})

test_that("`compile` is TRUE, FALSE or \"auto\"", {
  expect_identical(run_config()$compile, "auto")
  for (value in list(NULL, NA, "always", 1)) {
    error <- expect_error(run_config(compile = value), class = "tfdistribute_argument_error")
    expect_match(conditionMessage(error), "must be TRUE, FALSE or \"auto\", not", fixed = TRUE)
  }
})
