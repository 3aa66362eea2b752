test_that("an error in a model function of R arrives as raised, with its line", {
  skip_if_no_tensorflow()
  found <- in_child_r(function() {
    line <- function(features, labels, mode) {
      x <- tf$reshape(features$wt, c(-1L, 1L))
      output <- tf$squeeze(tf$compat$v1$layers$dense(x, 1L), 1L)
      list(
        predictions = output,
        loss = if (mode != "infer") tf$compat$v1$losses$mean_squared_error(labels, output),
        optimizer = "sgd"
      )
    }
    replica <- function() {
      replica <- tf$distribute$get_replica_context()$replica_id_in_sync_group
      as.integer(tf$get_static_value(replica))
    }
    broken <- list(
      base = function(features, labels, mode) stop("no good {braces}"),
      rlang = function(features, labels, mode) {
        rlang::abort("no better", class = "unlucky", day = 13)
      },
      low_level = function(features, labels, mode) log("a"),
      python = function(features, labels, mode) tf$reshape(features$wt, "a"),
      nothing = function(features, labels, mode) NULL,
      second_replica = function(features, labels, mode) {
        if (replica() == 1) {
          stop("only here")
        }
        line(features, labels, mode)
      },
      different_replicas = function(features, labels, mode) {
        if (replica() == 0) {
          tf$distribute$get_replica_context()$all_reduce("sum", tf$constant(1))
        }
        line(features, labels, mode)
      },
      evaluation = function(features, labels, mode) {
        if (mode == "eval") {
          stop("not in evaluation")
        }
        line(features, labels, mode)
      },
      prediction = function(features, labels, mode) {
        if (mode == "infer") {
          stop("not in prediction")
        }
        line(features, labels, mode)
      }
    )
    input <- input_fn(mpg ~ wt, mtcars, batch_size = 8, shuffle = FALSE)
    verbs <- function(model) {
      train(model, input, steps = 1)
      evaluate(model, input)
      predict(model, input)
    }
    failures <- lapply(broken, function(model_fn) {
      model <- estimator(model_fn, config = run_config(strategy_mirrored(2)))
      error <- tryCatch(verbs(model), error = identity)
      list(
        class = class(error),
        message = conditionMessage(error),
        parent = class(error$parent),
        day = error$parent$day,
        trace = format(rlang::`%||%`(error$trace, error$parent$trace), simplify = "none")
      )
    })
    afterwards <- nrow(verbs(estimator(line, config = run_config(strategy_mirrored(2)))))
    list(failures = failures, afterwards = afterwards)
  })
  expect_identical(found$afterwards, 32L)
  failures <- found$failures
  is_callback <- vapply(failures, function(f) f$class[[1]] == "tfdistribute_callback_error", NA)
  expect_identical(names(failures)[!is_callback], "different_replicas")
  for (name in setdiff(names(failures), c("nothing", "different_replicas"))) {
    trace <- paste(failures[[name]]$trace, collapse = "\n")
    expect_match(trace, "model_fn(features = features", fixed = TRUE, label = name)
    # What R's own code raises has no line, only the call.
    if (name != "low_level") {
      expect_match(trace, "test-custom-training.R:[0-9]+", label = name)
    }
  }
  expect_match(failures$base$message, "no good {braces}", fixed = TRUE)
  expect_identical(failures$base$parent[[1]], "simpleError")
  expect_match(failures$rlang$message, "no better", fixed = TRUE)
  expect_identical(failures$rlang$parent[[1]], "unlucky")
  expect_identical(failures$rlang$day, 13)
  expect_match(failures$low_level$message, "non-numeric argument", fixed = TRUE)
  expect_match(failures$python$message, "TypeError", fixed = TRUE)
  expect_match(failures$nothing$message, "`model_fn` returned NULL.", fixed = TRUE)
  expect_true("tfdistribute_model_error" %in% failures$nothing$parent)
  expect_match(failures$second_replica$message, "only here", fixed = TRUE)
  expect_true("tfdistribute_model_error" %in% failures$different_replicas$class)
  expect_match(failures$different_replicas$message, "merge call", fixed = TRUE)
  expect_match(failures$evaluation$message, "not in evaluation", fixed = TRUE)
  expect_match(failures$prediction$message, "not in prediction", fixed = TRUE)
})

