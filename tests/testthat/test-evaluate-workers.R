# Evaluation and prediction by the processes of a local cluster.

test_that("what the workers of a cluster cannot do is refused before they start", {
  model <- wt_regressor()
  cars <- cars_input()
  expect_snapshot(error = TRUE, {
    evaluate(model, cars, cluster = 2)
    evaluate(model, cars, cluster = address_cluster(chief = "localhost:2222"))
    evaluate(model, cars, steps = 3, cluster = local_cluster(2))
    predict(model, cars, as_iterable = TRUE, cluster = local_cluster(2))
  })
  skip_if_no_tensorflow()
  from_function <- function() tf$data$Dataset$range(3L)
  expect_snapshot(error = TRUE, {
    evaluate(model, from_function, cluster = local_cluster(2))
    predict(model, from_function, cluster = local_cluster(2))
  })
})

test_that("two workers evaluate and predict as one process, and a lost one repeats its rows", {
  skip_if_no_tensorflow("check-all")
  killed <- withr::local_tempfile()
  model_fn <- function(features, labels, mode, params) {
    dense <- tf$compat$v1$layers$dense
    logits <- tf$squeeze(dense(tf$expand_dims(features$x, 1L), 1L), 1L)
    probability <- tf$sigmoid(logits)
    if (mode == "infer") {
      return(list(predictions = list(probability = probability)))
    }
    is_worker <- grepl("\"type\": *\"worker\"", Sys.getenv("TF_CONFIG"))
    if (is_worker && !file.exists(params$killed)) {
      file.create(params$killed)
      tools::pskill(Sys.getpid(), tools::SIGKILL)
    }
    each <- tf$nn$sigmoid_cross_entropy_with_logits(labels = labels, logits = logits)
    list(
      loss = tf$reduce_mean(each),
      optimizer = "sgd",
      eval_metric_ops = list(
        auc = tf$compat$v1$metrics$auc(labels, probability),
        rmse = tf$compat$v1$metrics$root_mean_squared_error(labels, probability)
      )
    )
  }
  # A prime number of rows.
  rows <- withr::with_seed(1, data.frame(x = stats::rnorm(37), noise = stats::rnorm(37)))
  rows$y <- as.double(rows$x + rows$noise > 0)
  input <- input_fn(y ~ x, rows, batch_size = 4)
  model <- estimator(
    model_fn,
    params = list(killed = killed),
    model_dir = withr::local_tempdir(),
    config = run_config(strategy_multi_worker(), cluster = local_cluster(3))
  )
  alone <- model
  alone$config <- run_config()
  withr::local_options(tfdistribute.progress = FALSE)
  train(alone, input)
  one <- evaluate(model, input)
  expect_message(
    two <- evaluate(model, input, cluster = local_cluster(2, ps = 1)),
    "worker 0 restarts (restart 1 of 3)",
    fixed = TRUE
  )
  expect_true(file.exists(killed))
  expect_identical(two$auc, one$auc)
  expect_equal(two, one, tolerance = 1e-6)
  expect_equal(training_history(model)$evaluations$loss, two$loss)

  if (checks_all()) {
    predicted <- predict(model, newdata = rows["x"], batch_size = 4, cluster = local_cluster(2))
    expect_equal(predicted, predict(model, newdata = rows["x"], batch_size = 4), tolerance = 1e-6)
  }
})
