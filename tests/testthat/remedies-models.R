# Errors of estimators, feature columns and hooks, each with the code of its remedy. They start no Python.

tries(
  dnn_regressor(4, column_categorical_with_hash_bucket("word", hash_bucket_size = 9)),
  {
    word <- column_categorical_with_hash_bucket("word", hash_bucket_size = 9)
    dnn_regressor(4, column_indicator(word))
    dnn_regressor(4, column_embedding(word, dimension = 2))
  }
)
tries(
  train(
    linear_classifier(column_numeric("x"), n_classes = 4, label_vocabulary = c("a", "b", "c")),
    y ~ x,
    data = data.frame(x = 1, y = "a")
  ),
  linear_classifier(column_numeric("x"), n_classes = 3, label_vocabulary = c("a", "b", "c"))
)
tries(
  dnn_regressor(column_numeric("x"), c(64, 32)),
  dnn_regressor(hidden_units = c(64, 32), feature_columns = column_numeric("x"))
)
tries(
  linear_regressor(column_numeric("x"), warm_start_from = list(dir = "a")),
  linear_regressor(column_numeric("x"), warm_start_from = list(ckpt_to_initialize_from = "a"))
)
tries(
  linear_regressor(column_numeric("x"), optimizer = list("adam", 0.01)),
  linear_regressor(column_numeric("x"), optimizer = list("adam", learning_rate = 0.01))
)
tries(
  linear_regressor(column_numeric("x"), learning_rate = 0.01),
  linear_regressor(column_numeric("x"), optimizer = list("adam", learning_rate = 0.01))
)
tries(
  dnn_linear_combined_regressor(column_numeric("x"), learning_rate = 0.01),
  dnn_linear_combined_regressor(
    linear_feature_columns = column_numeric("x"),
    dnn_optimizer = list("adam", learning_rate = 0.01)
  )
)
tries(save_estimator(1, "a"), dnn_regressor(4, column_numeric("x")))
tries(
  column_categorical_with_vocabulary_list("x"),
  {
    x <- factor(c("a", "b"))
    column_categorical_with_vocabulary_list("x", vocabulary_list = levels(x))
  }
)
tries(
  column_indicator(column_numeric("x")),
  {
    column <- column_bucketized(column_numeric("x"), boundaries = 1)
    column_indicator(column)
    column_indicator(column_crossed(c("a", "b"), hash_bucket_size = 9))
  }
)
tries(
  column_crossed(list(column_numeric("x"), "y"), hash_bucket_size = 9),
  column_crossed(
    list(column_bucketized(column_numeric("x"), boundaries = 1), "y"),
    hash_bucket_size = 9
  )
)
tries(
  column_bucketized(column_numeric("x", shape = c(2, 2)), boundaries = 1),
  column_bucketized(column_numeric("x"), boundaries = 1)
)
tries(
  column_embedding("am", dimension = 2),
  {
    column_embedding(
      column_categorical_with_hash_bucket("am", hash_bucket_size = 100),
      dimension = 2
    )
    column_embedding(column_categorical_with_identity("am", num_buckets = 10), dimension = 2)
  }
)
tries(linear_regressor("wt"), linear_regressor(column_numeric("wt")))
tries(linear_regressor(1), linear_regressor(column_numeric("wt")))
tries(
  column_crossed(c("education", column_numeric("x")), hash_bucket_size = 9),
  {
    column <- column_bucketized(column_numeric("x"), boundaries = 1)
    column_crossed(c(column, "education"), hash_bucket_size = 9)
    column_crossed(list("education", column), hash_bucket_size = 9)
  }
)
tries(
  feature_columns(y ~ x),
  {
    data <- data.frame(y = 1:2, x = 3:4, d = 5:6)
    feature_columns(names = data, starts_with("d") ~ column_numeric())
    feature_columns(y ~ ., data)
  }
)
tries(
  column_numeric(starts_with("d")),
  {
    data <- data.frame(y = 1:2, d = 5:6)
    feature_columns(names = data, column_numeric(starts_with("d")))
    scoped_columns(data)
    column_numeric(starts_with("d"))
  }
)
tries(
  column_categorical_with_hash_bucket("city", 1000),
  column_categorical_with_hash_bucket("city", hash_bucket_size = 1000)
)
tries(
  hook_early_stopping(monitor = "val_loss"),
  hook_early_stopping(monitor = "loss", data = "evaluation")
)
tries(
  train_spec(input_fn(mpg ~ wt, mtcars), hooks = list(1)),
  train_spec(input_fn(mpg ~ wt, mtcars), hooks = hook_early_stopping())
)
tries(
  {
    x <- "\xe4"
    column_numeric(x)
  },
  column_numeric(iconv(x, "latin1", "UTF-8"))
)
tries(
  linear_regressor(column_numeric("x"), model_dir = "a*"),
  linear_regressor(column_numeric("x"), model_dir = "b")
)
tries(
  train(
    linear_classifier(column_numeric("x"), n_classes = 3, label_vocabulary = c("a", "b", "b")),
    y ~ x,
    data = data.frame(x = 1, y = "a")
  ),
  linear_classifier(column_numeric("x"), n_classes = 3, label_vocabulary = c("a", "b", "c"))
)
tries(
  dnn_linear_combined_regressor(),
  dnn_linear_combined_regressor(linear_feature_columns = column_numeric("x"))
)
tries(
  estimator(function(features, rate) NULL),
  estimator(function(features, params) params$rate, params = list(rate = 1))
)
tries(estimator(function(labels) NULL), estimator(function(features, labels) NULL))
tries(
  training_loop(function(params) NULL, function(parts, rows) NULL),
  training_loop(function(params) NULL, function(parts, features, labels, step) NULL)
)
tries(keras_model_to_estimator(), keras_model_to_estimator(function() NULL))
tries(
  keras_model_to_estimator("model.keras"),
  keras_model_to_estimator(keras_model_path = "gs://bucket/model.keras")
)
tries(keras_model_to_estimator(1), keras_model_to_estimator(function() NULL))
tries(keras_model_to_estimator(function(units) NULL), keras_model_to_estimator(function() NULL))
tries(
  linear_regressor(column_numeric("x"), optimizer = list("adam", rate = 1)),
  linear_regressor(column_numeric("x"), optimizer = list("adam", beta_1 = 0.8))
)
tries(
  linear_regressor(column_numeric("x"), model_dir = "a", config = run_config(model_dir = "b")),
  linear_regressor(column_numeric("x"), config = run_config(model_dir = "b"))
)
tries(
  column_embedding(
    column_categorical_with_identity("x", num_buckets = 3),
    dimension = 2,
    tensor_name_in_ckpt = "w"
  ),
  column_embedding(
    column_categorical_with_identity("x", num_buckets = 3),
    dimension = 2,
    tensor_name_in_ckpt = "w",
    ckpt_to_load_from = "model"
  )
)
tries(
  column_categorical_with_vocabulary_list(
    "x",
    vocabulary_list = "a",
    default_value = 0,
    num_oov_buckets = 2
  ),
  column_categorical_with_vocabulary_list("x", vocabulary_list = "a", num_oov_buckets = 2)
)
tries(linear_regressor(list()), linear_regressor(column_numeric("x")))
tries(
  linear_regressor(list(column_numeric("x"), column_numeric("x"))),
  linear_regressor(list(column_numeric("x")))
)
tries(
  linear_regressor(list(column_numeric("a b"), column_numeric("a_b"))),
  linear_regressor(list(column_numeric("a b"), column_numeric("a_c")))
)
tries(hook_summary_saver(), hook_summary_saver(every_n_steps = 1))
tries(
  hook_summary_saver(every_n_steps = 1, every_s = 1),
  hook_summary_saver(every_s = 1)
)
tries(
  hook_logging_tensor(c(a = "x", a = "y"), every_n_steps = 1),
  hook_logging_tensor(c(a = "x", b = "y"), every_n_steps = 1)
)
tries(
  example_spec(list(
    column_numeric("x"),
    column_crossed(c("x", "y"), hash_bucket_size = 9)
  )),
  example_spec(list(
    column_numeric("x"),
    column_crossed(
      list(column_bucketized(column_numeric("x"), boundaries = 1), "y"),
      hash_bucket_size = 9
    )
  ))
)
tries(
  regressor_parse_example_spec(column_numeric("x"), label_key = "x"),
  regressor_parse_example_spec(column_numeric("x"), label_key = "y")
)
tries(
  column_bucketized(column_numeric("x"), boundary = 1),
  column_bucketized(column_numeric("x"), boundaries = 1)
)
tries(column_numeric(x, dtypes = "int32"), column_numeric(x, dtype = "int32"))
tries(column_numeric(), column_numeric("x"))
tries(
  with_columns("x", column_numeric("y")),
  with_columns("x", column_numeric("x"))
)
tries(
  with_columns("x", column_numeric()),
  with_columns("x", column_numeric("x"))
)
tries(
  estimator_spec("infer", optimiser = "adam"),
  estimator_spec("infer", optimizer = "adam")
)
