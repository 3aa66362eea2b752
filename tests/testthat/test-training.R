# The verbs with TensorFlow, in this process; what may hang or must be interrupted runs in a child R.

test_that("Ctrl-C finishes the step, and the next training continues from there", {
  skip_if_no_tensorflow()
  directory <- withr::local_tempdir()
  child <- local_child_r(
    function(directory) {
      config <- run_config(save_checkpoints_steps = 200)
      columns <- feature_columns(column_numeric("wt"))
      model <- linear_regressor(columns, model_dir = directory, config = config)
      cars <- input_fn(mpg ~ wt, mtcars, batch_size = 8, epochs = NULL)
      result <- tryCatch(
        magrittr::`%>%`(model, train(cars, steps = 1e6)),
        interrupt = function(interrupt) "interrupted"
      )
      reached <- variable_value(model, "global_step")[[1]]
      history <- train(model, cars, steps = 5)
      list(result = result, reached = reached, global_step = history$global_step)
    },
    list(directory)
  )
  # The first checkpoint is from before the first step.
  has_trained <- function() any(grepl("^model.ckpt-[1-9]", list.files(directory)))
  expect_true(wait_until(has_trained, 60))
  child$interrupt()
  found <- result_of(child, 60)
  expect_identical(found$result, "interrupted")
  expect_gt(found$reached, 0)
  expect_equal(found$global_step, found$reached + 5)
})

test_that("SIGTERM saves the last step of an Rscript, and ends the process with this signal", {
  skip_if_no_tensorflow()
  directory <- withr::local_tempdir()
  lines <- c(
    "library(tfdistribute)",
    "columns <- feature_columns(column_numeric('wt'))",
    "model <- linear_regressor(columns, model_dir = commandArgs(TRUE))",
    "train(model, input_fn(mpg ~ wt, mtcars, batch_size = 8, epochs = NULL), steps = 1e8)"
  )
  options <- callr::rscript_process_options(
    script = withr::local_tempfile(fileext = ".R", lines = lines),
    cmdargs = directory,
    libpath = .libPaths(),
    env = c(callr::rcmd_safe_env(), TMPDIR = withr::local_tempdir()),
    stdout = NULL,
    stderr = NULL
  )
  process <- callr::rscript_process$new(options)
  withr::defer(process$kill_tree())
  losses <- file.path(directory, "tfdistribute-losses.jsonl")
  expect_true(wait_until(function() file.exists(losses), 100))
  process$signal(tools::SIGTERM)
  process$wait(20000)
  expect_identical(process$get_exit_status(), -tools::SIGTERM)
  # Without the signal, the next checkpoint would be written after ten minutes.
  model <- linear_regressor(feature_columns(column_numeric("wt")), model_dir = directory)
  reached <- variable_value(model, "global_step")[[1]]
  expect_gt(reached, 0)
  expect_equal(training_history(model)$global_step, reached)
})

test_that("Ctrl-C ends an evaluation and a prediction at once, and leaves the next verb alone", {
  skip_if_no_tensorflow()
  begun <- withr::local_tempfile()
  child <- local_child_r(
    function(begun) {
      many <- data.frame(wt = runif(1e6), mpg = runif(1e6))
      noted <- function(features) {
        file.create(begun)
        features
      }
      model <- linear_regressor(feature_columns(column_numeric("wt")))
      train(model, input_fn(mpg ~ wt, mtcars))
      verbs <- list(evaluate = evaluate, predict = predict)
      lapply(verbs, function(verb) {
        outcome <- tryCatch(
          {
            # Predictions keep the batches of an input whose function sees them.
            verb(model, input_fn(mpg ~ wt, many, batch_size = 2, transform = noted))
            "finished"
          },
          interrupt = function(interrupt) "interrupted"
        )
        ended <- Sys.time()
        trained <- tryCatch(
          train(model, input_fn(mpg ~ wt, mtcars))$global_step,
          interrupt = function(interrupt) "swallowed"
        )
        list(outcome = outcome, ended = ended, trained = trained)
      })
    },
    list(begun)
  )
  pressed <- lapply(1:2, function(verb) {
    wait_until(function() file.exists(begun) || !child$is_alive(), 60)
    unlink(begun)
    # The graph is built, and batches are read.
    Sys.sleep(1)
    child$interrupt()
    child$interrupt()
    Sys.time()
  })
  found <- result_of(child, 60)
  for (verb in 1:2) {
    expect_identical(found[[verb]]$outcome, "interrupted")
    expect_lt(as.numeric(found[[verb]]$ended - pressed[[verb]], units = "secs"), 10)
    # A second signal that came after the verb is one for what follows.
    if (found[[verb]]$ended > pressed[[verb]]) {
      expect_type(found[[verb]]$trained, "integer")
    }
  }
})

