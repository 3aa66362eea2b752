test_that("a model in parts trains in R to the numbers of one device, and calls each stage once", {
  skip_if_no_tensorflow()
  found <- in_child_r(function() {
    calls <- new.env()
    calls$count <- 0
    in_stages <- function(features, labels, mode, params) {
      layer <- function(units, activation = NULL) {
        function(x) {
          calls$count <- calls$count + 1
          tf$compat$v1$layers$dense(x$x, units, activation = activation)
        }
      }
      hidden <- layer(16L, tf$nn$tanh)
      last <- layer(1L)
      predicted <- pipeline(
        list(x = tf$stack(list(features$wt, features$hp), axis = 1L)),
        function(x) list(x = hidden(x)),
        last,
        micro_batches = 4
      )
      # A number of the data, not of the pipeline.
      predicted <- with(logical_device(logical_devices()), tf$squeeze(predicted, 1L))
      list(
        predictions = list(mpg = predicted),
        loss = if (mode != "infer") tf$reduce_mean(tf$math$squared_difference(labels, predicted)),
        optimizer = list("adam", learning_rate = 0.01)
      )
    }
    cars <- as.data.frame(scale(mtcars))
    batches <- input_fn(mpg ~ wt + hp, cars, batch_size = 8, epochs = NULL, shuffle = FALSE)
    trained <- function(strategy) {
      calls$count <- 0
      model <- estimator(in_stages, config = run_config(strategy, seed = 7))
      train(model, batches, steps = 30)
      list(values = variable_value(model), calls = calls$count, model = model)
    }
    one <- trained(NULL)
    other <- list(
      trained(strategy_model_parallel(2)),
      trained(strategy_mirrored(4, devices_per_replica = 2))
    )
    calls$count <- 0
    predictions <- predict(other[[1]]$model, input_fn(cars, features = c(wt, hp)))
    failing <- estimator(function(features, labels, mode) {
      pipeline(tf$reshape(features$wt, c(-1L, 1L)), function(x) stop("no good stage"))
    })
    list(
      one = one$values,
      other = lapply(other, function(each) each$values),
      calls = c(one$calls, vapply(other, function(each) each$calls, 0), calls$count),
      rows = nrow(predictions),
      error = tryCatch(train(failing, batches, steps = 1), error = identity)
    )
  })
  for (values in found$other) {
    expect_equal(values[names(found$one)], found$one, tolerance = 5e-6)
  }
  # Two stages, for one device, for two in one copy of the model, and for two copies.
  expect_identical(found$calls, c(2, 2, 4, 2))
  expect_identical(found$rows, 32L)
  expect_s3_class(found$error, "tfdistribute_callback_error")
  expect_match(conditionMessage(found$error), "no good stage", fixed = TRUE)
})

test_that("parts of a model are errors outside a model function", {
  skip_if_no_tensorflow()
  expect_snapshot(error = TRUE, {
    logical_device(1)
    logical_devices()
    pipeline(1, function(x) x)
    logical_device(0)
    pipeline(1, "relu")
    pipeline(1, function(x) x, micro_batches = 0)
  })
})
