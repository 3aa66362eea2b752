# Models saved in one file and restored from it.

# What save_model() keeps of a model, apart from its directory.
without_directory <- function(model) {
  attr(model, "temporary") <- NULL
  model["model_dir"] <- list(NULL)
  model
}

round_trip <- function(value) {
  encoded <- encode_description(value)
  expect_length(encoded$code, 0)
  decode_value(encoded$description, list(directory = "", files = character()))
}

cars_and_words <- function() {
  cars <- mtcars[c("mpg", "wt", "hp")]
  cars$word <- rep(c("one", "two", "three", "other"), 8)
  cars$maker <- factor(rep(c("a", "b"), 16))
  cars
}

# A model with every kind of plain value in its description: numbers that 15 digits do not hold, schedules, strategies,
# nested columns, a vocabulary file, and settings that are NULL.
wide_and_deep <- function(frame = parent.frame()) {
  folder <- withr::local_tempdir(.local_envir = frame)
  words <- file.path(folder, "w\u00f6rter.txt")
  writeLines(c("one", "two", "three"), words)
  word <- column_categorical_with_vocabulary_file(
    "word",
    vocabulary_file = words,
    num_oov_buckets = 1
  )
  maker <- column_categorical_with_vocabulary_list("maker", vocabulary_list = c("a", "b"))
  dnn_linear_combined_regressor(
    linear_feature_columns = list(column_crossed(c("maker", "word"), 10), maker),
    dnn_feature_columns = list(
      column_numeric("wt", "hp", center = 1 / 3, scale = pi),
      column_embedding(word, 2),
      column_bucketized(column_numeric("wt"), c(2, 3.1))
    ),
    dnn_hidden_units = c(4, 3),
    dnn_optimizer = list(
      "adam",
      learning_rate = list(
        "exponential_decay",
        initial_learning_rate = 0.1,
        decay_steps = 5,
        decay_rate = 0.9
      )
    ),
    model_dir = file.path(folder, "model"),
    config = run_config(strategy_mirrored(2), tf_random_seed = 3, cluster = NULL)
  )
}

test_that("a description comes back from its tree of plain values as it was", {
  model <- wide_and_deep()
  # Paths of files that do not exist are strings like any others.
  unlink(dirname(model$model_dir), recursive = TRUE)
  for (value in list(
    model,
    run_config(strategy_multi_worker(), cluster = local_cluster(2)),
    list(c(a = 1L, b = NA), c(TRUE, NA), double(), character(), list(), NULL, list(NULL))
  )) {
    expect_identical(round_trip(value), value)
  }
})

test_that("numbers come back to the bit", {
  numbers <- c(
    0.1,
    1 / 3,
    pi,
    1e-310,
    2^53 + 2,
    -0,
    NA,
    NaN,
    Inf,
    -Inf,
    .Machine$double.xmin,
    1e300 / 7
  )
  expect_identical(serialize(round_trip(numbers), NULL), serialize(numbers, NULL))
})

