# A function that builds a model with two hidden layers of its own names.
network <- function(loss = "mse", units = 2L, rate = 0.05) {
  force(loss)
  force(units)
  force(rate)
  function() {
    keras <- reticulate::import("tensorflow")$keras
    layers <- list(
      keras$layers$Dense(4L, activation = "tanh", input_shape = list(units)),
      keras$layers$Dense(1L, name = "price")
    )
    model <- keras$Sequential(layers)
    model$compile(
      optimizer = keras$optimizers$legacy$SGD(rate),
      loss = loss,
      metrics = list("mae")
    )
    model
  }
}

scaled <- as.data.frame(scale(mtcars))

scaled_cars <- function(..., epochs = NULL) {
  cars_input(mpg ~ wt + hp, scaled, batch_size = 8, shuffle = FALSE, epochs = epochs, ...)
}

estimator_of <- function(model, strategy = NULL, ..., steps_per_run = "auto") {
  keras_model_to_estimator(
    model,
    ...,
    model_dir = withr::local_tempdir(.local_envir = parent.frame()),
    config = run_config(strategy, seed = 5, steps_per_run = steps_per_run)
  )
}

test_that("an R function's model, with a loss of R, learns the same under every strategy", {
  skip_if_no_tensorflow("smoke")
  calls <- 0
  mean_square <- function(y_true, y_pred) {
    calls <<- calls + 1
    tf <- reticulate::import("tensorflow")
    tf$reduce_mean(tf$square(tf$subtract(y_true, y_pred)), axis = -1L)
  }
  expected <- NULL
  cases <- list(
    list(NULL, steps_per_run = 1),
    list(strategy_mirrored(2), steps_per_run = 4),
    list(strategy_central_storage(2), steps_per_run = 1)
  )
  for (case in cases) {
    model <- do.call(estimator_of, c(network(mean_square), case))
    history <- train(model, scaled_cars(), steps = 8)
    found <- list(
      losses = history$losses$loss,
      metrics = evaluate(model, scaled_cars(epochs = 1)),
      predictions = predict(model, input_fn(scaled, features = c(wt, hp)))
    )
    expected <- expected %||% found
    expect_equal(found, expected, tolerance = 1e-5)
  }
  expect_named(expected$predictions, "price")
  expect_equal(
    expected$metrics$loss,
    mean((scaled$mpg - expected$predictions$price)^2),
    tolerance = 1e-5
  )
  expect_gte(calls, 2)
})

test_that("a model object is written at once, and stays as it is", {
  skip_if_no_tensorflow()
  object <- network(rate = 0)()
  weights <- object$get_weights()
  model <- estimator_of(object)
  expect_identical(model$path, file.path(model$model_dir, "keras", "model.keras"))
  copy <- withr::local_tempfile(fileext = ".rds")
  saveRDS(model, copy)
  train(readRDS(copy), scaled_cars(), steps = 1)
  predictions <- predict(model, input_fn(scaled, features = c(hp, wt)))
  matrix <- as.matrix(scaled[c("wt", "hp")])
  expect_equal(
    predictions$price,
    as.vector(object$predict(matrix, verbose = 0L)),
    tolerance = 1e-5
  )
  expect_equal(object$get_weights(), weights)
})

test_that("a model object takes the place of a link, and does not go through it", {
  skip_if_no_tensorflow()
  folder <- withr::local_tempdir()
  victim <- file.path(folder, "victim")
  writeLines("precious", victim)
  dir.create(file.path(folder, "model", "keras"), recursive = TRUE)
  place <- file.path(folder, "model", "keras", "model.keras")
  file.symlink(victim, place)
  model <- keras_model_to_estimator(network()(), model_dir = file.path(folder, "model"))
  expect_identical(readLines(victim), "precious")
  expect_identical(Sys.readlink(place), "")
  expect_identical(list.files(dirname(place), all.files = TRUE, no.. = TRUE), "model.keras")
  expect_identical(train(model, scaled_cars(), steps = 1)$global_step, 1L)
})

