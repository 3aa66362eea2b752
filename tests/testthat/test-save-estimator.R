# Models saved in one file and restored from it.

# What save_estimator() keeps of a model, apart from its directory.
without_directory <- function(model) {
  attr(model, "temporary") <- NULL
  model["model_dir"] <- list(NULL)
  model
}

round_trip <- function(value) {
  encoded <- encode_description(value)
  expect_length(encoded$code, 0)
  decode_value(encoded$description, list(directory = "", files = names(encoded$files)))
}

# A model with every kind of plain value in its description: numbers that 15 digits do not hold, schedules, strategies,
# nested columns, a vocabulary file, and settings that are NULL.
wide_and_deep <- function(words = NULL, frame = parent.frame()) {
  folder <- withr::local_tempdir(.local_envir = frame)
  if (is.null(words)) {
    words <- file.path(folder, "w\u00f6rter.txt")
    writeLines(c("one", "two", "three"), words)
  }
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
    config = run_config(strategy_mirrored(2), seed = 3, cluster = NULL)
  )
}

test_that("a description comes back from its tree of plain values as it was", {
  for (value in list(
    # The path that the vocabulary gets in the directory "".
    wide_and_deep(words = "/vocabularies/1.txt"),
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
      withVisible(save_estimator(models[[name]], files[[match(name, names(models))]]))$visible,
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
      restored <- lapply(files, load_estimator, trusted = TRUE)
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
  expect_error(save_estimator(model, file), class = "tfdistribute_model_directory_error")
  train(model, cars_input(), steps = 1)
  expect_identical(save_estimator(model, file), file)
  expect_error(save_estimator(model, file), class = "tfdistribute_argument_error")
  expect_error(load_estimator(file), class = "tfdistribute_model_error")
  expect_error(
    load_estimator(file, folder, trusted = TRUE),
    class = "tfdistribute_model_directory_error"
  )
  restored <- load_estimator(file, file.path(folder, "new"), trusted = TRUE)
  expect_identical(restored$model_dir, file.path(folder, "new"))
  expect_false(attr(restored, "temporary"))
})

# A file that somebody else wrote: a description as it comes, with any files.
write_foreign_file <- function(model, path, change = identity, files = list()) {
  encoded <- change(encode_description(model))
  call_backend(
    "save_model",
    model_dir = model$model_dir,
    path = path,
    model = model$kind,
    description = encoded$description,
    files = c(as.list(encoded$files), files),
    writer = own_versions(),
    overwrite = TRUE
  )
  path
}

test_that("numbers, categories and named settings are loaded without trust, and no cluster is saved", {
  skip_if_no_tensorflow()
  model <- wide_and_deep()
  train(model, mpg ~ ., data = cars_and_words(), steps = 1)
  expected <- predict(model, newdata = cars_and_words())
  model["config"] <- list(run_config(
    strategy_multi_worker(),
    cluster = local_cluster(2),
    session_config = list(gpu_options = list(allow_growth = TRUE))
  ))
  file <- save_estimator(model, withr::local_tempfile(fileext = ".tfd"))
  restored <- load_estimator(file)
  expect_identical(predict(restored, newdata = cars_and_words()), expected)
  expect_null(restored$config$cluster)
  expect_identical(restored$config$session_config, model$config$session_config)
})

test_that("a foreign file runs no code without trust, whatever its members are called", {
  skip_if_no_tensorflow()
  folder <- withr::local_tempdir()
  file <- file.path(folder, "m.tfd")
  model <- keras_model_to_estimator(
    function() {
      keras <- tf$keras
      model <- keras$Sequential(list(keras$layers$Dense(1L, input_shape = list(1L))))
      model$compile(optimizer = "sgd", loss = "mse")
      model
    },
    model_dir = file.path(folder, "keras")
  )
  train(model, mpg ~ wt, data = mtcars, steps = 1)
  saved <- file.path(folder, "model.keras")
  export_keras_model(model, saved)
  model["function"] <- list(NULL)
  model["path"] <- saved
  as_vocabulary <- function(encoded) {
    names(encoded$files) <- "vocabularies/1.keras"
    place <- match("path", names(model))
    encoded$description$values[[place]]$name <- "vocabularies/1.keras"
    encoded
  }
  as_path <- function(encoded) {
    encoded$files <- character()
    encoded$description$values[[match("path", names(model))]] <- encode_value(saved, new.env())
    encoded
  }
  write_foreign_file(model, file, as_vocabulary)
  expect_error(load_estimator(file), "holds code .*: `path`", class = "tfdistribute_model_error")
  expect_identical(
    basename(load_estimator(file, trusted = TRUE)$path),
    "1.keras"
  )
  write_foreign_file(model, file, as_path)
  for (trusted in c(FALSE, TRUE)) {
    expect_error(
      load_estimator(file, trusted = trusted),
      "does not hold the file that its model needs"
    )
  }
  linear <- linear_regressor(column_numeric("wt"), model_dir = file.path(folder, "linear"))
  train(linear, mpg ~ wt, data = mtcars, steps = 1)
  mark <- file.path(folder, "mark")
  clusters <- list(
    ssh_cluster("localhost", workers = 1, ssh = c("ssh", paste0("-oProxyCommand=touch ", mark))),
    slurm_cluster(nodes = 1, workers = 1, setup = paste("touch", mark)),
    kubernetes_cluster(image = "i", workers = 1, kubectl = c("touch", mark)),
    local_cluster(2, network = "open")
  )
  for (cluster in clusters) {
    linear["config"] <- list(run_config(strategy_multi_worker(), cluster = cluster))
    write_foreign_file(linear, file)
    expect_error(
      load_estimator(file),
      "`config$cluster`",
      fixed = TRUE,
      class = "tfdistribute_model_error"
    )
    expect_identical(load_estimator(file, trusted = TRUE)$config$cluster, cluster)
  }
  linear["config"] <- list(run_config(model_dir = folder))
  write_foreign_file(linear, file)
  expect_error(load_estimator(file), "`config$model_dir`", fixed = TRUE)
  expect_false(file.exists(mark))
  write_foreign_file(linear, file, files = list("keras/other.keras" = saved))
  expect_error(
    load_estimator(file, trusted = TRUE),
    "its description does not need \"keras/other.keras\""
  )
})

test_that("a vocabulary is a member of the file, not a path", {
  skip_if_no_tensorflow()
  model <- wide_and_deep()
  train(model, mpg ~ ., data = cars_and_words(), steps = 1)
  words <- model$dnn_feature_columns[[3]]$categorical_column$vocabulary_file
  file <- withr::local_tempfile(fileext = ".tfd")
  as_path <- function(node) {
    if (!is.list(node)) {
      return(node)
    }
    if (identical(node$type, "file")) encode_value(words, new.env()) else lapply(node, as_path)
  }
  write_foreign_file(model, file, function(encoded) {
    list(description = as_path(encoded$description), files = list())
  })
  unlink(words)
  shown <- function(text) gsub(dirname(words), "DIR", gsub(file, "m.tfd", text, fixed = TRUE))
  expect_snapshot(error = TRUE, transform = shown, {
    load_estimator(file)
    save_estimator(model, file, overwrite = TRUE)
  })
})

test_that("what cannot be saved or is not a model file is refused by name", {
  local_bridge(list(value = list(description = list(type = "closure"), files = "a")))
  expect_snapshot(error = TRUE, {
    load_estimator("foreign.tfd")
    save_estimator(mtcars, "m.tfd")
  })
  local_bridge(list(
    value = list(
      description = list(type = "file", name = "../../etc/passwd"),
      files = list("a")
    )
  ))
  expect_error(load_estimator("foreign.tfd"), class = "tfdistribute_model_error")
  # Plain values of classes that descriptions do not have would call methods of other packages.
  node <- encode_value(structure(list(1), class = "tfdistribute_estimator"), new.env())
  node$attributes$class$values <- list("data.frame")
  expect_error(decode_value(node, list(directory = "", files = character())))
  node$attributes$class$values <- list("tfdistribute_arrow_input")
  expect_error(decode_value(node, list(directory = "", files = character())))
  # R would read the first, Python the last.
  twice <- encode_value(list(kind = "a", other = "b"), new.env())
  twice$attributes$names$values <- list("kind", "kind")
  expect_error(decode_value(twice, list(directory = "", files = character())))
  local_bridge(list(value = NULL))
  connection <- file(withr::local_tempfile(), "w")
  withr::defer(close(connection))
  model <- estimator(function(features, labels, mode) writeLines("x", connection))
  expect_snapshot(save_estimator(model, "m.tfd"), error = TRUE)
})

test_that("a model is restored on remote storage when its description was read, with its files there", {
  encoded <- encode_description(wide_and_deep())
  asked <- character()
  local_answers(
    load_model = function(arguments) {
      asked <<- c(asked, arguments$model_dir)
      list(description = encoded$description, files = as.list(names(encoded$files)))
    },
    trained_state = untrained,
    check_model = function(arguments) {
      asked <<- c(asked, "check")
      NULL
    }
  )
  model <- load_estimator("gs://bucket/m.tfd", "gs://bucket/model")
  expect_identical(asked[-1], c("check", "gs://bucket/model"))
  expect_false(dir.exists(asked[[1]]))
  expect_identical(model$model_dir, "gs://bucket/model")
  vocabulary <- model$dnn_feature_columns[[3]]$categorical_column$vocabulary_file
  expect_identical(vocabulary, "gs://bucket/model/vocabularies/1.txt")
})
