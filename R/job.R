# Handles of background jobs.

#' Control jobs that train in the background
#'
#' `launch(wait = FALSE)` returns a handle of the job that it started. The handle is a plain R value; printing it shows
#' what each task is doing. The job ends with the R session that started it, unless it is one of a [slurm_cluster()].
#'
#' `find_job()` returns the handle of a job that was started elsewhere: a job that trains in `model_dir`, or waits for
#' nodes of Slurm, or the last one that ended there.
#'
#' `wait_for()` shows the progress until the job ends, as [launch()] does. Interrupting it does not stop the job.
#' `stop_job()` lets the chief write a checkpoint and ends all processes; a later training continues from there.
#' `job_state()` returns the table of tasks, `job_history()` the history so far, and `job_logs()` the output of the
#' processes. They return at once, so that a Shiny app can ask again and again; [view()] shows a page with all of it.
#'
#' @param job,x A handle from [launch()] or `find_job()`.
#' @param model_dir Directory of the model, a string, or its estimator.
#' @param timeout_s Longest time to wait in seconds, a number; NULL waits until the job ends.
#' @param task One task, such as `"worker 1"`; NULL for all, with the task at the start of each line.
#' @param level Lowest level of the lines: `"debug"` for all of them, `"info"`, `"warning"` or `"error"`.
#' @param ... Must be empty.
#' @returns
#' * `wait_for()`: the [history][history], as from [launch()]; invisibly NULL if the job still runs after `timeout_s`.
#' * `stop_job()`: the handle, invisibly.
#' * `find_job()`: a handle; NULL without a job.
#' * `job_state()`: a tibble with one row per task: `task`, `host`, `pid`, `port`, `state` (such as `"starting"`,
#'   `"waiting for a checkpoint"`, `"training"`, `"stalled"`, `"done"`, `"failed"`), `step`, `examples_per_second`,
#'   `seconds_since_step`, `log`.
#' * `job_history()`: a history; while the job runs, with the losses that are saved in `model_dir`, and its evaluations.
#' * `job_logs()`: lines, strings.
#' @section Errors:
#' * Those of [launch()], from `wait_for()`, if the job fails.
#' * `tfdistribute_argument_error`: `job` is not a handle, or does not have the task.
#' @family jobs
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(
#'   feature_columns(column_numeric("wt")),
#'   config = run_config(strategy_multi_worker(), cluster = local_cluster(workers = 2))
#' )
#' input <- input_fn(mpg ~ wt, mtcars, batch_size = 16, num_epochs = NULL)
#' training <- train_spec(input, max_steps = 1e6)
#' \donttest{
#' job <- launch(model, training, wait = FALSE)
#' job
#' stop_job(job)
#' job_logs(job, "chief 0", level = "error")
#' }
#' @name jobs
NULL

# `handle` is Python's answer to start_job(); `max_steps` and `tasks` are for printing.
new_job <- function(handle, max_steps, tasks) {
  structure(
    list(
      id = handle$id,
      pid = as.integer(handle$pid %||% NA),
      directory = handle$directory,
      model_dir = handle$model_dir,
      logs = handle$logs,
      verb = handle$verb,
      slurm_id = handle$slurm_id,
      submitted = handle$submitted,
      max_steps = max_steps,
      tasks = tasks
    ),
    class = "tfdistribute_job"
  )
}

job_wire <- function(job) {
  check_class(job, "tfdistribute_job", "a job from launch()")
  unclass_list(job)[c(
    "id",
    "pid",
    "directory",
    "model_dir",
    "logs",
    "verb",
    "slurm_id",
    "submitted",
    "max_steps"
  )]
}

read_job <- function(job) {
  call_backend("job_state", job = job_wire(job))
}

#' @rdname jobs
#' @export
wait_for <- function(job, timeout_s = NULL, ...) {
  check_call()
  job_wire(job)
  timeout_s <- check_number(timeout_s, minimum = 0, null = TRUE)
  follow_job(job, timeout_s = timeout_s %||% Inf, stop_on_interrupt = FALSE)
}

#' @rdname jobs
#' @export
stop_job <- function(job, ...) {
  check_call()
  call_backend("stop_job", job = job_wire(job))
  invisible(job)
}

#' @rdname jobs
#' @export
find_job <- function(model_dir, ...) {
  check_call()
  if (inherits(model_dir, "tfdistribute_estimator")) {
    model_dir <- model_dir$model_dir
  }
  handle <- call_backend("last_job", name = absolute_path(check_string(model_dir)))
  if (!is.null(handle)) new_job(handle, handle$max_steps, NULL)
}

#' @rdname jobs
#' @export
job_state <- function(job, ...) {
  check_call()
  task_table(read_job(job)$tasks)
}

#' @rdname jobs
#' @export
job_history <- function(job, ...) {
  check_call()
  history_of_job(read_job(job), job)
}

#' @rdname jobs
#' @export
job_logs <- function(job, task = NULL, level = c("debug", "info", "warning", "error"), ...) {
  check_call()
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
  state <- read_job(x)
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
    if (length(state$notes) > 0) paste0("  ! ", unlist(state$notes)),
    paste0("  model_dir: ", x$model_dir),
    if (!is.null(state$logs)) paste0("  logs: ", state$logs)
  )
}

# Tables of tasks --------------------------------------------------------------------------------

task_table <- function(rows) {
  column <- function(name, missing) {
    vapply(rows, function(row) row[[name]] %||% missing, missing)
  }
  numbers <- function(name) {
    vapply(rows, function(row) as.double(row[[name]] %||% NA), NA_real_)
  }
  tibble::tibble(
    task = column("task", ""),
    host = column("host", ""),
    pid = as.integer(numbers("pid")),
    port = as.integer(numbers("port")),
    state = column("activity", ""),
    step = as.integer(numbers("step")),
    examples_per_second = numbers("examples_per_second"),
    seconds_since_step = numbers("seconds_since_step"),
    log = column("log", "")
  )
}

# Lines such as "  worker 0     localhost  pid 12  training, step 30, 1,200 examples/s"
format_tasks <- function(tasks) {
  if (nrow(tasks) == 0) {
    return(character())
  }
  facts <- Map(
    function(state, step, speed) {
      paste(
        c(
          state,
          if (!is.na(step)) paste("step", step),
          if (!is.na(speed)) paste(format_count(speed), "examples/s")
        ),
        collapse = ", "
      )
    },
    tasks$state,
    tasks$step,
    tasks$examples_per_second
  )
  process <- ifelse(is.na(tasks$pid), "", paste("pid", tasks$pid))
  lines <- paste0(format(tasks$task), "  ", tasks$host, "  ", format(process), "  ", facts)
  paste0("  ", first_of(sub(" +$", "", lines)))
}
