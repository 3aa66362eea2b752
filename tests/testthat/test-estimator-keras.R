builder <- function() NULL

saved_file <- function(env = parent.frame()) {
  withr::local_tempfile(lines = "a model", fileext = ".keras", .local_envir = env)
}

test_that("a function or a file is a plain value that can be saved", {
  file <- saved_file()
  models <- list(
    keras_model_to_estimator(builder, model_dir = "/runs/m"),
    keras_model_to_estimator(
      keras_model_path = file,
      custom_objects = list(twice = function(x) 2 * x),
      model_dir = "/runs/m",
      config = run_config(strategy_mirrored(devices = 2))
    )
  )
  for (model in models) {
    expect_s3_class(model, c("tfdistribute_keras_estimator", "tfdistribute_estimator"))
    expect_identical(model_dir(model), "/runs/m")
    copy <- withr::local_tempfile(fileext = ".rds")
    saveRDS(model, copy)
    expect_equal(readRDS(copy), model, ignore_function_env = TRUE)
  }
  expect_identical(models[[2]]$path, normalizePath(file))
  expect_null(models[[1]]$path)
})

test_that("the arguments are those of tfestimators, in their order", {
  expect_identical(
    setdiff(names(formals(keras_model_to_estimator)), "..."),
    c("keras_model", "keras_model_path", "custom_objects", "model_dir", "config")
  )
})

test_that("Keras estimators print what they are", {
  file <- saved_file()
  expect_snapshot(
    {
      keras_model_to_estimator(builder)
      keras_model_to_estimator(
        keras_model_path = file,
        custom_objects = list(twice = builder, half = builder),
        model_dir = "/runs/m",
        config = run_config(strategy_mirrored(devices = 2))
      )
    },
    transform = function(lines) {
      gsub("(keras_model_path|model_dir)( +)/.*[^) ]( \\(temporary\\))?$", "\\1\\2<path>\\3", lines)
    }
  )
})

test_that("models of Keras 2 and of Keras 3 are recognised by their classes", {
  python <- function(...) structure(list(), class = c(..., "python.builtin.object"))
  expect_true(is_keras_model(python("tf_keras.src.engine.training.Model")))
  expect_true(is_keras_model(
    python("keras.src.models.sequential.Sequential", "keras.src.models.model.Model")
  ))
  expect_false(is_keras_model(python("keras.src.layers.layer.Layer")))
})

test_that("what is no model is refused at once", {
  expect_snapshot(error = TRUE, keras_model_to_estimator())
  expect_snapshot(error = TRUE, keras_model_to_estimator(builder, "model.keras"))
  expect_snapshot(error = TRUE, keras_model_to_estimator(mtcars))
  expect_snapshot(error = TRUE, keras_model_to_estimator("model.keras"))
  expect_snapshot(error = TRUE, keras_model_to_estimator(function(units) NULL))
  expect_snapshot(error = TRUE, keras_model_to_estimator(keras_model_path = "no/such.keras"))
  expect_snapshot(error = TRUE, keras_model_to_estimator(keras_model_path = 5))
  expect_snapshot(error = TRUE, keras_model_to_estimator(builder, config = list()))
  for (wrong in list(list(builder), list(a = builder, a = builder), list(a = 1), builder)) {
    expect_error(
      keras_model_to_estimator(builder, custom_objects = wrong),
      "`custom_objects` must be a named list",
      class = "tfdistribute_argument_error"
    )
  }
})

test_that("a function whose arguments have defaults is called without them", {
  model <- keras_model_to_estimator(function(units = 8L, ...) NULL)
  expect_true(is.function(model$`function`))
})
