# tfestimators is not on every machine. What stands for its objects here has exactly their structure: a list with the
# Python object as `estimator`, of these classes.
canned <- function(model_dir, ..., class = "LinearRegressor") {
  columns <- list(tf$feature_column$numeric_column("wt"))
  structure(
    list(
      estimator = tf$estimator[[class]](columns, model_dir = model_dir, ...),
      args = list(feature_columns = columns)
    ),
    class = c("tf_estimator", "tf_estimator_regressor", "linear_regressor")
  )
}

# tfestimators wraps an R model function in a function of Python with these arguments.
custom <- function(model_dir, model_fn) {
  main <- reticulate::py_run_string(
    "
def as_model_fn(f):
    def model_fn(features, labels, mode, params, config):
        return f(features, labels, mode, params, config)
    return model_fn
",
    local = TRUE
  )
  estimator <- tf$estimator$Estimator(
    main$as_model_fn(model_fn),
    model_dir = model_dir,
    params = list(rate = 0.01)
  )
  structure(
    list(estimator = estimator, model_fn = model_fn),
    class = c("tf_estimator", "tf_custom_estimator")
  )
}

line <- function(features, labels, mode, params, config) {
  x <- tf$reshape(features$wt, c(-1L, 1L))
  zeros <- tf$compat$v1$zeros_initializer()
  predicted <- tf$squeeze(tf$compat$v1$layers$dense(x, 1L, kernel_initializer = zeros), 1L)
  if (mode == "infer") {
    return(tf$estimator$EstimatorSpec(mode, predictions = list(mpg = predicted)))
  }
  loss <- tf$reduce_mean(tf$math$squared_difference(tf$cast(labels, tf$float32), predicted))
  optimizer <- tf$compat$v1$train$GradientDescentOptimizer(params$rate)
  tf$estimator$EstimatorSpec(
    mode,
    loss = loss,
    train_op = optimizer$minimize(loss, tf$compat$v1$train$get_global_step())
  )
}

cars <- function(epochs = 1, rows = 1:32) {
  cars_input(data = mtcars[rows, ], epochs = epochs, shuffle = FALSE)
}

weights <- function(object) {
  names <- grep("(weights|kernel|bias)$", variable_names(object), value = TRUE)
  variable_value(object, names)
}

test_that("every verb takes an object of tfestimators", {
  skip_if_no_tensorflow()
  object <- canned(withr::local_tempdir())
  history <- train(object, cars(4))
  expect_s3_class(history, "tfdistribute_history")
  expect_identical(history$global_step, 8L)
  metrics <- evaluate(object, cars())
  predicted <- predict(object, cars())
  expect_equal(metrics$loss, mean((predicted$predictions - mtcars$mpg)^2), tolerance = 1e-5)
  expect_named(predict(object, cars(), simplify = FALSE)[[1]], "predictions")
  both <- train_and_evaluate(object, train_spec(cars(NULL), max_steps = 10), eval_spec(cars()))
  expect_identical(both$evaluations$global_step, 10L)
  expect_identical(latest_checkpoint(object), file.path(model_dir(object), "model.ckpt-10"))
  expect_identical(model_dir(object), object$estimator$model_dir)
  expect_true("linear/linear_model/wt/weights" %in% variable_names(object))
  path <- export_savedmodel(object, withr::local_tempfile(), input = cars())
  loaded <- tf$saved_model$load(path)
  request <- tf$constant(as.array(mtcars$wt), tf$float32)
  answer <- loaded$signatures$get("predict")(wt = request)
  expected <- predict(object, cars())$predictions
  expect_equal(as.vector(answer$predictions$numpy()), expected, tolerance = 1e-6)
})

test_that("distribute() copies an estimator, which learns the same on two devices", {
  skip_if_no_tensorflow()
  for (make in list(canned, function(folder) custom(folder, line))) {
    one <- distribute(make(withr::local_tempdir()), run_config(seed = 2))
    object <- make(withr::local_tempdir())
    two <- distribute(object, run_config(strategy_mirrored(devices = 2), seed = 2))
    expect_identical(class(two), class(object))
    expect_identical(names(two), names(object))
    expect_null(object$estimator$config$train_distribute)
    train(one, cars(3))
    train(two, cars(3))
    expect_equal(weights(two), weights(one), tolerance = 1e-5)
    expect_identical(latest_checkpoint(object), latest_checkpoint(two))
  }
})

test_that("distribute() takes an Estimator of Python, and one of this package", {
  skip_if_no_tensorflow()
  config <- run_config(strategy_mirrored(devices = 2))
  estimator <- canned(withr::local_tempdir())$estimator
  copy <- distribute(estimator, config)
  expect_s3_class(copy, "python.builtin.object")
  expect_identical(copy$config$train_distribute$num_replicas_in_sync, 2L)
  expect_identical(copy$model_dir, estimator$model_dir)
})

test_that("distribute() gives an estimator the configuration and its model_dir", {
  model <- linear_regressor(feature_columns(column_numeric("wt")), model_dir = "/runs/a")
  config <- run_config(strategy_mirrored(devices = 2))
  expect_identical(distribute(model, config)$config, config)
  expect_identical(model_dir(distribute(model, config)), "/runs/a")
  temporary <- linear_regressor(feature_columns(column_numeric("wt")))
  expect_identical(model_dir(distribute(temporary, run_config(model_dir = "/runs/b"))), "/runs/b")
  expect_snapshot(error = TRUE, {
    distribute(model, run_config(model_dir = "/runs/b"))
    distribute(model, NULL)
    distribute(mtcars, config)
    distribute(structure(list(estimator = 3), class = "tf_estimator"), config)
  })
})

test_that("an R error in the model function of such an object arrives as an error", {
  skip_if_no_tensorflow()
  fails <- function(features, labels, mode, params, config) rlang::abort("This line is wrong.")
  object <- custom(withr::local_tempdir(), fails)
  for (each in list(object, distribute(object, run_config(strategy_mirrored(devices = 2))))) {
    expect_error(
      train(each, cars(1)),
      "This line is wrong",
      class = "tfdistribute_training_error"
    )
  }
})

test_that("predict() leaves inputs of tfestimators to tfestimators, whoever was loaded last", {
  skip_if_no_tensorflow()
  local_stand_in(
    "tfestimators",
    "predict.tf_estimator <- function(object, input_fn, ...) \"theirs\""
  )
  loadNamespace("tfestimators")
  object <- canned(withr::local_tempdir())
  expect_identical(predict(object, function(estimator) NULL), "theirs")
  train(object, cars(1))
  expect_s3_class(predict(object, cars()), "tbl_df")
})

test_that("descriptions can be given to Python's own functions", {
  skip_if_no_tensorflow()
  config <- run_config(save_checkpoints_steps = 7)
  object <- canned(withr::local_tempdir(), config = config)
  expect_identical(object$estimator$config$save_checkpoints_steps, 7L)
})
