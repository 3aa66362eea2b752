# Errors of Python about functions that return datasets, Keras models, exports and written files, each with the code of
# its remedy.

of_slices <- function(...) {
  slices <- list(...)
  function() tf$data$Dataset$from_tensor_slices(slices)$batch(2L)
}
labelled <- of_slices(features = list(x = c(1, 2, 3, 4)), labels = c(2, 4, 6, 8))

# Functions that return datasets ------------------------------------------------------------------

tries(
  check_sharding(function() labelled()$`repeat`()),
  check_sharding(function() labelled()),
  labelled = labelled
)
tries(
  {
    unnamed <- linear_regressor(column_numeric("x"))
    train(unnamed, input_dataset(labelled), steps = 1)
    predict(unnamed, data)
  },
  predict(unnamed, input_fn(y ~ x, data)),
  labelled = labelled
)
tries(
  {
    codes <- of_slices(features = list(w = c(0L, 7L)), labels = c(1, 2))
    column <- column_categorical_with_identity("w", num_buckets = 2)
    train(linear_regressor(column), input_dataset(codes), steps = 1)
  },
  {
    more <- column_categorical_with_identity("w", num_buckets = 8)
    train(linear_regressor(more), input_dataset(codes), steps = 1)
    default <- column_categorical_with_identity("w", num_buckets = 2, default_value = 0)
    train(linear_regressor(default), input_dataset(codes), steps = 1)
  },
  of_slices = of_slices
)

# Keras models ------------------------------------------------------------------------------------

keras_of <- function(input, loss = "mse", config = NULL) {
  build <- function() {
    x <- input()
    outputs <- tf$keras$layers$Dense(1L)(tf$keras$layers$Lambda(function(x) x)(x))
    built <- tf$keras$Model(inputs = x, outputs = outputs)
    built$compile(optimizer = "sgd", loss = if (is.function(loss)) loss() else loss)
    built
  }
  keras_model_to_estimator(build, config = config)
}
one <- function() tf$keras$Input(shape = list(1L), name = "x")
two <- function() tf$keras$Input(shape = list(2L), name = "m")
tries(
  train(keras_of(one), input_dataset(of_slices(x = c(1, 2))), steps = 1),
  train(keras_of(one), input_fn(y ~ x, data), steps = 1),
  keras_of = keras_of,
  one = one,
  of_slices = of_slices
)
tries(
  {
    pair <- of_slices(features = list(x = c(1, 2), z = c(3, 4)), labels = c(1, 2))
    train(keras_of(two), input_dataset(pair), steps = 1)
  },
  {
    matrix <- of_slices(features = list(m = matrix(c(1, 2, 3, 4), 2)), labels = c(1, 2))
    train(keras_of(two), input_dataset(matrix), steps = 1)
    train(keras_of(two), input_fn(y ~ x + z, transform(data, z = x)), steps = 1)
  },
  keras_of = keras_of,
  two = two,
  of_slices = of_slices
)
weighted_model <- linear_regressor(column_numeric("x"))
tries(
  train(weighted_model, y ~ x, data = transform(data, w = seq_along(x) - 2), weights = w),
  train(weighted_model, y ~ x, data = transform(data, w = seq_along(x) - 1), weights = w),
  weighted_model = weighted_model
)
tries(
  train(weighted_model, y ~ x, data = transform(data, w = 0), weights = w),
  {
    train(weighted_model, y ~ x, data = transform(data, w = c(1, 0 * x[-1])), weights = w)
    train(linear_regressor(column_numeric("x")), y ~ x, data = transform(data, w = 0))
  },
  weighted_model = weighted_model
)
words_model <- keras_model_to_estimator(function() {
  x <- tf$keras$Input(shape = list(1L), name = "x", dtype = "string")
  codes <- tf$keras$layers$StringLookup(vocabulary = list("1", "2"))(x)
  weights <- tf$keras$layers$Embedding(3L, 1L)(codes)
  built <- tf$keras$Model(inputs = x, outputs = tf$keras$layers$Flatten()(weights))
  built$compile(optimizer = "sgd", loss = "mse")
  built
})
tries(
  train(words_model, y ~ x, data = data, steps = 1),
  train(words_model, y ~ x, data = transform(data, x = as.character(x)), steps = 1),
  words_model = words_model
)
tries(
  {
    parts <- run_config(micro_batches = 2)
    sum <- function() tf$keras$losses$MeanSquaredError(reduction = "sum")
    train(keras_of(one, sum, parts), y ~ x, data = data, steps = 1)
  },
  {
    mean <- function() tf$keras$losses$MeanSquaredError(reduction = "sum_over_batch_size")
    train(keras_of(one, mean, parts), y ~ x, data = data, steps = 1)
  },
  keras_of = keras_of,
  one = one
)

