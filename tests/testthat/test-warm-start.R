columns <- function() feature_columns(column_numeric("wt"))

test_that("a warm start is a path, an estimator or a list", {
  trained <- linear_regressor(columns(), model_dir = "/runs/a")
  start <- function(value) {
    unclass(linear_regressor(columns(), warm_start_from = value)$warm_start_from)
  }
  expect_identical(start("/runs/a"), list(ckpt_to_initialize_from = "/runs/a"))
  expect_identical(start(trained), start("/runs/a"))
  chosen <- list(
    ckpt_to_initialize_from = trained,
    vars_to_warm_start = ".*wt.*",
    var_name_to_prev_var_name = c(a = "b")
  )
  expect_identical(
    start(chosen),
    list(
      ckpt_to_initialize_from = "/runs/a",
      vars_to_warm_start = ".*wt.*",
      var_name_to_prev_var_name = list(a = "b")
    )
  )
  expect_snapshot(dnn_regressor(4, columns(), model_dir = "/runs/b", warm_start_from = chosen))
})

test_that("something that is not a warm start is refused", {
  expect_snapshot(error = TRUE, {
    linear_regressor(columns(), warm_start_from = 3)
    linear_regressor(columns(), warm_start_from = list("/runs/a"))
    linear_regressor(columns(), warm_start_from = list(checkpoint = "/runs/a"))
    linear_regressor(
      columns(),
      warm_start_from = list(ckpt_to_initialize_from = "a", var_name_to_prev_var_name = "b")
    )
  })
})

test_that("training begins with the other model's weights", {
  skip_if_no_tensorflow()
  still <- list("sgd", learning_rate = 0)
  first <- linear_regressor(columns(), model_dir = withr::local_tempdir())
  train(first, input_fn(mpg ~ wt, mtcars, epochs = 3))
  second <- linear_regressor(
    columns(),
    optimizer = still,
    model_dir = withr::local_tempdir(),
    warm_start_from = first
  )
  train(second, input_fn(mpg ~ wt, mtcars))
  name <- "linear/linear_model/wt/weights"
  expect_identical(variable_value(second, name), variable_value(first, name))
})