test_that("functions of R in ready-made models do what the names do, on one device and two", {
  skip_if_no_tensorflow()
  strategies <- list(two = strategy_mirrored(2))
  if (checks_all()) {
    strategies$one <- strategy_one_device("CPU:0")
  }
  values <- in_child_r(
    function(strategies) {
      trained <- function(strategy, column, activation_fn, optimizer, data) {
        model <- dnn_regressor(
          c(4, 2),
          feature_columns(column),
          activation_fn = activation_fn,
          optimizer = optimizer,
          config = run_config(strategy, seed = 5)
        )
        train(model, input_fn(mpg ~ wt, data, batch_size = 8, shuffle = FALSE, epochs = 2))
        variables <- variable_value(model)
        # An optimizer of the user keeps its settings in the checkpoint.
        variables[!grepl("^training/[A-Za-z]+/[a-z_]+$", names(variables))]
      }
      halved <- transform(mtcars, wt = wt / 2)
      half <- column_numeric("wt", normalizer_fn = function(x) tf$divide(x, 2))
      tanh <- function(x) tf$nn$tanh(x)
      made <- function() tf$keras$optimizers$legacy$SGD(0.01)
      sgd <- list("sgd", learning_rate = 0.01)
      lapply(strategies, function(strategy) {
        list(
          names = trained(strategy, column_numeric("wt"), "tanh", sgd, halved),
          functions = trained(strategy, half, tanh, made, mtcars)
        )
      })
    },
    list(strategies)
  )
  for (found in values) {
    expect_identical(found$functions, found$names)
  }
})

test_that("a model of R is given its arguments, and its values come back to R", {
  skip_if_no_tensorflow("smoke")
  seen <- list()
  params <- list(rate = 0.1, formula = y ~ x, data = head(mtcars), nothing = NULL)
  model_fn <- function(features, labels, mode, ..., params, config) {
    extra <- list(...)
    seen[[mode]] <<- list(
      features = names(features),
      labels = is.null(labels),
      params = params,
      extra = names(extra),
      config = config$tf_random_seed
    )
    x <- tf$stack(list(features$wt, features$hp), axis = 1L)
    output <- tf$reduce_sum(tf$multiply(x, tf$compat$v1$get_variable("w", list(2L))), 1L)
    if (mode == mode_keys()$PREDICT) {
      return(estimator_spec(mode, predictions = list(`miles per gallon` = output, both = x)))
    }
    estimator_spec(
      mode,
      loss = tf$compat$v1$losses$mean_squared_error(labels, output),
      optimizer = tf$compat$v1$train$AdamOptimizer(params$rate),
      eval_metric_ops = list(far = tf$compat$v1$metrics$mean(tf$abs(tf$subtract(labels, output)))),
      training_hooks = hook_stop_at_step(last_step = 3)
    )
  }
  model <- estimator(
    model_fn,
    model_dir = withr::local_tempdir(),
    config = run_config(seed = 11),
    params = params
  )
  input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 16, epochs = NULL)
  history <- train(model, input, steps = 100)
  expect_identical(history$global_step, 3L)
  expect_identical(history$stopped_by, "hook_stop_at_step()")
  metrics <- evaluate(model, input_fn(mpg ~ wt + hp, mtcars))
  predictions <- predict(model, input_fn(mtcars, features = c(wt, hp)))
  expect_identical(names(predictions), c("miles per gallon", "both"))
  expect_equal(mean(abs(mtcars$mpg - predictions[[1]])), metrics$far, tolerance = 1e-5)
  expect_equal(predictions$both[[1]], c(mtcars$wt[[1]], mtcars$hp[[1]]), tolerance = 1e-6)
  expect_setequal(names(seen), c("train", "eval", "infer"))
  expect_identical(seen$train$params, params)
  expect_setequal(seen$train$features, c("wt", "hp"))
  expect_identical(seen$train$config, 11L)
  expect_identical(seen$infer$labels, TRUE)
})

test_that("what a model places on another CPU device runs there", {
  skip_if_no_tensorflow()
  devices <- character()
  model_fn <- function(features, labels) {
    output <- with(tf$device("CPU:1"), {
      weight <- tf$compat$v1$get_variable("w", list())
      tf$nn$softplus(tf$multiply(features$wt, weight), name = "placed")
    })
    list(loss = tf$compat$v1$losses$mean_squared_error(labels, output), optimizer = "sgd")
  }
  hook <- hook_session_run(
    before_run = function(context) {
      options <- tf$compat$v1$RunOptions(output_partition_graphs = TRUE)
      tf$estimator$SessionRunArgs(list(), options = options)
    },
    after_run = function(context, values) {
      as_list <- reticulate::import_builtins()$list
      for (graph in as_list(values$run_metadata$partition_graphs)) {
        for (node in as_list(graph$node)) {
          if (endsWith(node$name, "placed")) {
            devices <<- c(devices, node$device)
          }
        }
      }
    }
  )
  model <- estimator(model_fn, model_dir = withr::local_tempdir())
  train(model, input_fn(mpg ~ wt, mtcars, batch_size = 16), steps = 1, hooks = hook)
  expect_match(devices, "CPU:1$")
})

test_that("tf is TensorFlow, and asks Python for nothing before it is used", {
  skip_if_no_tensorflow()
  result <- in_child_r(function() {
    before <- reticulate::py_available()
    list(before = before, version = tf$version$VERSION, config = tf_config())
  })
  expect_false(result$before)
  expect_true(result$config$available)
  expect_identical(result$config$version_str, result$version)
  expect_match(paste(capture.output(print(result$config)), collapse = " "), "TensorFlow 2")
})