test_that("a saved model predicts the same in another session, without the first model's files", {
  skip_if_no_tensorflow()
  folder <- withr::local_tempdir()
  cars <- cars_and_words()
  scale_of_test <- 2
  scaled <- function(x) tf$multiply(x, scale_of_test)
  models <- list(
    canned = wide_and_deep(),
    normalized = linear_regressor(
      feature_columns(column_numeric("wt", normalizer_fn = scaled)),
      model_dir = file.path(folder, "normalized")
    ),
    own = estimator(
      function(features, labels, mode, params) {
        x <- tf$reshape(features$wt, c(-1L, 1L))
        predicted <- tf$squeeze(tf$compat$v1$layers$dense(x, 1L), 1L)
        list(
          predictions = list(mpg = tf$multiply(predicted, scale_of_test)),
          loss = if (mode != "infer") tf$reduce_mean(tf$square(tf$subtract(labels, predicted))),
          optimizer = list("sgd", learning_rate = params$learning_rate)
        )
      },
      params = list(learning_rate = 0.01),
      class = "my_model",
      model_dir = file.path(folder, "own")
    ),
    keras = keras_model_to_estimator(
      (function() {
        keras <- tf$keras
        model <- keras$Sequential(list(keras$layers$Dense(1L, input_shape = list(2L))))
        model$compile(optimizer = keras$optimizers$legacy$SGD(0.001), loss = "mse")
        model
      })(),
      model_dir = file.path(folder, "keras")
    )
  )
  features <- list(canned = mpg ~ ., normalized = mpg ~ wt, own = mpg ~ wt, keras = mpg ~ wt + hp)
  files <- file.path(folder, paste0(names(models), ".tfd"))
  expected <- list()
  for (name in names(models)) {
    train(models[[name]], features[[name]], data = cars, epochs = 2)
    expect_identical(
      withVisible(save_model(models[[name]], files[[match(name, names(models))]]))$visible,
      FALSE
    )
    expected[[name]] <- list(
      predictions = predict(models[[name]], newdata = cars),
      history = as.data.frame(training_history(models[[name]])),
      parameters = summary(models[[name]])$weights$parameters,
      model = without_directory(models[[name]])
    )
    unlink(models[[name]]$model_dir, recursive = TRUE)
  }
  unlink(dirname(models$canned$model_dir), recursive = TRUE)
  found <- in_child_r(
    function(files, cars) {
      scale_of_test <- "a variable of this session"
      assign("scale_of_test", scale_of_test, envir = globalenv())
      restored <- lapply(files, load_model, trusted = TRUE)
      answers <- lapply(restored, function(model) {
        list(
          predictions = predict(model, newdata = cars),
          history = as.data.frame(training_history(model)),
          parameters = summary(model)$weights$parameters,
          model = model
        )
      })
      train(restored[[1]], mpg ~ ., data = cars, epochs = 1)
      list(
        answers = answers,
        step = summary(restored[[1]])$global_step,
        kept = get("scale_of_test", globalenv())
      )
    },
    list(files = files, cars = cars)
  )
  for (index in seq_along(models)) {
    for (part in c("predictions", "history", "parameters")) {
      expect_identical(found$answers[[index]][[part]], expected[[index]][[part]])
    }
  }
  expect_s3_class(found$answers[[3]]$model, c("my_model", "tfdistribute_custom_estimator"))
  expect_identical(found$step, max(expected$canned$history$step) + 1L)
  expect_identical(found$kept, "a variable of this session")
  # The description is the same, apart from the places of files.
  canned <- without_directory(found$answers[[1]]$model)
  vocabulary <- canned$dnn_feature_columns[[3]]$categorical_column$vocabulary_file
  expect_match(vocabulary, "vocabularies/1.txt", fixed = TRUE)
  expect_identical(canned$config, expected$canned$model$config)
  expect_identical(canned$dnn_optimizer, expected$canned$model$dnn_optimizer)
  expect_identical(canned$linear_feature_columns, expected$canned$model$linear_feature_columns)
})

test_that("a file that holds code is loaded only if it is trusted, and a directory only if it is free", {
  skip_if_no_tensorflow()
  folder <- withr::local_tempdir()
  model <- linear_regressor(
    column_numeric("wt", normalizer_fn = function(x) x),
    model_dir = file.path(folder, "model")
  )
  file <- file.path(folder, "m.tfd")
  expect_error(save_model(model, file), class = "tfdistribute_model_directory_error")
  train(model, cars_input(), steps = 1)
  expect_identical(save_model(model, file), file)
  expect_error(save_model(model, file), class = "tfdistribute_argument_error")
  expect_error(load_model(file), class = "tfdistribute_model_error")
  expect_error(
    load_model(file, folder, trusted = TRUE),
    class = "tfdistribute_model_directory_error"
  )
  restored <- load_model(file, file.path(folder, "new"), trusted = TRUE)
  expect_identical(restored$model_dir, file.path(folder, "new"))
  expect_false(attr(restored, "temporary"))
})

test_that("what cannot be saved or is not a model file is refused by name", {
  local_bridge(list(value = list(description = list(type = "closure"), files = "a")))
  expect_snapshot(error = TRUE, {
    load_model("foreign.tfd")
    save_model(mtcars, "m.tfd")
  })
  local_bridge(list(
    value = list(
      description = list(type = "file", name = "../../etc/passwd"),
      files = list("a")
    )
  ))
  expect_error(load_model("foreign.tfd"), class = "tfdistribute_model_error")
  # Plain values of classes that descriptions do not have would call methods of other packages.
  node <- encode_value(structure(list(1), class = "tfdistribute_estimator"), new.env())
  node$attributes$class$values <- list("data.frame")
  expect_error(decode_value(node, list(directory = "", files = character())))
  local_bridge(list(value = NULL))
  connection <- file(withr::local_tempfile(), "w")
  withr::defer(close(connection))
  model <- estimator(function(features, labels, mode) writeLines("x", connection))
  expect_snapshot(save_model(model, "m.tfd"), error = TRUE)
})

test_that("a model is restored on remote storage when its description was read, with its files there", {
  encoded <- encode_description(wide_and_deep())
  asked <- character()
  local_answers(
    load_model = function(arguments) {
      asked <<- c(asked, arguments$model_dir)
      list(description = encoded$description, files = as.list(names(encoded$files)))
    },
    check_model = function(arguments) {
      asked <<- c(asked, "check")
      NULL
    }
  )
  model <- load_model("gs://bucket/m.tfd", "gs://bucket/model")
  expect_identical(asked[-1], c("check", "gs://bucket/model"))
  expect_false(dir.exists(asked[[1]]))
  expect_identical(model$model_dir, "gs://bucket/model")
  vocabulary <- model$dnn_feature_columns[[3]]$categorical_column$vocabulary_file
  expect_identical(vocabulary, "gs://bucket/model/vocabularies/1.txt")
})

