# Errors of verbs and of what they read, each with the code of its remedy. `model` is trained on `data`, whose columns
# are `x` and `y`, and `untrained` is not trained.

# Data that verbs take ----------------------------------------------------------------------------

tries(train(untrained, data), train(model, y ~ x, data = data))
tries(
  train(untrained, y ~ x, input_fn(y ~ x, data)),
  {
    input <- input_fn(y ~ x, data)
    train(model, input)
  }
)
tries(train(model), train(model, input_fn(y ~ x, data)))
tries(train(model, as.name("a")), train(model, input_fn(y ~ x, data)))
tries(evaluate(model), evaluate(model, input_fn(y ~ x, data)))
tries(predict(model), predict(model, input_fn(y ~ x, data)))
tries(
  train(model, input_fn(y ~ x, data), newdata = data),
  {
    newdata <- data
    train(model, y ~ x, data = newdata)
  }
)
tries(
  train(model, input_fn(y ~ x, data), callbacks = list()),
  train(model, input_fn(y ~ x, data), hooks = hook_early_stopping(patience_steps = 500))
)
tries(
  train(model, x = data, y = data$y),
  {
    train(model, y ~ x, data = data)
    train(model, input_fn(y ~ x, data))
  }
)
tries(
  train(model, y ~ x, data = data, learning_rate = 0.01),
  linear_regressor(column_numeric("x"), optimizer = list("adam", learning_rate = 0.01))
)
tries(
  train(model, y ~ x, data = data, subset = x > 0),
  train(model, y ~ x, data = data[data$x > 0, ])
)
tries(
  train(model, input_fn(y ~ x, data), batch_size = 2),
  train(model, input_fn(y ~ x, data, batch_size = 2))
)
tries(
  train(model, y ~ x, data = data, verbose = 0),
  {
    old <- options(tfdistribute.progress = FALSE)
    train(model, y ~ x, data = data)
    options(old)
  }
)
for (argument in c("validation_data", "validation_split")) {
  tries(
    do.call(train, stats::setNames(list(model, input_fn(y ~ x, data), 0.2), c("", "", argument))),
    train_and_evaluate(
      model,
      train_spec(input_fn(y ~ x, data)),
      eval_spec(input_fn(y ~ x, data))
    ),
    argument = argument
  )
}
tries(
  train_and_evaluate(model, data = data),
  train_and_evaluate(model, train_spec(input_fn(y ~ x, data)), eval_spec(input_fn(y ~ x, data)))
)
tries(
  train_and_evaluate(model, train_spec(input_fn(y ~ x, data)), validation_data = data),
  train_and_evaluate(model, train_spec(input_fn(y ~ x, data)), eval_spec(input_fn(y ~ x, data)))
)
tries(
  train_and_evaluate(model),
  train_and_evaluate(model, train_spec(input_fn(y ~ x, data)), eval_spec(input_fn(y ~ x, data)))
)
tries(
  train_and_evaluate(model, train_spec(input_fn(y ~ x, data))),
  train_and_evaluate(model, train_spec(input_fn(y ~ x, data)), eval_spec(input_fn(y ~ x, data)))
)
tries(predict(model, data, type = "prob"), predict(model, data))
tries(predict(classifier, data, type = "quantile"), predict(classifier, data))
tries(
  predict(model, data, type = "response", as_iterable = TRUE),
  predict(model, data, type = "response")
)
tries(input_dataset(data), train(model, input_fn(y ~ x, data)))
tries(
  input_fn(function() NULL),
  input_dataset(function() tf$data$Dataset$range(5L)$batch(2L))
)
tries(
  input_fn(y ~ x, data, transform = function(x) x),
  {
    input_fn(y ~ x, data, transform = function(features, labels) list(features, labels))
    input_fn(y ~ x, data, transform = function(features) features)
  }
)
tries(
  input_csv("a.csv", features = x),
  input_csv("a.csv", features = "x")
)
tries(
  input_tfrecord("a.tfrecord", columns = list(x = "flot32")),
  input_tfrecord("a.tfrecord", columns = list(x = "float32[28, 28]"))
)

# What a model returns ----------------------------------------------------------------------------

