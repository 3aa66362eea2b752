# Background jobs in RStudio's jobs pane.

# Show a job if the session runs in RStudio, and return its handle. R has one thread, so the progress is updated after
# each console command and, if the package later is installed, while the console is idle.
show_in_rstudio <- function(job) {
  add <- rstudio_function("jobAdd")
  if (is.null(add)) {
    return(job)
  }
  shown <- add(
    name = paste("Training in", basename(job$model_dir)),
    status = "starting",
    progressUnits = as.integer(job$max_steps %||% 0),
    actions = list(stop = function(id) stop_job(job)),
    running = TRUE,
    autoRemove = FALSE,
    show = FALSE
  )
  update <- function(...) update_in_rstudio(job, shown)
  addTaskCallback(update, name = paste0("tfdistribute-", job$id))
  update_when_idle(update)
  job
}

# Returns TRUE while the job runs: addTaskCallback() removes a callback that returns FALSE.
update_in_rstudio <- function(job, shown) {
  state <- read_job(job)
  if (!is.null(state$global_step) && !is.null(job$max_steps)) {
    rstudio_function("jobSetProgress")(shown, as.integer(min(state$global_step, job$max_steps)))
  }
  step <- if (!is.null(state$global_step)) paste0(", step ", state$global_step)
  rstudio_function("jobSetStatus")(shown, paste0(state$state, step))
  if (is.null(state$ended)) {
    return(TRUE)
  }
  results <- c(done = "succeeded", failed = "failed", stopped = "cancelled")
  if (!is.null(state$failure)) {
    rstudio_function("jobAddOutput")(shown, paste0(state$failure$problem, "\n"), error = TRUE)
  }
  rstudio_function("jobSetState")(shown, results[[state$state]])
  FALSE
}

update_when_idle <- function(update) {
  tick <- function() {
    if (update()) {
      later::later(tick, 1)
    }
  }
  if (requireNamespace("later", quietly = TRUE)) {
    later::later(tick, 1)
  }
}

# A function of rstudioapi; NULL outside RStudio. Tests replace the functions with the$rstudio.
rstudio_function <- function(name) {
  if (!is.null(the$rstudio)) {
    return(the$rstudio[[name]])
  }
  is_available <- requireNamespace("rstudioapi", quietly = TRUE) && rstudioapi::isAvailable("1.2")
  if (is_available) getExportedValue("rstudioapi", name)
}
