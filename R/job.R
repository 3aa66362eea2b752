# Handles of background jobs.

#' Control jobs that train in the background
#'
#' `launch(wait = FALSE)` returns a handle of the job that it starts. The handle is a plain R value, and printing it
#' shows the activity of each task. The job ends with the R session that started it, unless it is a job of a
#' [slurm_cluster()] or a [ray_cluster()], whose supervisor runs inside the cluster.
#'
#' `job_find()` returns the handle of a job that was started elsewhere: the job that trains in `model_dir`, or waits for
#' nodes of Slurm, or the last job that ended there. A job whose supervisor runs inside its cluster is found on any
#' machine that shares `model_dir`.
#'
#' `job_wait()` shows the progress until the job ends, as [launch()] does. Interrupting it does not stop the job.
#' `job_stop()` makes the chief write a checkpoint and ends all processes, so that a later training continues from the
#' checkpoint. `job_state()` returns the table of tasks, `job_history()` returns the history so far, and `job_logs()`
#' returns the output of the processes. These functions return immediately, so a Shiny app can call them repeatedly.
#' [view_training()] shows a page with all of this information.
#'
#' @param job,x A handle from [launch()] or `job_find()`.
#' @param model_dir Directory of the model, a string, or its estimator.
#' @param timeout_s Longest time to wait in seconds, a number. NULL waits until the job ends.
#' @param task One task, such as `"worker 1"`. NULL returns the output of all tasks, with the task at the start of each
#'   line.
#' @param level Lowest level of the lines: `"debug"` for all lines, `"info"`, `"warning"` or `"error"`.
#' @returns
#' * `job_wait()`: the [history][history], as from [launch()], or NULL, invisibly, if the job still runs after
#'   `timeout_s`.
#' * `job_stop()`: the handle, invisibly.
#' * `job_find()`: a handle, or NULL without a job.
#' * `job_state()`: a tibble with one row per task: `task`, `host`, `pid`, `port`, `state` (such as `"starting"`,
#'   `"waiting for a checkpoint"`, `"training"`, `"stalled"`, `"done"`, `"failed"`), `step`, `examples_per_second`,
#'   `seconds_since_step`, `log`, `input_wait` (the share of the time in which steps wait for the rows of files,
#'   generators and datasets), `gpu_utilization` (the share in which its GPUs are busy), `gpu_memory_mb`, `gpu_power_w`.
#'   The columns of GPUs need the Python package nvidia-ml-py. The attribute `goodput` is a list that tells how the time
#'   of a training was spent, see section Goodput.
#' * `job_history()`: a history. While the job runs, it contains the losses that are saved in `model_dir`, and its
#'   evaluations. A warning says if this machine cannot read `model_dir`.
#' * `job_logs()`: lines, strings.
#' @section Goodput:
#' The goodput of a job is the share of its time in which it computed steps that counted. Printing a job or its history
#' shows it, with the causes of all other time. The attribute `goodput` of `job_state()` and the element `goodput` of a
#' history are a list:
#' * `share`: the share, from 0 to 1.
#' * `rows_per_second`: rows of the steps that counted, for each second of the job. NA for inputs without a known batch.
#' * `seconds`: seconds from the start of the job to the end of its training, or until now.
#' * `lost`: seconds by cause. `"first start"` and `"restarts"` last until the first step of the chief, `"repeated
#'   steps"` were computed after the checkpoint from which a restart continued, and `"waiting"` is the time until hosts
#'   are
#'   connected, and the pause before a restart.
#' * `restarts`: a tibble with a row for each restart: `why`, the `seconds` that it cost, and the `steps` that it
#'   repeated.
#' @section Errors:
#' * The errors of [launch()], from `job_wait()`, if the job fails.
#' * `tfdistribute_argument_error` if `job` is not a handle, or does not have the task.
#' * `tfdistribute_history_warning`, a warning, if the job ended well and this machine cannot read its `model_dir`.
#' @family jobs
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(
#'   feature_columns(column_numeric("wt")),
#'   config = run_config(cluster = local_cluster(workers = 2))
#' )
#' input <- input_fn(mpg ~ wt, mtcars, batch_size = 16, epochs = NULL)
#' training <- train_spec(input, max_steps = 1e6)
#' \donttest{
#' job <- launch(model, training, wait = FALSE)
#' job
#' job_stop(job)
#' job_logs(job, "chief 0", level = "error")
#' }
#' @name jobs
NULL

# `handle` is Python's result of start_job(). `max_steps` and `tasks` are for printing.
new_job <- function(handle, max_steps, tasks) {
  structure(
    list(
      id = handle$id,
      pid = as.integer(handle$pid %||% NA),
      directory = handle$directory,
      model_dir = handle$model_dir,
      logs = handle$logs,
      verb = handle$verb,
      scheduler = handle$scheduler,
      key = handle$key,
      submitted = handle$submitted,
      max_steps = max_steps,
      tasks = tasks
    ),
    class = "tfdistribute_job"
  )
}

job_wire <- function(job) {
  check_class(job, "tfdistribute_job", "a job from launch()")
  wire <- unclass_list(job)[setdiff(names(job), "tasks")]
  # Python reads a missing whole number as one. A job of a scheduler has no process here.
  wire[vapply(wire, identical, NA, NA_integer_)] <- list(NULL)
  wire
}

# Send work to the daemons of a job again that was lost, and return the state of the job.
update_job <- function(job) {
  state <- call_backend("job_state", job = job_wire(job))
  replace_daemons(job, state)
  state
}

#' @rdname jobs
#' @export
job_wait <- function(job, timeout_s = NULL, ...) {
  check_call(...)
  job_wire(job)
  timeout_s <- check_number(timeout_s, minimum = 0, null = TRUE)
  follow_job(job, timeout_s = timeout_s %||% Inf, stop_on_interrupt = FALSE)
}

#' @rdname jobs
#' @export
job_stop <- function(job, ...) {
  check_call(...)
  call_backend("stop_job", job = job_wire(job))
  invisible(job)
}

#' @rdname jobs
#' @export
job_find <- function(model_dir, ...) {
  check_call(...)
  if (inherits(model_dir, "tfdistribute_estimator")) {
    model_dir <- model_dir$model_dir
  }
  handle <- call_backend("last_job", name = absolute_path(check_string(model_dir)))
  if (!is.null(handle)) new_job(handle, handle$max_steps, NULL)
}

#' @rdname jobs
#' @export
job_state <- function(job, ...) {
  check_call(...)
  state <- update_job(job)
  structure(task_table(state$tasks), goodput = goodput_of(state))
}

#' @rdname jobs
#' @export
job_history <- function(job, ...) {
  check_call(...)
  history_of_job(update_job(job), job)
}

#' @rdname jobs
#' @export
job_logs <- function(job, task = NULL, level = c("debug", "info", "warning", "error"), ...) {
  check_call(...)
  lines <- call_backend(
    "job_logs",
    job = job_wire(job),
    task = check_string(task, null = TRUE),
    level = check_default_choice(level, c("debug", "info", "warning", "error"))
  )
  as.character(unlist(lines))
}

#' @rdname jobs
#' @export
print.tfdistribute_job <- function(x, ...) {
  print_description(x, format(x, ...))
}

#' @export
format.tfdistribute_job <- function(x, ...) {
  state <- update_job(x)
  step <- if (!is.null(state$global_step)) {
    paste0(
      " at step ",
      state$global_step,
      if (!is.null(state$max_steps)) paste0(" of ", state$max_steps)
    )
  }
  c(
    paste0("<job> ", x$id, ": ", state$state, step),
    if (identical(state$state, "queued")) paste0("  ", state$message),
    format_tasks(task_table(state$tasks)),
    if (!is.null(state$goodput)) paste0("  ", state$goodput$text),
    if (length(state$notes) > 0) paste0("  ! ", unlist(state$notes)),
    paste0("  model_dir: ", x$model_dir),
    if (!is.null(state$logs)) paste0("  logs: ", state$logs)
  )
}

# Tables of tasks --------------------------------------------------------------------------------

task_table <- function(rows) {
  table <- table_of(
    rows,
    task = "",
    host = "",
    pid = NA_integer_,
    port = NA_integer_,
    activity = "",
    step = NA_integer_,
    examples_per_second = NA_real_,
    seconds_since_step = NA_real_,
    input_wait = NA_real_,
    gpu_utilization = NA_real_,
    gpu_memory_mb = NA_real_,
    gpu_power_w = NA_real_,
    log = ""
  )
  names(table)[names(table) == "activity"] <- "state"
  table
}

# Lines such as "  worker 0     localhost  pid 12  training, step 30, 1,200 examples/s"
format_tasks <- function(tasks) {
  if (nrow(tasks) == 0) {
    return(character())
  }
  facts <- Map(
    function(state, step, speed, wait, gpu) {
      toString(c(
        state,
        if (!is.na(step)) paste("step", step),
        if (!is.na(speed)) paste(format_count(speed), "examples/s"),
        utilization_text(list(input_wait = wait, gpu_utilization = gpu))
      ))
    },
    tasks$state,
    tasks$step,
    tasks$examples_per_second,
    tasks$input_wait,
    tasks$gpu_utilization
  )
  process <- ifelse(is.na(tasks$pid), "", paste("pid", tasks$pid))
  lines <- paste0(format(tasks$task), "  ", tasks$host, "  ", format(process), "  ", facts)
  paste0("  ", first_of(sub(" +$", "", lines)))
}

# Results ----------------------------------------------------------------------------------------

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
    steps_lost = as.integer(state$steps_lost %||% 0L),
    goodput = goodput_of(state)
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