test_that("TF_CONFIG that is set after Python has started is looked at", {
  skip_if_no_tensorflow()
  train(linear_regressor(numbers()), cars_input(mpg ~ wt + hp))
  withr::local_envvar(
    TF_CONFIG = '{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 0}}'
  )
  expect_error(
    train(
      linear_regressor(numbers()),
      cars_input(mpg ~ wt + hp),
      strategy = strategy_one_device("CPU:0")
    ),
    "the cluster of TF_CONFIG (this process is worker 0) trains with strategy_multi_worker()",
    fixed = TRUE,
    class = "tfdistribute_strategy_error"
  )
})

# Other tests train under both in one session, in another order.
if (checks_all()) {
  test_that("a session that trained on one device trains on two next, and the other way round", {
    skip_if_no_tensorflow()
    steps <- function(strategies) {
      model <- linear_regressor(feature_columns(column_numeric("wt")))
      trained <- lapply(strategies, function(strategy) {
        model$config <- run_config(strategy)
        train(model, input_fn(mpg ~ wt, mtcars, batch_size = 8))$global_step
      })
      unlist(trained)
    }
    one_then_two <- list(NULL, strategy_mirrored(2))
    expect_identical(in_child_r(steps, list(one_then_two), timeout_s = 90), c(4L, 8L))
    expect_identical(in_child_r(steps, list(rev(one_then_two)), timeout_s = 90), c(4L, 8L))
  })
}

test_that("train() twice on the same estimator goes on, and tells true losses", {
  skip_if_no_tensorflow("smoke")
  model <- linear_regressor(
    numbers(),
    optimizer = list("sgd", learning_rate = 1e-5),
    standardize_response = FALSE
  )
  first <- train(model, cars_input(mpg ~ wt + hp, epochs = NULL), steps = 20)
  second <- train(model, cars_input(mpg ~ wt + hp, epochs = NULL), steps = 10)
  expect_identical(first$losses$step, c(1L, 10L, 20L))
  expect_identical(second$global_step, 30L)
  expect_lt(utils::tail(second$losses$loss, 1), first$losses$loss[[1]])
  third <- train(model, cars_input(mpg ~ wt + hp, epochs = NULL), max_steps = 30)
  expect_identical(nrow(third$losses), 0L)
})

test_that("a training that continues from a checkpoint of another session says so, once", {
  skip_if_no_tensorflow()
  withr::local_options(tfdistribute.progress = FALSE)
  directory <- withr::local_tempdir()
  model <- linear_regressor(column_numeric("wt"), model_dir = directory)
  train_once <- function(model) train(model, mpg ~ wt, data = mtcars, epochs = 1, batch_size = 32)
  expect_no_continuation <- function(model) {
    expect_no_message(train_once(model), message = "Training continues")
  }
  expect_no_continuation(model)
  expect_no_continuation(model)
  the$trained_directories <- setdiff(the$trained_directories, directory)
  expect_snapshot(
    train_once(model),
    transform = function(lines) gsub(directory, "DIRECTORY", lines, fixed = TRUE)
  )
  expect_no_continuation(model)
})

