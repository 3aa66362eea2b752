# Errors whose remedies start processes, each with the code of its remedy.

tries(
  launch(model, train_spec(input_fn(y ~ x, data, batch_size = 2, epochs = NULL), max_steps = 2)),
  {
    pair <- linear_regressor(column_numeric("x"), model_dir = tempfile())
    spec <- train_spec(input_fn(y ~ x, data, batch_size = 2, epochs = NULL), max_steps = 2)
    launch(pair, spec, cluster = local_cluster(workers = 2))
    train(model, input_fn(y ~ x, data))
  }
)
tries(
  {
    forked <- parallel::mclapply(1:2, function(each) {
      tryCatch(predict(model, data), error = identity)
    })
    stop(forked[[1]])
  },
  {
    train(model, y ~ x, data = data)
    path <- tempfile()
    save_estimator(model, path)
    predicted <- function(path, data) {
      model <- tfdistribute::load_estimator(path)
      predict(model, data)
    }
    callr::r(predicted, list(path, data))
    function() future::plan(future::multisession)
  }
)
