every_hook <- function() {
  list(
    hook_checkpoint_saver("backup", every_n_steps = 100),
    hook_early_stopping(patience_steps = 200),
    hook_early_stopping("accuracy", min_delta = 0.01, every_s = 30),
    hook_global_step_waiter(500),
    hook_history_saver(1),
    hook_logging_tensor(c(bias = "linear/bias", "loss"), every_n_steps = 10, formatter = toString),
    hook_logging_tensor("loss", at_end = TRUE),
    hook_nan_tensor(fail_on_nan_loss = FALSE),
    hook_progress_bar(),
    hook_step_counter(),
    hook_step_counter(every_s = 10),
    hook_stop_at_step(last_step = 1000),
    hook_summary_saver(every_s = 60, summary_op = "loss_1"),
    hook_session_run(after_run = function(context, values) NULL)
  )
}

test_that("every hook prints what it will do", {
  expect_snapshot(invisible(lapply(every_hook(), print)))
  expect_snapshot(session_run_args("loss", step = "global_step"))
})

test_that("every hook is a plain value that can be saved", {
  file <- withr::local_tempfile()
  for (hook in every_hook()) {
    saveRDS(hook, file)
    expect_equal(readRDS(file), hook, ignore_function_env = TRUE, ignore_srcref = TRUE)
    expect_s3_class(hook, "tfdistribute_hook")
  }
})

test_that("hooks have tfestimators' arguments", {
  arguments <- list(
    hook_checkpoint_saver = c(
      "checkpoint_dir",
      "every_s",
      "every_n_steps",
      "saver",
      "checkpoint_basename",
      "scaffold",
      "listeners"
    ),
    hook_global_step_waiter = "wait_until_step",
    hook_history_saver = "every_n_steps",
    hook_logging_tensor = c("tensors", "every_n_steps", "every_s", "formatter", "at_end"),
    hook_nan_tensor = c("loss_tensor", "fail_on_nan_loss"),
    hook_progress_bar = character(),
    hook_step_counter = c("every_n_steps", "every_s", "output_dir", "summary_writer"),
    hook_stop_at_step = c("num_steps", "last_step"),
    hook_summary_saver = c(
      "every_n_steps",
      "every_s",
      "output_dir",
      "summary_writer",
      "scaffold",
      "summary_op"
    ),
    session_run_args = "...",
    # The last one is this package's own.
    hook_session_run = c(
      "begin",
      "after_create_session",
      "before_run",
      "after_run",
      "end",
      "every_n_steps"
    )
  )
  for (name in names(arguments)) {
    own <- names(formals(getExportedValue("tfdistribute", name)))
    # `...` only refuses more.
    expect_identical(setdiff(own, "..."), setdiff(arguments[[name]], "..."), label = name)
  }
})

test_that("verbs take one hook, a list, or none", {
  hook <- hook_stop_at_step(5)
  expect_identical(check_hooks(hook), list(hook))
  expect_identical(check_hooks(list(a = hook)), list(hook))
  expect_identical(check_hooks(NULL), list())
})

test_that("a tensor has its own name unless it is given one", {
  expect_identical(
    hook_logging_tensor(list("loss", b = "bias"), every_n_steps = 1)$tensors,
    list(loss = "loss", b = "bias")
  )
})

test_that("only functions that can be called are taken", {
  expect_identical(hook_session_run(end = invisible)$end, invisible)
  expect_s3_class(hook_session_run(after_run = function(...) NULL), "tfdistribute_hook")
  expect_s3_class(hook_session_run(end = function(session, extra = 1) NULL), "tfdistribute_hook")
})

test_that("a progress bar is shown where the option says no", {
  withr::local_options(tfdistribute.progress = FALSE)
  expect_false(shows_progress(list(hook_stop_at_step(5))))
  expect_true(shows_progress(list(hook_stop_at_step(5), hook_progress_bar())))
})

test_that("what is wrong is named with its remedy", {
  expect_snapshot(error = TRUE, {
    train_spec(function() NULL, hooks = 5)
    train_spec(function() NULL, hooks = list(hook_progress_bar(), "stop"))
    hook_stop_at_step(2.5)
    hook_logging_tensor(c(a = "x", a = "y"), every_n_steps = 1)
    hook_logging_tensor(5, every_n_steps = 1)
    hook_checkpoint_saver(every_n_steps = 1, saver = "mine")
    hook_early_stopping(min_delta = -1)
    hook_session_run(begin = function(session) NULL)
    hook_session_run(after_run = function(values) NULL)
    hook_session_run(end = "stop")
    session_run_args(5)
  })
})