test_that("predictions come one for each row, in the order of the input", {
  skip_if_no_tensorflow("smoke")
  model <- linear_regressor(numbers(), standardize_response = FALSE)
  train(model, cars_input(mpg ~ wt + hp, epochs = 20))
  all <- predict(model, cars_input(mpg ~ wt + hp))
  expect_s3_class(all, "tbl_df")
  expect_named(all, "predictions")
  expect_identical(nrow(all), 32L)
  weights <- variable_value(model)
  by_hand <- mtcars$wt *
    c(weights[["linear/linear_model/wt/weights"]]) +
    mtcars$hp * c(weights[["linear/linear_model/hp/weights"]]) +
    c(weights[["linear/linear_model/bias_weights"]])
  expect_equal(all$predictions, by_hand, tolerance = 1e-5)
  backwards <- predict(model, input_fn(mtcars[32:1, ], features = c(wt, hp)))
  expect_equal(backwards$predictions, rev(all$predictions), tolerance = 1e-6)

  next_batch <- predict(
    model,
    cars_input(mpg ~ wt + hp),
    as_iterable = TRUE,
    yield_single_examples = FALSE
  )
  batches <- list(next_batch(), next_batch(), next_batch())
  expect_identical(vapply(batches[1:2], nrow, 1L), c(16L, 16L))
  expect_null(batches[[3]])
  one <- predict(model, cars_input(mpg ~ wt + hp), as_iterable = TRUE)()
  expect_equal(one$predictions, all$predictions[[1]])
  expect_identical(
    predict(model, cars_input(mpg ~ wt + hp), simplify = FALSE)[[2]],
    list(predictions = all$predictions[[2]])
  )
})

test_that("evaluate() gives exact metrics: the mean over all rows, the last batch included", {
  skip_if_no_tensorflow("smoke")
  model <- linear_regressor(numbers())
  train(model, cars_input(mpg ~ wt + hp, epochs = 5))
  metrics <- evaluate(model, input_fn(mpg ~ wt + hp, mtcars, batch_size = 10))
  predicted <- predict(model, cars_input(mpg ~ wt + hp))$predictions
  by_hand <- mean((predicted - mtcars$mpg)^2)
  expect_equal(metrics$average_loss, by_hand, tolerance = 1e-5)
  expect_equal(metrics$loss, by_hand, tolerance = 1e-5)
  expect_type(evaluate(model, cars_input(mpg ~ wt + hp), simplify = FALSE), "list")
})

test_that("a factor response gives the classes their names, also in later predictions", {
  skip_if_no_tensorflow()
  model <- dnn_classifier(
    hidden_units = 8,
    feature_columns = feature_columns(column_numeric("Petal.Length", "Petal.Width")),
    n_classes = 3,
    optimizer = list("adam", learning_rate = 0.05)
  )
  input <- input_fn(Species ~ Petal.Length + Petal.Width, iris, batch_size = 30, epochs = 30)
  train(model, input)
  predicted <- predict(model, input_fn(iris, features = c(Petal.Length, Petal.Width)))
  expect_named(predicted, c("classes", "class_ids", "logits", "probabilities"))
  expect_gt(mean(predicted$classes == iris$Species), 0.9)
  expect_identical(predicted$class_ids + 1L, match(predicted$classes, levels(iris$Species)))
  expect_length(predicted$probabilities[[1]], 3)
  some <- iris[iris$Species != "setosa", ]
  some$Species <- droplevels(some$Species)
  metrics <- evaluate(model, input_fn(Species ~ Petal.Length + Petal.Width, some))
  expect_gt(metrics$accuracy, 0.8)
})

