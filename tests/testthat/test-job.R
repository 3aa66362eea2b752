# Handles of jobs, and what waiting for them shows. The supervisor is a stand-in with given states.

a_job <- function() {
  new_job(
    list(
      id = "abc",
      pid = 12,
      directory = "/tmp/private",
      model_dir = "/runs/cars",
      logs = "/runs/cars/logs",
      verb = "train_and_evaluate"
    ),
    100L,
    c("chief 0", "worker 0", "evaluator 0")
  )
}

a_task <- function(task, state, step = NULL, speed = NULL, pid = 20L, waiting_for = NULL) {
  list(
    task = task,
    host = "localhost",
    pid = pid,
    port = if (task != "evaluator 0") 2222L,
    state = state,
    activity = if (is.null(waiting_for)) state else paste("waiting for", waiting_for),
    step = step,
    examples_per_second = speed,
    seconds_since_step = NULL,
    log = paste0("/runs/cars/logs/", sub(" ", "-", task), ".log")
  )
}

a_goodput <- function() {
  list(
    share = 0.5,
    seconds = 10,
    rows_per_second = NULL,
    lost = list("first start" = 3L, restarts = 2),
    restarts = list(list(why = "A kill.", seconds = 2, steps = 12L)),
    text = "goodput 50% of 10 s"
  )
}

a_state <- function(state = "training", step = 30L, ...) {
  values <- list(
    id = "abc",
    state = state,
    message = "The tasks train.",
    model_dir = "/runs/cars",
    logs = "/runs/cars/logs",
    global_step = step,
    max_steps = 100L,
    loss = 0.5,
    examples_per_second = 2300,
    network = "private",
    restarts = 0L,
    steps_lost = 0L,
    notes = list(),
    tasks = list(
      c(a_task("chief 0", "training", step, 1200), input_wait = 0.621, gpu_utilization = 0.3),
      a_task("worker 0", "training", step, 1100, pid = 21L),
      a_task("evaluator 0", "waiting", pid = 22L, waiting_for = "a checkpoint")
    ),
    evaluations = list(),
    failure = NULL,
    history = NULL,
    ended = NULL
  )
  given <- list(...)
  values[names(given)] <- given
  values
}

ended <- function(state = "done", step = 100L, ...) {
  a_state(
    state,
    step,
    ended = 5,
    tasks = list(
      a_task("chief 0", "done", step, 1200, NULL),
      a_task("worker 0", "done", step, 1100, NULL)
    ),
    history = list(
      training = list(
        step = c(1, 100),
        loss = c(2, 0.5),
        seconds = c(0, 3),
        examples_per_second = list(NULL, 1150)
      ),
      evaluation = list(list(global_step = 100, loss = 0.4, auc = NULL)),
      examples_per_second = 1150,
      stopped_by = NULL
    ),
    ...
  )
}

# Successive states of a job, with new lines of its logs.
local_states <- function(..., lines = list(), frame = parent.frame()) {
  job <- new.env()
  job$states <- list(...)
  job$lines <- lines
  local_answers(
    job_news = function(arguments) {
      state <- job$states[[1]]
      if (length(job$states) > 1) {
        job$states <- job$states[-1]
      }
      new <- job$lines
      job$lines <- list()
      list(state = state, lines = new, position = "{}", ended = !is.null(state$ended))
    },
    job_state = function(arguments) job$states[[1]],
    stop_job = function(arguments) job$stopped <- arguments$job$id,
    frame = frame
  )
  job
}

test_that("a job is a plain value that prints the state of its tasks", {
  local_states(a_state(notes = list("The ports of this job are open.")))
  expect_snapshot(a_job())
  file <- withr::local_tempfile()
  saveRDS(a_job(), file)
  expect_identical(readRDS(file), a_job())
  state <- job_state(a_job())
  expect_s3_class(state, "tbl_df")
  expect_identical(state$state, c("training", "training", "waiting for a checkpoint"))
  expect_identical(state$pid, 20:22)
  expect_identical(state$port, c(2222L, 2222L, NA))
})

test_that("waiting shows progress, evaluations and each warning once, and returns the history", {
  withr::local_options(tfdistribute.progress = TRUE)
  local_states(
    a_state(step = NULL, state = "starting"),
    a_state(step = 1L),
    a_state(
      evaluations = list(list(global_step = 25, loss = 0.7)),
      notes = list("worker 0: {odd}")
    ),
    ended(notes = list("worker 0: {odd}")),
    lines = list(
      "[chief 0] Warning message:",
      "[chief 0] In f() : something is odd ",
      "[worker 0] Warning message:",
      "[worker 0] In f() : something is odd ",
      "[worker 0] WARNING:tensorflow:From x.py: deprecated"
    )
  )
  expect_snapshot(history <- job_wait(a_job()))
  expect_s3_class(history, "tfdistribute_history")
  expect_identical(history$losses$step, c(1L, 100L))
  expect_identical(history$losses$examples_per_second, c(NA, 1150))
  expect_identical(history$evaluations$loss, 0.4)
  expect_identical(history$evaluations$auc, NA_real_)
  expect_identical(history$tasks$examples_per_second, c(1200, 1100))
  expect_identical(history$restarts, 0L)
  expect_identical(summary(history)$last_loss, 0.5)
})

