# Every mistake is a classed error that names the argument, its value and the remedy; most are found without Python.

wt_model <- function(...) {
  linear_regressor(feature_columns(column_numeric("wt")), ...)
}

mirrored <- function(devices = 2) run_config(strategy = strategy_mirrored(devices))

test_that("mistakes in data are found without Python", {
  local_no_python()
  with_na <- mtcars
  with_na$wt[c(2, 5)] <- NA
  expect_snapshot(error = TRUE, {
    input_fn(mpg ~ weight, mtcars)
    input_fn(mtcars, features = weight, response = mpg)
    input_fn(mtcars, features = wt, response = mgp)
    input_fn(mpg ~ wt, with_na)
    input_fn(mpg ~ wt, mtcars[0, ])
    input_fn(mpg ~ wt, mtcars, batch_size = -4)
    input_fn(mpg ~ wt, mtcars, batch_size = 2.5)
    input_fn(mpg ~ wt, mtcars, epochs = 0)
  })
})

test_that("mistakes in models are found without Python", {
  local_no_python()
  expect_snapshot(error = TRUE, {
    dnn_regressor(c(8, 0), feature_columns(column_numeric("wt")))
    linear_regressor(feature_columns(column_numeric("wt")), optimizer = "Adamm")
    feature_columns(column_numeric("wt"), column_numeric("wt"))
    column_categorical_with_vocabulary_list("cyl", "gear")
    strategy_mirrored(devices = 0)
  })
})

test_that("data that does not fit the model is refused before TensorFlow starts", {
  skip_if_no_tensorflow()
  cars <- mtcars
  cars$name <- rownames(cars)
  cars$kind <- factor(cars$cyl)
  three <- linear_classifier(feature_columns(column_numeric("wt")), n_classes = 3)
  expect_snapshot(error = TRUE, {
    train(wt_model(), input_fn(cars, features = hp, response = mpg))
    train(wt_model(), input_fn(mtcars, features = wt))
    train(wt_model(), input_fn(cars, features = wt, response = name))
    train(linear_classifier(feature_columns(column_numeric("wt"))), input_fn(mpg ~ wt, mtcars))
    train(linear_classifier(feature_columns(column_numeric("wt"))), input_fn(kind ~ wt, cars))
    train(three, input_fn(carb ~ wt, mtcars))
    train(wt_model(), input_fn(mpg ~ wt, mtcars, epochs = NULL))
    train(wt_model(), input_fn(mpg ~ wt, mtcars), steps = 1, max_steps = 2)
    train(wt_model(), input_fn(mpg ~ wt, mtcars), max_epochs = 1)
  })
})

test_that("batches and devices that do not go together are refused", {
  skip_if_no_tensorflow()
  expect_snapshot(error = TRUE, {
    train(wt_model(config = mirrored()), input_fn(mpg ~ wt, mtcars, batch_size = 33))
    train(wt_model(config = mirrored(c("GPU:0", "GPU:1"))), input_fn(mpg ~ wt, mtcars))
    train(
      wt_model(config = run_config(strategy = strategy_multi_worker())),
      input_fn(mpg ~ wt, mtcars)
    )
  })
})

test_that("what stands in model_dir is looked at first", {
  skip_if_no_tensorflow()
  directory <- withr::local_tempdir()
  file.create(file.path(directory, "file"))
  model <- wt_model(model_dir = file.path(directory, "model"))
  input <- input_fn(mpg ~ wt, mtcars)
  shorten <- function(lines) gsub(directory, "<folder>", lines, fixed = TRUE)
  expect_snapshot(error = TRUE, transform = shorten, {
    predict(model, input)
    evaluate(model, input)
    export_savedmodel(model, file.path(directory, "export"))
    variable_names(model)
    variable_value(model)
    train(wt_model(model_dir = file.path(directory, "file", "model")), input)
  })
  train(model, input)
  other <- linear_regressor(
    feature_columns(column_numeric("wt", "hp")),
    model_dir = file.path(directory, "model")
  )
  expect_snapshot(error = TRUE, transform = shorten, {
    train(other, input_fn(mpg ~ wt + hp, mtcars))
    variable_value(model, "linear/linear_model/weight")
    evaluate(model, input, checkpoint_path = file.path(directory, "model.ckpt-7"))
  })
})

test_that("every one of these errors carries its argument", {
  local_no_python()
  errors <- list(
    tryCatch(input_fn(mpg ~ weight, mtcars), error = identity),
    tryCatch(input_fn(mpg ~ wt, mtcars, batch_size = -4), error = identity),
    tryCatch(strategy_mirrored(devices = 0), error = identity),
    tryCatch(
      linear_regressor(feature_columns(column_numeric("wt")), optimizer = "x"),
      error = identity
    )
  )
  for (error in errors) {
    expect_s3_class(error, "tfdistribute_error")
    expect_type(error$argument, "character")
    # A text that says what the value must be needs no remedy.
    expect_true(is.character(error$remedy) || grepl(" must be ", error$problem))
  }
})

test_that("names that are no R names work to the end", {
  skip_if_no_tensorflow()
  flowers <- data.frame(
    `petal length` = iris$Petal.Length,
    größe = iris$Sepal.Length,
    `Art der Blüte` = iris$Species,
    check.names = FALSE
  )
  model <- dnn_classifier(
    hidden_units = 4,
    feature_columns = feature_columns(column_numeric("petal length", "größe")),
    n_classes = 3,
    config = mirrored()
  )
  input <- input_fn(
    flowers,
    features = c("petal length", "größe"),
    response = "Art der Blüte",
    batch_size = 30
  )
  train(model, input)
  predicted <- predict(model, input)
  expect_identical(nrow(predicted), 150L)
  expect_true(all(predicted$classes %in% levels(iris$Species)))
  expect_identical(
    nrow(predict(model, input_fn(`Art der Blüte` ~ ., flowers))),
    150L
  )
})