test_that("train_and_evaluate() evaluates on the way and at the end", {
  skip_if_no_tensorflow("smoke")
  model <- linear_regressor(numbers(), config = run_config(save_checkpoints_steps = 10))
  history <- train_and_evaluate(
    model,
    train_spec(cars_input(mpg ~ wt + hp, epochs = NULL), max_steps = 30),
    eval_spec(cars_input(mpg ~ wt + hp), throttle_secs = 0)
  )
  expect_identical(history$evaluations$global_step, c(10L, 20L, 30L))
  expect_true(all(c("loss", "average_loss") %in% names(history$evaluations)))
  again <- train_and_evaluate(
    model,
    train_spec(cars_input(mpg ~ wt + hp, epochs = NULL), max_steps = 30),
    eval_spec(cars_input(mpg ~ wt + hp), throttle_secs = 0)
  )
  expect_identical(again$evaluations$global_step, 30L)
})

test_that("a function that returns a dataset is an input too", {
  skip_if_no_tensorflow("smoke")
  tf <- reticulate::import("tensorflow")
  dataset <- function() {
    features <- list(wt = as.array(mtcars$wt), hp = as.array(mtcars$hp))
    tf$data$Dataset$from_tensor_slices(reticulate::tuple(features, as.array(mtcars$mpg)))$batch(16L)
  }
  model <- linear_regressor(numbers())
  history <- train(model, dataset)
  expect_identical(history$global_step, 2L)
  expect_identical(nrow(predict(model, dataset)), 32L)
})

test_that("an estimator that was saved and read again is the same model", {
  skip_if_no_tensorflow()
  model <- linear_regressor(numbers(), model_dir = withr::local_tempdir())
  train(model, cars_input(mpg ~ wt + hp))
  file <- withr::local_tempfile()
  saveRDS(model, file)
  again <- readRDS(file)
  expect_identical(
    predict(again, cars_input(mpg ~ wt + hp)),
    predict(model, cars_input(mpg ~ wt + hp))
  )
})

test_that("an exported model stands where it was asked for", {
  skip_if_no_tensorflow("smoke")
  model <- linear_regressor(numbers())
  train(model, cars_input(mpg ~ wt + hp))
  path <- file.path(withr::local_tempdir(), "export")
  expect_identical(export_savedmodel(model, path), path)
  expect_true(file.exists(file.path(path, "saved_model.pb")))
  versioned <- export_savedmodel(model, path, versioned = TRUE)
  expect_identical(dirname(versioned), path)
})

test_that("a pipe or a link in place of a file of model_dir is named before the first step", {
  skip_if_no_tensorflow()
  # In a process of its own, because opening a pipe would wait without an end.
  found <- in_child_r(
    function(directory) {
      problems <- character()
      for (name in c("tfdistribute-losses.jsonl", "tfdistribute-evaluations.jsonl")) {
        place <- file.path(directory, name)
        dir.create(place)
        processx::run("mkfifo", file.path(place, name))
        model <- linear_regressor(column_numeric("wt"), model_dir = place)
        verbs <- list(
          function() train(model, mpg ~ wt, data = mtcars, steps = 1),
          function() training_history(model)
        )
        for (verb in verbs) {
          error <- tryCatch(verb(), error = function(error) error)
          problems <- c(problems, if (inherits(error, "tfdistribute_model_directory_error")) name)
        }
      }
      model <- linear_regressor(column_numeric("wt"), model_dir = file.path(directory, "model"))
      train(model, mpg ~ wt, data = mtcars, steps = 1)
      losses <- file.path(directory, "model", "tfdistribute-losses.jsonl")
      unlink(losses)
      victim <- file.path(directory, "secret")
      writeLines("precious", victim)
      file.symlink(victim, losses)
      saved <- tryCatch(save_estimator(model, file.path(directory, "m.tfd")), error = class)
      list(problems = problems, saved = saved[[1]], victim = readLines(victim))
    },
    list(directory = withr::local_tempdir()),
    timeout_s = 100
  )
  names <- c("tfdistribute-losses.jsonl", "tfdistribute-evaluations.jsonl")
  expect_identical(found$problems, rep(names, each = 2))
  expect_identical(found$saved, "tfdistribute_model_directory_error")
  expect_identical(found$victim, "precious")
})
