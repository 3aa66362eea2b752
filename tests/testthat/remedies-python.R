# Errors of Python about settings, responses and models on disk, each with the code of its remedy.

# Settings ----------------------------------------------------------------------------------------

planned <- function(...) {
  linear_regressor(column_numeric("x"), config = run_config(...))
}
tries(
  train(planned(strategy_multi_worker()), y ~ x, data = data),
  {
    train(planned(strategy_mirrored()), y ~ x, data = data, steps = 1)
    config <- run_config(strategy_multi_worker(), cluster = local_cluster(workers = 2))
    pair <- linear_regressor(column_numeric("x"), config = config)
    plan_training(pair, train_spec(input_fn(y ~ x, data, batch_size = 2)))
  },
  planned = planned
)
tries(
  plan_training(planned(strategy_mirrored(), cluster = local_cluster(2))),
  {
    spec <- train_spec(input_fn(y ~ x, data, batch_size = 2))
    plan_training(planned(strategy_mirrored()), spec, cluster = local_cluster(2), strategy = NULL)
  },
  planned = planned
)
tries(
  train(planned(strategy_multi_worker("nccl"), cluster = local_cluster(2)), y ~ x, data = data),
  plan_training(
    planned(strategy_multi_worker(communication = "auto"), cluster = local_cluster(2)),
    train_spec(input_fn(y ~ x, data, batch_size = 2))
  ),
  planned = planned
)
tries(
  train(
    planned(strategy_mirrored(2), session_config = list(device_count = list(CPU = "two"))),
    y ~ x,
    data = data
  ),
  train(
    planned(strategy_mirrored(2), session_config = list(device_count = list(CPU = 2))),
    y ~ x,
    data = data,
    steps = 1
  ),
  planned = planned
)
tries(
  train(model, input_fn(y ~ x, data, epochs = NULL)),
  {
    train(model, input_fn(y ~ x, data, epochs = NULL), steps = 1)
    train(model, input_fn(y ~ x, data, epochs = 1))
  }
)
tries(
  train(model, y ~ x, data = data, hooks = hook_early_stopping(data = "evaluation")),
  {
    train(
      model,
      y ~ x,
      data = data,
      hooks = hook_early_stopping(monitor = "loss", data = "training")
    )
    hooks <- hook_early_stopping(data = "evaluation")
    train_and_evaluate(
      model,
      train_spec(input_fn(y ~ x, data), hooks = hooks),
      eval_spec(input_fn(y ~ x, data))
    )
  }
)

tries(
  {
    Sys.setenv(
      TF_CONFIG = as_tf_config(address_cluster(
        chief = "127.0.0.1:2222",
        worker = "127.0.0.1:2223"
      ))[[1]]
    )
    train(planned(strategy_mirrored()), y ~ x, data = data)
  },
  {
    Sys.unsetenv("TF_CONFIG")
    train(planned(strategy_mirrored()), y ~ x, data = data, steps = 1)
    train(planned(strategy = NULL), y ~ x, data = data, steps = 1)
  },
  planned = planned
)
tries(
  {
    pair <- planned(strategy_mirrored(2), eval_distribute = strategy_mirrored(2))
    train(pair, y ~ x, data = data, steps = 1)
    evaluate(pair, input_fn(y ~ x, data, batch_size = 3))
  },
  {
    pair <- planned(strategy_mirrored(2), eval_distribute = NULL)
    train(pair, y ~ x, data = data, steps = 1)
    evaluate(pair, input_fn(y ~ x, data, batch_size = 3))
  },
  planned = planned
)

# Responses ---------------------------------------------------------------------------------------

tries(train(model, input_fn(data, features = x)), {
  train(model, input_fn(data, features = x, response = y))
  train(model, input_fn(y ~ x, data))
})
four <- data.frame(x = 1:4, y = factor(c("a", "b", "c", "a")))
tries(
  train(linear_classifier(column_numeric("x")), y ~ x, data = four),
  {
    train(linear_classifier(column_numeric("x"), n_classes = 3), y ~ x, data = four, steps = 1)
    train(linear_classifier(column_numeric("x")), y ~ x, data = droplevels(four[-3, ]), steps = 1)
  },
  four = four
)
tries(
  train(linear_regressor(column_numeric("x")), y ~ x, data = four),
  train(linear_regressor(column_numeric("x")), input_fn(y ~ x, four, factors = "codes"), steps = 1),
  four = four
)
tries(
  {
    coded <- transform(four, y = c(0L, 1L, 2L, 3L))
    train(linear_classifier(column_numeric("x")), y ~ x, data = coded)
  },
  {
    train(linear_classifier(column_numeric("x"), n_classes = 4), y ~ x, data = coded, steps = 1)
    train(linear_classifier(column_numeric("x"), n_classes = 3), y ~ x, data = four, steps = 1)
  },
  four = four
)

# Models on disk ----------------------------------------------------------------------------------

tries(
  predict(linear_regressor(column_numeric("x")), data),
  {
    train(model, y ~ x, data = data)
    predict(linear_regressor(column_numeric("x"), model_dir = model$model_dir), data)
  }
)
tries(
  evaluate(model, data, checkpoint_path = file.path(model$model_dir, "model.ckpt-9999")),
  evaluate(model, data, checkpoint_path = latest_checkpoint(model))
)
tries(
  linear_regressor(column_numeric("x"), warm_start_from = "nowhere") |> train(y ~ x, data = data),
  {
    columns <- feature_columns(column_numeric("x"))
    from <- latest_checkpoint(model)
    train(linear_regressor(columns, warm_start_from = from), y ~ x, data = data, steps = 1)
    train(
      linear_regressor(columns, warm_start_from = model$model_dir),
      y ~ x,
      data = data,
      steps = 1
    )
  }
)
tries(
  variable_value(model, "weight"),
  variable_value(model, variable_names(model)[[1]])
)
tries(
  {
    save_estimator(model, path)
    save_estimator(model, path)
  },
  save_estimator(model, path, overwrite = TRUE),
  path = tempfile()
)
tries(evaluate(model), evaluate(model, input_fn(y ~ x, data)))

tries(
  {
    with_code <- estimator(function(features, labels) {
      w <- tf$compat$v1$get_variable("w", list())
      list(loss = mean((features$x * w - labels)^2), optimizer = "sgd")
    })
    train(with_code, y ~ x, data = data, steps = 1)
    save_estimator(with_code, path)
    load_estimator(path)
  },
  load_estimator(path, trusted = TRUE),
  path = tempfile()
)
tries(
  export_keras_model(model, "a.h5"),
  export_savedmodel(model, tempfile())
)