two_responses <- function(labels) {
  function() {
    slices <- list(features = list(x = c(1, 2)), labels = labels)
    tf$data$Dataset$from_tensor_slices(slices)$batch(2L)
  }
}
tries(
  {
    two_outputs <- keras_model_to_estimator(function() {
      keras <- reticulate::import("keras")
      x <- keras$Input(shape = list(1L), name = "x")
      outputs <- lapply(c("a", "b"), function(name) keras$layers$Dense(1L, name = name)(x))
      built <- keras$Model(inputs = x, outputs = outputs)
      built$compile(optimizer = "sgd", loss = list(a = "mse", b = "mse"))
      built
    })
    train(two_outputs, input_dataset(two_responses(list(a = c(1, 2)))), steps = 1)
  },
  train(two_outputs, input_dataset(two_responses(list(a = c(1, 2), b = c(3, 4)))), steps = 1),
  two_responses = two_responses
)

# Other models ------------------------------------------------------------------------------------

tries(
  {
    with_sum <- function(loss_reduction, loss) {
      model_fn <- function(features, labels) {
        w <- tf$compat$v1$get_variable("w", list())
        list(loss = loss((features$x * w - labels)^2), optimizer = "sgd")
      }
      config <- run_config(micro_batches = 2)
      train(
        estimator(model_fn, config = config, loss_reduction = loss_reduction),
        y ~ x,
        data = data,
        steps = 1
      )
    }
    with_sum("sum", sum)
  },
  {
    loss_reduction <- "sum_over_batch_size"
    with_sum(loss_reduction = "sum_over_batch_size", mean)
  }
)
tries(
  {
    column <- tf$feature_column$numeric_column("x")
    old <- function() {
      tf$compat$v1$estimator$LinearRegressor(list(column), model_dir = tempfile("model-"))
    }
    on <- function(...) distribute(old(), run_config(strategy_mirrored(2), ...))
    on(eval_distribute = strategy_mirrored(2))
  },
  {
    copy <- on(eval_distribute = NULL)
    read <- function() {
      rows <- reticulate::tuple(list(x = array(data$x)), array(data$y))
      tf$data$Dataset$from_tensor_slices(rows)$batch(2L)
    }
    copy$train(read, steps = 1L)
    copy$evaluate(read)
  }
)

# Exports -----------------------------------------------------------------------------------------

tries(
  export_savedmodel(model, tempfile(), input = input_dataset(labelled)),
  {
    export_savedmodel(model, tempfile(), input = input_fn(y ~ x, data))
    request <- function() {
      x <- tf$compat$v1$placeholder(tf$float32, list(NULL, 1L))
      tf$estimator$export$ServingInputReceiver(list(x = x), list(x = x))
    }
    export_savedmodel(model, tempfile(), serving_input_receiver_fn = request)
  },
  labelled = labelled
)
tries(
  {
    own <- estimator(function(features, labels) {
      w <- tf$compat$v1$get_variable("w", list())
      predicted <- features$x * w
      list(
        predictions = list(p = predicted),
        loss = if (!is.null(labels)) mean((predicted - labels)^2),
        optimizer = "sgd"
      )
    })
    train(own, input_dataset(labelled), steps = 1)
    export_savedmodel(own, tempfile())
  },
  {
    input <- input_fn(y ~ x, data)
    export_savedmodel(own, tempfile(), input = input)
  },
  labelled = labelled
)
tries(
  {
    precise <- column_bucketized(column_numeric("x", dtype = "float64"), boundaries = 2)
    both <- linear_regressor(feature_columns(column_numeric("x"), precise))
    train(both, y ~ x, data = data, steps = 1)
    export_savedmodel(both, tempfile())
  },
  export_savedmodel(both, tempfile(), input = input_fn(y ~ x, data))
)

