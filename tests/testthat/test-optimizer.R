test_that("an optimizer by name may be written in any case", {
  expect_identical(check_optimizer("Adagrad"), check_optimizer("adagrad"))
  expect_identical(check_optimizer("RMSProp")$name, "rmsprop")
  expect_null(check_optimizer("sgd")$settings)
})

test_that("a list gives a name and settings", {
  optimizer <- check_optimizer(list("adam", learning_rate = 0.01, amsgrad = TRUE))
  expect_s3_class(optimizer, "tfdistribute_named_optimizer")
  expect_identical(optimizer$name, "adam")
  expect_identical(optimizer$settings, list(learning_rate = 0.01, amsgrad = TRUE))
  expect_identical(
    check_optimizer(list(name = "adam", learning_rate = 0.01, amsgrad = TRUE)),
    optimizer
  )
  expect_identical(check_optimizer(optimizer), optimizer)
})

test_that("a learning rate may be a schedule", {
  schedule <- list(
    "exponential_decay",
    initial_learning_rate = 0.1,
    decay_steps = 10,
    decay_rate = 0.9
  )
  settings <- check_optimizer(list("sgd", learning_rate = schedule))$settings
  expect_identical(settings$learning_rate$schedule, "exponential_decay")
  expect_identical(settings$learning_rate$decay_steps, 10)
})

test_that("functions and Python objects are handed on", {
  make <- function() NULL
  expect_identical(check_optimizer(make)$`function`, make)
  object <- structure(list(), class = c("keras.optimizers.SGD", "python.builtin.object"))
  expect_identical(check_optimizer(object)$kind, "object")
  expect_identical(format(check_optimizer(object)), "Python's SGD")
})

test_that("optimizers print what they are", {
  expect_snapshot({
    check_optimizer("Ftrl")
    check_optimizer(list("sgd", learning_rate = 0.1, momentum = 0.9))
    check_optimizer(list(
      "sgd",
      learning_rate = list("cosine_decay", initial_learning_rate = 1, decay_steps = 5)
    ))
    check_optimizer(function() NULL)
  })
})

test_that("unknown optimizers, settings and schedules are named without Python", {
  expect_snapshot(error = TRUE, {
    baseline_regressor(optimizer = "adamm")
    baseline_regressor(optimizer = list("adam", lr = 0.1))
    baseline_regressor(optimizer = list("adam", 0.1))
    baseline_regressor(optimizer = list(learning_rate = 0.1))
    baseline_regressor(optimizer = list("sgd", learning_rate = -1))
    baseline_regressor(optimizer = list("sgd", nesterov = 1))
    baseline_regressor(optimizer = list("sgd", learning_rate = list("expo")))
    dnn_linear_combined_regressor(linear_feature_columns = column_numeric("a"), dnn_optimizer = 3)
  })
})