# The generics of bundle and vetiver, and the classes and structures that these packages give their objects: neither is
# in Debian. vetiver_type_convert() here only puts the columns of a request in the order of the prototype.
local_bundle <- function(frame = parent.frame()) {
  local_stand_in(
    "bundle",
    c(
      "bundle <- function(x, ...) UseMethod('bundle')",
      "unbundle <- function(x) x$situate(x$object)"
    ),
    frame = frame
  )
}

local_vetiver <- function(frame = parent.frame()) {
  local_stand_in(
    "vetiver",
    c(
      "vetiver_create_description <- function(model) UseMethod('vetiver_create_description')",
      "vetiver_create_meta <- function(model, metadata) UseMethod('vetiver_create_meta')",
      "vetiver_ptype <- function(model, ...) UseMethod('vetiver_ptype')",
      "vetiver_prepare_model <- function(model) UseMethod('vetiver_prepare_model')",
      "handler_predict <- function(vetiver_model, ...) UseMethod('handler_predict', vetiver_model$model)",
      "vetiver_meta <- function(user, required_pkgs) list(user = user, required_pkgs = required_pkgs)",
      "vetiver_type_convert <- function(new_data, ptype) as.data.frame(new_data)[names(ptype)]",
      "vetiver_model <- function(model, model_name) {",
      "  structure(",
      "    list(",
      "      model = vetiver_prepare_model(model), model_name = model_name,",
      "      description = vetiver_create_description(model),",
      "      metadata = vetiver_create_meta(model, list()), prototype = vetiver_ptype(model)",
      "    ),",
      "    class = 'vetiver_model'",
      "  )",
      "}",
      "vetiver_api <- function(pr, vetiver_model) {",
      "  vetiver_model$model <- bundle::unbundle(vetiver_model$model)",
      "  plumber::pr_post(pr, '/predict', handler_predict(vetiver_model))",
      "}"
    ),
    frame = frame
  )
}

test_that("a bundle is a plain value that holds the trained model", {
  skip_if_no_tensorflow()
  local_bundle()
  model <- linear_regressor(column_numeric("wt"))
  train(model, mpg ~ wt, data = mtcars, epochs = 3)
  bundled <- bundle::bundle(model)
  expect_s3_class(
    bundled,
    c("bundled_tfdistribute_linear_regressor_estimator", "bundle"),
    exact = TRUE
  )
  expect_named(bundled, c("object", "situate"))
  file <- withr::local_tempfile()
  saveRDS(bundled, file)
  # The checkpoint, and not the session in which it was bundled.
  expect_lt(file.size(file), 2 * length(bundled$object))
  expected <- predict(model, newdata = mtcars)
  unlink(model$model_dir, recursive = TRUE)
  expect_identical(predict(bundle::unbundle(readRDS(file)), newdata = mtcars), expected)
})

test_that("vetiver serves a model by plumber", {
  skip_if_no_tensorflow()
  skip_if_not_installed("plumber")
  local_bundle()
  local_vetiver()
  model <- linear_regressor(feature_columns(mpg ~ wt + maker, cars_and_words()))
  train(model, mpg ~ wt + maker, data = cars_and_words(), batch_size = 32, epochs = 3)
  served <- vetiver::vetiver_model(model, "cars")
  expect_identical(served$description, "A linear_regressor trained for 3 steps by tfdistribute")
  expect_identical(served$metadata$required_pkgs, "tfdistribute")
  expect_identical(served$prototype, tibble::tibble(wt = double(), maker = character()))
  api <- vetiver::vetiver_api(plumber::pr(), served)
  body <- "[{\"maker\": \"b\", \"wt\": 2.5}, {\"maker\": \"a\", \"wt\": 3}]"
  request <- list2env(list(
    REQUEST_METHOD = "POST",
    PATH_INFO = "/predict",
    QUERY_STRING = "",
    CONTENT_TYPE = "application/json",
    HTTP_CONTENT_TYPE = "application/json",
    rook.input = list(
      rewind = function() NULL,
      read = function() charToRaw(body),
      read_lines = function() body
    )
  ))
  answer <- api$call(request)
  expect_identical(answer$status, 200L)
  expected <- predict(model, newdata = data.frame(wt = c(2.5, 3), maker = c("b", "a")))
  expect_equal(jsonlite::fromJSON(answer$body)$predictions, expected$predictions, tolerance = 1e-3)
})