# Files -------------------------------------------------------------------------------------------

folder <- withr::local_tempdir()
# The first file that `write` makes of data.
written <- function(write, data) {
  path <- tempfile("written", folder)
  write(input_fn(y ~ x, data), path)
  grep("[.](arrow|tfrecord)", list.files(path, full.names = TRUE), value = TRUE)[[1]]
}
tries(
  {
    arrow <- written(write_arrow, data)
    train(model, input_csv(arrow, response = "y"))
  },
  train(model, input_arrow(arrow, response = "y")),
  written = written
)
tries(
  {
    arrow <- written(write_arrow, data)
    train(model, input_parquet(arrow, response = "y"))
  },
  train(model, input_arrow(arrow, response = "y")),
  written = written
)
parquet <- function(...) {
  path <- tempfile("written", folder, ".parquet")
  table <- reticulate::import("pyarrow")$table(list(...))
  reticulate::import("pyarrow.parquet")$write_table(table, path)
  path
}
tries(
  {
    path <- parquet(x = list(1, 2), y = list(2, 4))
    train(model, input_csv(path, response = "y"))
  },
  train(model, input_parquet(path, response = "y")),
  parquet = parquet
)
tries(
  {
    paths <- c(parquet(x = list(1, 2), y = list(2, 4)), parquet(x = list(1L, 2L), y = list(2, 4)))
    train(model, input_parquet(paths, response = "y"))
  },
  train(model, input_parquet(paths, response = "y", types = list(x = "float"))),
  parquet = parquet
)
tries(
  {
    path <- written(write_tfrecord, data)
    bytes <- readBin(path, "raw", file.size(path))
    bytes[[length(bytes)]] <- xor(bytes[[length(bytes)]], as.raw(1))
    writeBin(bytes, path)
    columns <- list(x = "float32", y = "float32")
    train(model, input_tfrecord(path, response = "y", columns = columns))
  },
  train(model, input_tfrecord(path, response = "y", columns = columns, verify = FALSE)),
  written = written
)
tries(
  {
    raw <- function(decode) {
      function() {
        bytes <- tf$io$decode_base64(list("__4"))
        tf$data$Dataset$from_tensors(list(x = decode(bytes)))
      }
    }
    write_arrow(input_dataset(raw(identity)), tempfile(tmpdir = folder))
  },
  {
    decode <- function(bytes) tf$io$decode_raw(bytes, tf$uint8)
    write_arrow(input_dataset(raw(decode)), tempfile(tmpdir = folder))
  },
  folder = folder
)
tries(
  {
    wide <- file.path(folder, "wide.csv")
    names <- c("y", paste0("x", seq_len(100001)))
    lines <- c(paste(names, collapse = ","), paste(rep("1", length(names)), collapse = ","))
    writeLines(lines, wide)
    train(linear_regressor(column_numeric("x1")), input_csv(wide, response = "y"), steps = 1)
  },
  {
    input <- input_csv(wide, response = "y", features = "x1")
    train(linear_regressor(column_numeric("x1")), input, steps = 1)
    rows <- list(x = matrix(1, 2, 3), y = c(1, 2))
    write_arrow(input_fn(y ~ x, rows), tempfile(tmpdir = folder))
  },
  folder = folder
)
