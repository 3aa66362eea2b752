# The result of a job: a history, metrics or predictions, or the condition of the task that failed first.

result_of_job <- function(state, job) {
  if (identical(state$state, "failed")) {
    abort_job(state)
  }
  if (identical(state$state, "stopped")) {
    abort_stopped(state)
  }
  if (reads_only(job)) {
    call_backend("take_result", job = job_wire(job))
  } else {
    history_of_job(state, job)
  }
}

history_of_job <- function(state, job) {
  written <- state$history %||% saved_history(job)
  training <- lapply(
    rlang::set_names(c("step", "loss", "seconds", "examples_per_second")),
    function(name) as_numbers(written$training[[name]])
  )
  evaluations <- lapply(written$evaluation %||% state$evaluations, lapply, function(value) {
    as.double(value %||% NA)
  })
  tasks <- task_table(state$tasks)
  new_history(list(
    training = training,
    evaluation = evaluations,
    examples_per_second = written$examples_per_second %||% NA_real_,
    global_step = state$global_step %||% NA,
    model_dir = job$model_dir,
    stopped_by = written$stopped_by,
    tasks = tasks[c("task", "state", "step", "examples_per_second")],
    workers = table_of(
      written$workers,
      first_step = NA_integer_,
      last_step = NA_integer_,
      workers = NA_integer_,
      hosts = NA_character_
    ),
    restarts = as.integer(state$restarts %||% 0L),
    steps_lost = as.integer(state$steps_lost %||% 0L)
  ))
}

# Records of a running job in its `model_dir`, with the losses of earlier trainings. NULL if there are none yet, and
# with a warning if this machine cannot read them.
saved_history <- function(job) {
  saved <- tryCatch(
    call_backend("training_history", model_dir = job$model_dir),
    tfdistribute_model_directory_error = function(error) NULL,
    tfdistribute_backend_error = function(error) {
      rlang::warn(c(error$problem, i = error$remedy), "tfdistribute_history_warning")
      NULL
    }
  )
  saved["training"]
}

# Numbers read from JSON. A single number is a scalar, and NaN is NULL.
as_numbers <- function(values) {
  vapply(values, function(value) as.double(value %||% NA), NA_real_, USE.NAMES = FALSE)
}

abort_job <- function(state) {
  failure <- state$failure
  task <- failure$task
  log <- task_log(state, task)
  abort_tfdistribute(
    failure$kind %||% "training",
    problem = "{task_prefix(failure)}{failure$problem %||% state$message}",
    remedy = if (!is.null(failure$remedy)) "{failure$remedy}",
    details = if (!is.null(log) && !grepl(log, failure$remedy %||% "", fixed = TRUE)) {
      "Its log is {log}"
    },
    argument = failure$argument,
    value = failure$value,
    traceback = failure$traceback,
    task = task,
    host = failure$host,
    log = log,
    log_tail = failure$log_tail,
    exit = failure$exit,
    r_traceback = failure$r_traceback,
    tasks = task_table(state$tasks)
  )
}

task_prefix <- function(failure) {
  host <- if (!is.null(failure$host)) paste0(" on ", failure$host)
  if (!is.null(failure$task)) paste0(failure$task, host, ": ")
}

abort_stopped <- function(state) {
  abort_tfdistribute(
    "training",
    problem = if (identical(state$message, "The job was stopped.")) {
      state$message
    } else {
      "The job was stopped: {state$message}"
    },
    remedy = if (!reads_only(state)) "Train again to continue from the newest checkpoint.",
    tasks = task_table(state$tasks)
  )
}

task_log <- function(state, task) {
  rows <- Filter(function(row) identical(row$task, task), state$tasks)
  if (length(rows) > 0) rows[[1]]$log
}