tries(
  coef(dnn),
  {
    names <- variable_names(dnn)
    variable_value(dnn, names[[1]])
  }
)
tries(fitted(model), predict(model, newdata = data)$predictions)
tries(residuals(model), residuals(model, data))
tries(
  train(tabular_regressor(), y ~ x, data = data, epochs = 20),
  tabular_regressor(epochs = 20, batch_size = 256)
)
tries(
  train(tabular_regressor(), y ~ x, data = data[1, ]),
  train(tabular_regressor(epochs = 20), y ~ x, data = data[1, ])
)
tries(
  train(linear_classifier(column_numeric("x")), y ~ x, data = data.frame(x = 1:2, y = c(0.5, 1))),
  train(
    linear_classifier(column_numeric("x"), label_vocabulary = c("0.5", "1")),
    factor(y) ~ x,
    data = data.frame(x = 1:2, y = c(0.5, 1))
  )
)
tries(
  train(tabular_regressor(), y ~ x, data = data, validation = 0.2),
  tabular_regressor(validation = 0.2)
)
tries(
  train(model, y ~ x, data = data, validation = data),
  {
    tabular_regressor()
    input <- input_fn(y ~ x, data)
    train_and_evaluate(
      model,
      train_spec(
        input,
        hooks = hook_early_stopping("loss", patience_steps = 9, data = "evaluation")
      ),
      eval_spec(input)
    )
  }
)
tries(
  tfdistribute_fit(
    Matrix::Matrix(diag(4), sparse = TRUE, dimnames = list(NULL, 1:4)),
    1:4,
    hidden_units = 2
  ),
  {
    x <- Matrix::Matrix(diag(4), sparse = TRUE)
    dense <- as.matrix(x)
    column_embedding(feature_columns(~x, list(x = x)), dimension = 2)
    dnn_regressor(2, column_numeric("x"))
    dnn_classifier(2, column_numeric("x"))
  }
)
tries(
  train(tabular_regressor(), y ~ x, list(x = Matrix::Matrix(diag(4), sparse = TRUE), y = data$y)),
  {
    x <- Matrix::Matrix(diag(4), sparse = TRUE)
    dense <- as.matrix(x)
    column_embedding(feature_columns(~x, list(x = x)), dimension = 2)
    dnn_regressor(2, column_numeric("x"))
    dnn_classifier(2, column_numeric("x"))
  }
)
tries(
  install_tfdistribute("unused", requirements = file.path(path, "none"), gpu = FALSE, ask = FALSE),
  {
    withr::local_dir(dirname(path))
    write_requirements(model, "requirements.txt")
  },
  path = tempfile()
)
tries(nobs(model), nrow(data))
tries(update(model), train(model, y ~ x, data = data))
tries(generics::augment(model, 1), generics::augment(model, data))
tries(
  generics::tidy(tfdistribute_mlp(data["x"], data$y, epochs = 1)),
  generics::glance(tfdistribute_mlp(data["x"], data$y, epochs = 1))
)
tries(
  {
    writeLines("model", path)
    load_estimator(path)
  },
  {
    save_estimator(model, path, overwrite = TRUE)
    load_estimator(path)
  },
  path = tempfile()
)
tries(
  as_python(hook_progress_bar()),
  {
    train(model, input_fn(y ~ x, data), hooks = hook_progress_bar())
    train_spec(input_fn(y ~ x, data), hooks = hook_progress_bar())
  }
)

# Plans, clusters and streams ----------------------------------------------------------------------

tries(
  check_cluster(),
  {
    check_cluster(address_cluster(chief = "127.0.0.1:2222"))
    check_cluster(local_cluster(workers = 2))
    check_cluster(as_tf_config(address_cluster(chief = "127.0.0.1:2222"))[[1]])
  }
)
tries(
  write_manifest(model, train_spec(input_fn(y ~ x, data))),
  {
    on <- function(config) {
      linear_regressor(column_numeric("x"), model_dir = "gs://bucket/model", config = config)
    }
    spec <- train_spec(input_fn(y ~ x, data, batch_size = 2, epochs = NULL), max_steps = 1)
    kubernetes <- run_config(cluster = kubernetes_cluster(image = "a", workers = 2))
    write_manifest(on(kubernetes), spec, path = tempfile())
    vertex <- vertex_cluster(
      project = "project",
      location = "europe-west4",
      image = "a",
      staging = "gs://b/c",
      workers = 2
    )
    write_manifest(on(run_config(cluster = vertex)), spec, path = tempfile())
  }
)
tries(
  write_manifest(model),
  {
    cluster <- kubernetes_cluster(image = "a", workers = 2)
    config <- run_config(cluster = cluster)
    there <- linear_regressor(column_numeric("x"), model_dir = "gs://bucket/model", config = config)
    spec <- train_spec(input_fn(y ~ x, data, batch_size = 2, epochs = NULL), max_steps = 1)
    write_manifest(there, spec, path = tempfile())
  }
)