test_that("a model object is copied to a model_dir on remote storage", {
  skip_if_no_tensorflow()
  folder <- withr::local_tempdir()
  withr::local_dir(folder)
  # This path is read and written as remote ones.
  model <- keras_model_to_estimator(network()(), model_dir = paste0("file://", folder, "/model"))
  expect_identical(model$path, paste0("file://", folder, "/model/keras/model.keras"))
  expect_identical(train(model, scaled_cars(), steps = 1)$global_step, 1L)
  expect_identical(list.files(folder), "model")
})

test_that("a saved model is trained from its file, and exported for serving", {
  skip_if_no_tensorflow()
  object <- network()()
  path <- withr::local_tempfile(fileext = ".keras")
  object$save(path)
  model <- estimator_of(NULL, keras_model_path = path)
  train(model, scaled_cars(), steps = 60)
  expect_lt(evaluate(model, scaled_cars(epochs = 1))$loss, 0.5)
  folder <- withr::local_tempdir()
  exported <- export_savedmodel(model, file.path(folder, "export"))
  tf <- reticulate::import("tensorflow")
  serve <- tf$saved_model$load(exported)$signatures["serving_default"]
  answer <- serve(
    wt = tf$constant(scaled$wt, dtype = "float32"),
    hp = tf$constant(scaled$hp, dtype = "float32")
  )
  expect_equal(
    as.vector(answer$price$numpy()),
    predict(model, input_fn(scaled, features = c(wt, hp)))$price,
    tolerance = 1e-6
  )
})

test_that("an R error while the model is built stays the parent", {
  skip_if_no_tensorflow()
  model <- estimator_of(function() rlang::abort("no {luck}", class = "unlucky"))
  error <- expect_error(
    train(model, scaled_cars(), steps = 1),
    class = "tfdistribute_callback_error"
  )
  expect_s3_class(error$parent, "unlucky")
  expect_match(conditionMessage(error), "no {luck}", fixed = TRUE)
})

test_that("an R error in a loss is told under every strategy", {
  skip_if_no_tensorflow()
  for (strategy in list(NULL, strategy_mirrored(2))) {
    model <- estimator_of(network(function(y_true, y_pred) rlang::abort("bad day")), strategy)
    expect_error(
      train(model, scaled_cars(), steps = 1),
      "bad day",
      class = "tfdistribute_callback_error"
    )
  }
})

test_that("models that do not fit are refused by name", {
  skip_if_no_tensorflow()
  expect_snapshot(error = TRUE, train(estimator_of(network(units = 3L)), scaled_cars(), steps = 1))
  expect_snapshot(error = TRUE, train(estimator_of(function() 5), scaled_cars(), steps = 1))
  keras <- reticulate::import("tensorflow")$keras
  expect_snapshot(error = TRUE, estimator_of(keras$Sequential()))
  with_function <- network(function(y_true, y_pred) y_pred)()
  expect_snapshot(error = TRUE, estimator_of(with_function))
  species <- input_fn(Species ~ Sepal.Length + Sepal.Width, iris)
  expect_snapshot(error = TRUE, train(estimator_of(network()), species))
})

test_that("strings are looked up by the model itself", {
  skip_if_no_tensorflow()
  build <- function() {
    keras <- reticulate::import("tensorflow")$keras
    word <- keras$Input(shape = list(1L), dtype = "string", name = "Species")
    width <- keras$Input(shape = list(1L), name = "Sepal.Width")
    codes <- keras$layers$StringLookup(vocabulary = levels(iris$Species))(word)
    embedded <- keras$layers$Flatten()(keras$layers$Embedding(4L, 2L)(codes))
    joined <- keras$layers$Concatenate()(list(embedded, width))
    output <- keras$layers$Dense(1L, name = "length")(joined)
    model <- keras$Model(inputs = list(word, width), outputs = output)
    model$compile("adam", "mse")
    model
  }
  flowers <- input_fn(Sepal.Length ~ Species + Sepal.Width, iris, batch_size = 50, epochs = 1)
  model <- estimator_of(build, strategy_mirrored(2))
  history <- train(model, flowers)
  expect_identical(history$global_step, 3L)
  predictions <- predict(model, input_fn(iris, features = c(Species, Sepal.Width)))
  expect_identical(dim(predictions), c(150L, 1L))
})
