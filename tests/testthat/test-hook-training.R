model_of_mtcars <- function(strategy = NULL, ..., learning_rate = 0.01) {
  wt_regressor(
    optimizer = list("sgd", learning_rate = learning_rate),
    config = run_config(strategy, ...),
    frame = parent.frame()
  )
}

mtcars_input <- function(epochs = NULL) {
  cars_input(batch_size = 8, epochs = epochs, shuffle = FALSE)
}

test_that("R functions get values as R values, under every strategy", {
  skip_if_no_tensorflow("smoke")
  for (strategy in list(NULL, strategy_mirrored(2), strategy_central_storage(2))) {
    seen <- list(losses = double(), calls = character())
    hook <- hook_session_run(
      begin = function() seen$calls <<- c(seen$calls, "begin"),
      after_create_session = function(session, coord) {
        seen$calls <<- c(seen$calls, class(session)[[1]])
      },
      before_run = function(context) {
        session_run_args("loss", bias = "linear/linear_model/bias_weights")
      },
      after_run = function(context, values) {
        seen$losses <<- c(seen$losses, values$results$loss)
        seen$bias <<- values$results$bias
      },
      end = function(session) seen$calls <<- c(seen$calls, "end")
    )
    model <- model_of_mtcars(strategy)
    history <- train(
      model,
      mtcars_input(),
      steps = 3,
      hooks = list(hook, hook_history_saver(every_n_steps = 1))
    )
    expect_identical(seen$losses, history$losses$loss)
    expect_length(seen$losses, 3)
    expect_true(is.double(seen$bias) && length(seen$bias) == 1)
    expect_identical(seen$calls[c(1, 3)], c("begin", "end"))
    expect_match(seen$calls[[2]], "session", ignore.case = TRUE)
  }
})

test_that("an R error in a hook stops training and stays the parent", {
  skip_if_no_tensorflow("smoke")
  for (strategy in list(NULL, strategy_mirrored(2))) {
    model <- model_of_mtcars(strategy, save_checkpoints_steps = 2)
    step <- 0
    hook <- hook_session_run(after_run = function(context, values) {
      step <<- step + 1
      if (step == 5) {
        rlang::abort("no luck {today}", class = "unlucky", day = 13)
      }
    })
    error <- expect_error(
      train(model, mtcars_input(), steps = 10, hooks = hook),
      class = "tfdistribute_callback_error"
    )
    expect_s3_class(error$parent, "unlucky")
    expect_identical(error$parent$day, 13)
    expect_match(conditionMessage(error), "no luck {today}", fixed = TRUE)
    expect_match(latest_checkpoint(model), "model.ckpt-4$")
    expect_identical(train(model, mtcars_input(), steps = 1)$global_step, 5L)
  }
})

test_that("a hook of R can end training with a checkpoint", {
  skip_if_no_tensorflow()
  model <- model_of_mtcars()
  hook <- hook_session_run(
    before_run = function(context) session_run_args(step = "global_step"),
    after_run = function(context, values) {
      if (values$results$step >= 3) {
        context$request_stop()
      }
    }
  )
  history <- train(model, mtcars_input(), steps = 100, hooks = hook)
  expect_identical(history$stopped_by, "hook_session_run()")
  expect_true(history$global_step %in% 3:4)
})

test_that("a function that returns something else than session_run_args() is told so", {
  skip_if_no_tensorflow()
  hook <- hook_session_run(before_run = function(context) 5)
  expect_error(
    train(model_of_mtcars(), mtcars_input(), steps = 1, hooks = hook),
    "`before_run` must be a function that returns session_run_args() or NULL, not 5",
    fixed = TRUE,
    class = "tfdistribute_callback_error"
  )
})

test_that("tensors are shown as messages of R", {
  skip_if_no_tensorflow()
  for (strategy in list(NULL, strategy_mirrored(2))) {
    model <- model_of_mtcars(strategy)
    hook <- hook_logging_tensor(
      list("loss", bias = "linear/linear_model/bias_weights"),
      every_n_steps = 2,
      at_end = TRUE
    )
    shown <- testthat::capture_messages(train(model, mtcars_input(), steps = 4, hooks = hook))
    expect_length(shown, 3)
    expect_match(shown, "^step [134]: loss = [0-9.]+, bias = -?[0-9.e-]+\n$")
  }
  formatted <- hook_logging_tensor(
    "loss",
    every_n_steps = 2,
    formatter = function(values) sprintf("it is %s", names(values))
  )
  expect_message(train(model, mtcars_input(), steps = 1, hooks = formatted), "it is loss")
})

test_that("an error in a formatter stops training and stays the parent", {
  skip_if_no_tensorflow()
  hook <- hook_logging_tensor("loss", every_n_steps = 1, formatter = function(values) values$loss)
  error <- expect_error(
    train(model_of_mtcars(), mtcars_input(), steps = 1, hooks = hook),
    class = "tfdistribute_callback_error"
  )
  expect_s3_class(error$parent, "tfdistribute_argument_error")
})

test_that("early stopping goes by the metrics of evaluations", {
  skip_if_no_tensorflow()
  model <- model_of_mtcars(
    strategy_mirrored(2),
    save_checkpoints_steps = 5,
    learning_rate = 0
  )
  history <- train_and_evaluate(
    model,
    train_spec(
      mtcars_input(),
      max_steps = 500,
      hooks = hook_early_stopping("average_loss", patience_steps = 10)
    ),
    eval_spec(mtcars_input(epochs = 1), throttle_secs = 0)
  )
  expect_true(history$global_step %in% 15:16)
  expect_match(history$stopped_by, "average_loss (evaluation) was best at step 5", fixed = TRUE)
})

test_that("a metric that evaluations do not have is an error, not an endless training", {
  skip_if_no_tensorflow()
  model <- model_of_mtcars(save_checkpoints_steps = 5)
  expect_error(
    train(model, mtcars_input(), hooks = hook_early_stopping("average_loss")),
    "train() does not evaluate",
    fixed = TRUE,
    class = "tfdistribute_argument_error"
  )
  expect_error(
    train_and_evaluate(
      model,
      train_spec(mtcars_input(), max_steps = 500, hooks = hook_early_stopping("accuracy")),
      eval_spec(mtcars_input(epochs = 1), throttle_secs = 0)
    ),
    "`monitor` \"accuracy\" is not a metric",
    class = "tfdistribute_argument_error"
  )
})

test_that("hooks of TensorFlow itself and hooks as_python() are taken", {
  skip_if_no_tensorflow()
  model <- model_of_mtcars()
  history <- train(model, mtcars_input(), hooks = as_python(hook_stop_at_step(num_steps = 2)))
  expect_identical(history$global_step, 2L)
  expect_error(as_python(hook_progress_bar()), class = "tfdistribute_unsupported_error")
})

test_that("a progress bar is shown although the option says no", {
  skip_if_no_tensorflow()
  expect_message(
    train(model_of_mtcars(), mtcars_input(), steps = 1, hooks = hook_progress_bar()),
    "step 1/1"
  )
})
