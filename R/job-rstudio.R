# A job that is not waited for, among the background jobs of RStudio.

# Show a job in RStudio, if this is RStudio; returns the handle. R has one thread, so RStudio learns of the progress
# after each command of the console, and, if the package later is installed, while the console is idle.
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

# TRUE while the job goes on, as callbacks of the console tell that they are still wanted.
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

# A function of RStudio; NULL elsewhere. Tests put a stand-in into the$rstudio.
rstudio_function <- function(name) {
  if (!is.null(the$rstudio)) {
    return(the$rstudio[[name]])
  }
  is_there <- requireNamespace("rstudioapi", quietly = TRUE) && rstudioapi::isAvailable("1.2")
  if (is_there) getExportedValue("rstudioapi", name)
}