test_that("restarts are shown with the table of tasks and counted in the history", {
  local_states(
    a_state("restarting", message = "worker 0 (pid 21) was ended by SIGKILL."),
    a_state("restarting", message = "worker 0 (pid 21) was ended by SIGKILL."),
    ended(restarts = 1L, steps_lost = 12L, goodput = a_goodput())
  )
  expect_snapshot(print(job_wait(a_job())))
})

test_that("a job has a goodput, with the seconds that each cause and each restart cost", {
  local_states(a_state(goodput = a_goodput()))
  goodput <- attr(job_state(a_job()), "goodput")
  expect_identical(goodput$share, 0.5)
  expect_identical(goodput$rows_per_second, NA_real_)
  expect_identical(goodput$lost, c("first start" = 3, restarts = 2))
  expect_identical(goodput$restarts, tibble::tibble(why = "A kill.", seconds = 2, steps = 12L))
  expect_true("  goodput 50% of 10 s" %in% format(a_job()))
})

test_that("a failure is the condition of the task that failed first", {
  local_states(ended(
    "failed",
    message = "worker 0 failed.",
    failure = list(
      task = "worker 0",
      host = "localhost",
      kind = "callback",
      kinds = list("callback", "error"),
      problem = "object 'x' not found in {braces}",
      remedy = "Correct the function that was passed from R.",
      argument = NULL,
      value = NULL,
      traceback = "Traceback ...",
      r_traceback = "1. model_fn()",
      log_tail = "the end",
      exit = 1L
    )
  ))
  expect_snapshot(job_wait(a_job()), error = TRUE)
  error <- tryCatch(suppressMessages(job_wait(a_job())), error = identity)
  expect_s3_class(error, "tfdistribute_callback_error")
  expect_identical(error$task, "worker 0")
  expect_identical(error$host, "localhost")
  expect_identical(error$log, "/runs/cars/logs/worker-0.log")
  expect_identical(error$r_traceback, "1. model_fn()")
  expect_identical(error$python_traceback, "Traceback ...")
  expect_identical(nrow(error$tasks), 2L)
})

test_that("waiting for a stopped job is an error", {
  local_states(ended("stopped", message = "It was asked to end."))
  expect_error(job_wait(a_job()), "was stopped", class = "tfdistribute_training_error")
  expect_identical(job_history(a_job())$global_step, 100L)
})

test_that("an ended job whose storage this machine cannot read has a history without losses, and a warning", {
  local_answers(
    job_state = function(arguments) ended(history = NULL),
    training_history = function(arguments) {
      abort_tfdistribute(
        "backend",
        "`model_dir` \"s3://b/m\" cannot be read.",
        "Check the {'{keys}'}."
      )
    }
  )
  expect_warning(
    history <- job_history(a_job()),
    "\"s3://b/m\" cannot be read.*Check the \\{keys\\}",
    class = "tfdistribute_history_warning"
  )
  expect_identical(history$global_step, 100L)
  expect_identical(nrow(history$losses), 0L)
})

test_that("waiting ends after `timeout_s`, and an interrupt stops only a job that the call started", {
  job <- local_states(a_state())
  expect_null(job_wait(a_job(), timeout_s = 0))
  stopped <- NULL
  local_answers(
    job_news = function(arguments) "interrupt",
    stop_job = function(arguments) stopped <<- arguments$job$id,
    job_state = function(arguments) a_state("stopped", checkpoint = 30L)
  )
  outcome <- function(expr) tryCatch(suppressMessages(expr), interrupt = function(i) "interrupted")
  expect_identical(outcome(job_wait(a_job())), "interrupted")
  expect_null(stopped)
  expect_message(
    tryCatch(follow_job(a_job()), interrupt = function(i) "interrupted"),
    "Stopped at step 30, and its checkpoint is written"
  )
  expect_identical(stopped, "abc")
})

test_that("an argument that is not a handle is an error", {
  expect_error(job_wait(3), class = "tfdistribute_argument_error")
  expect_error(job_stop(list()), class = "tfdistribute_argument_error")
  expect_error(job_logs(a_job(), level = "loud"), class = "tfdistribute_argument_error")
})