tries(as_tf_config(local_cluster(2), "worker 0"), as_tf_config(local_cluster(2)))
tries(train(model, input_fn(y ~ x, data), data = data), train(model, y ~ x, data = data))
tries(evaluate(model, input_fn(y ~ x, data), data = data), evaluate(model, input_fn(y ~ x, data)))
tries(
  tfdistribute:::abort_no_description("cars.tfd", simpleError("it is not of an estimator.")),
  {
    save_estimator(model, path)
    load_estimator(path)
  },
  path = tempfile()
)
tries(
  {
    keras_model <- tf$keras$Sequential(list(tf$keras$layers$Dense(1L, activation = function(x) x)))
    keras_model$compile(optimizer = "sgd", loss = "mse")
    keras_model_to_estimator(keras_model)
  },
  {
    keras_model <- function() {
      layer <- tf$keras$layers$Dense(1L, activation = function(x) x, input_shape = list(1L))
      built <- tf$keras$Sequential(list(layer))
      built$compile(optimizer = "sgd", loss = "mse")
      built
    }
    train(keras_model_to_estimator(keras_model), y ~ x, data = data, steps = 1)
  }
)
tries(
  linear_regressor(column_numeric("x"), config = as_python(run_config())),
  linear_regressor(column_numeric("x"), config = run_config(strategy_mirrored(), seed = 1))
)
tries(train(data, model), train(model, y ~ x, data = data))
tries(
  evaluate(model, input_fn(y ~ x, data), steps = 1, cluster = local_cluster(2)),
  evaluate(model, input_fn(y ~ x, data), steps = 1)
)
tries(
  predict(model, data, as_iterable = TRUE, cluster = local_cluster(2)),
  predict(model, data, as_iterable = TRUE)
)
tries(
  tfdistribute_fit(matrix(c(1, 2, 3, 4), 2), c(1, 2)),
  tfdistribute_fit(
    matrix(c(1, 2, 3, 4), 2, dimnames = list(NULL, c("a", "b"))),
    c(1, 2),
    epochs = 1
  )
)
batch <- function(returned) {
  function() {
    left <- list(returned)
    function() {
      batch <- if (length(left) > 0) left[[1]]
      left <<- list()
      batch
    }
  }
}
for (wrong in list(list(x = 1), list(x = NA, y = 1), 3, list(1, 2))) {
  tries(
    train(model, input_generator(batch(wrong), response = "y", features = "x")),
    train(model, input_generator(batch(data), response = "y", features = "x")),
    batch = batch,
    wrong = wrong
  )
}
tries(
  distribute(structure(list(estimator = 3), class = "tf_estimator"), run_config()),
  distribute(model, run_config())
)
tries(
  train(untrained, y ~ x, data = data.frame(x = NA_real_, y = 1:2), impute = "median"),
  train(untrained, y ~ x, data = data.frame(x = NA_real_, y = 1:2), impute = list(x = 0))
)
tries(predict(model, newdata = data.frame(z = 1)), predict(model, newdata = data.frame(x = 1)))
tries(
  {
    labels <- linear_regressor(feature_columns(y ~ f:x, levels))
    train(labels, y ~ f:x, data = levels)
    predict(labels, newdata = data.frame(f = "c", x = 1))
  },
  predict(labels, newdata = data.frame(f = c("a", "b"), x = 1)),
  levels = data.frame(f = c("a", "b"), x = 1:2, y = 1:2)
)
tries(
  {
    double <- function(x) 2 * x
    own <- linear_regressor(feature_columns(y ~ double(x), data))
    train(own, y ~ double(x), data = data)
    save_estimator(own, path)
    load_estimator(path)
  },
  {
    load_estimator(path, trusted = TRUE)
    double(1)
  },
  path = tempfile()
)
tries(
  {
    rows <- reticulate::import("tensorflow")$data$Dataset$from_tensor_slices(data)$batch(2L)
    input_fn(y ~ log(x), rows)
  },
  column_crossed(c("a", "b"), hash_bucket_size = 9)
)
