line <- function(features, labels, mode, params) {
  rlang::abort("Describing calls no model function.")
}

test_that("a model of one's own is a plain value that starts no Python", {
  model <- estimator(line, model_dir = "/runs/line", params = list(rate = 0.1, units = c(4, 2)))
  expect_s3_class(
    model,
    c("tfdistribute_custom_estimator", "tfdistribute_estimator", "tf_estimator"),
    exact = TRUE
  )
  expect_identical(model$model_fn, line)
  expect_identical(model$params, list(rate = 0.1, units = c(4, 2)))
  expect_identical(model_dir(model), "/runs/line")
  file <- withr::local_tempfile()
  saveRDS(model, file)
  read <- readRDS(file)
  expect_equal(read[names(read) != "model_fn"], model[names(model) != "model_fn"])
  expect_identical(body(read$model_fn), body(line))
})

test_that("a class goes before the package's own", {
  model <- estimator(line, class = c("line", "curve"))
  expect_identical(
    class(model),
    c("line", "curve", "tfdistribute_custom_estimator", "tfdistribute_estimator", "tf_estimator")
  )
  expect_identical(as_wire(model)$model_class, list("line", "curve"))
})

test_that("printing shows the function's arguments and the parameters' names", {
  expect_snapshot({
    estimator(line, model_dir = "/runs/line", params = list(rate = 0.1, units = 3))
    estimator(
      function(features, ...) NULL,
      "/runs/line",
      config = run_config(strategy_mirrored(2)),
      loss_reduction = "sum"
    )
  })
})

test_that("arguments that cannot be used are refused by name", {
  expect_snapshot(error = TRUE, {
    estimator("line")
    estimator(function(features, targets) NULL)
    estimator(function(labels, mode) NULL)
    estimator(line, params = 3)
    estimator(line, class = 3)
    estimator(line, config = list())
    estimator(line, loss_reduction = "mean")
  })
})

test_that("arguments with a default, and dots, need not be known", {
  expect_silent(estimator(function(features, units = 3L) NULL))
  expect_silent(estimator(function(...) NULL))
})

test_that("an R function's params stay in R, and it is given what it takes", {
  skip_if_no_tensorflow()
  params <- list(formula = y ~ x, nothing = NULL)
  called <- function(model_fn) {
    call <- model_fn_wire(model_fn, params)
    call(list(x = 1), 2, "train", "config")
  }
  seen <- NULL
  called(function(features, params) {
    seen <<- list(features, params)
    list(loss = NULL)
  })
  expect_identical(seen, list(as_features(list(x = 1)), params))
  called(function(...) {
    seen <<- list(...)
    list(loss = NULL)
  })
  expect_identical(
    seen,
    list(
      features = as_features(list(x = 1)),
      labels = 2,
      mode = "train",
      params = params,
      config = "config"
    )
  )
  expect_null(as_wire(estimator(line, params = params))$params)
})

test_that("a specification keeps what it is given, and prints its parts", {
  hook <- hook_stop_at_step(last_step = 3)
  spec <- estimator_spec("train", training_hooks = hook, optimizer = "adam")
  expect_s3_class(spec, "tfdistribute_estimator_spec")
  expect_identical(spec$training_hooks, list(hook))
  expect_s3_class(spec$optimizer, "tfdistribute_optimizer")
  expect_output(print(spec), "<estimator_spec> train: training_hooks, optimizer", fixed = TRUE)
})

test_that("what is no part of a specification is refused by name", {
  expect_snapshot(error = TRUE, {
    estimator_spec("training")
    estimator_spec("train", loss = 3)
    estimator_spec("train", predictions = list(1, 2))
    estimator_spec("eval", eval_metric_ops = list(1))
    estimator_spec("train", training_hooks = "stop")
    estimator_spec("train", solver = "adam")
    estimator_spec("train", optimizer = "adm")
    spec_wire(3, "train")
    spec_wire(list(1), "train")
  })
})

test_that("a list becomes a specification; its optimizer matters in training only", {
  wire <- spec_wire(list(loss = NULL, optimizer = list("sgd", learning_rate = 1)), "train")
  expect_identical(wire$mode, "train")
  expect_identical(wire$optimizer$settings, list(learning_rate = 1))
  expect_null(spec_wire(list(loss = NULL, optimizer = "sgd"), "eval")$optimizer)
})
