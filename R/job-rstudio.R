# Background jobs in RStudio's jobs pane.

# Show a job if the session runs in RStudio, and return its handle. R has one thread, so the job is reported after each
# console command and, if the package later is installed, while the console is idle.
show_in_rstudio <- function(job) {
  add <- rstudio_function("jobAdd")
  if (is.null(add)) {
    return(job)
  }
  shown <- add(
    name = paste("Training in", basename(job$model_dir)),
    status = "starting",
    progressUnits = as.integer(job$max_steps %||% 0),
    actions = list(stop = function(id) job_stop(job)),
    running = TRUE,
    autoRemove = FALSE,
    show = FALSE
  )
  report <- job_reporter(job, shown)
  addTaskCallback(function(...) report(), name = paste0("tfdistribute-", job$id))
  report_when_idle(report)
  job
}

# A function that reports the job and returns TRUE while it runs. addTaskCallback() removes a function that returns
# FALSE. Two callers share it, so it reports each text once, and nothing after the end.
job_reporter <- function(job, shown) {
  seen <- new.env(parent = emptyenv())
  seen$notes <- 0L
  seen$has_ended <- FALSE
  function() {
    if (seen$has_ended) {
      return(FALSE)
    }
    state <- update_job(job)
    seen$has_ended <- !is.null(state$ended)
    report_progress(state, job, shown)
    notes <- unlist(state$notes)
    report_lines(utils::tail(notes, length(notes) - seen$notes), shown)
    seen$notes <- length(notes)
    if (seen$has_ended) {
      report_end(state, shown)
    }
    !seen$has_ended
  }
}

report_progress <- function(state, job, shown) {
  if (!is.null(state$global_step) && !is.null(job$max_steps)) {
    units <- as.integer(min(state$global_step, job$max_steps))
    rstudio_function("jobSetProgress")(shown, units)
  }
  step <- if (!is.null(state$global_step)) paste0(", step ", state$global_step)
  rstudio_function("jobSetStatus")(shown, paste0(state$state, step))
}

report_lines <- function(lines, shown, error = FALSE) {
  if (length(lines) > 0) {
    text <- paste0(lines, "\n", collapse = "")
    rstudio_function("jobAddOutput")(shown, text, error = error)
  }
}

report_end <- function(state, shown) {
  results <- c(done = "succeeded", failed = "failed", stopped = "cancelled")
  report_lines(state$failure$problem, shown, error = TRUE)
  rstudio_function("jobSetState")(shown, results[[state$state]])
}

report_when_idle <- function(report) {
  tick <- function() {
    if (report()) {
      later::later(tick, 1)
    }
  }
  if (requireNamespace("later", quietly = TRUE)) {
    later::later(tick, 1)
  }
}

# A function of rstudioapi. NULL outside RStudio.
rstudio_function <- function(name) {
  is_available <- requireNamespace("rstudioapi", quietly = TRUE) && rstudioapi::isAvailable("1.2")
  if (is_available) getExportedValue("rstudioapi", name)
}

# The addins of RStudio that inst/rstudio/addins.dcf lists.

addin_train <- function() {
  rstudioapi::sendToConsole(background_code(selected_text()))
}

addin_view <- function() {
  selected <- selected_text()
  rstudioapi::sendToConsole(sprintf("view_training(%s)", if (nzchar(selected)) selected else "job"))
}

selected_text <- function() {
  trimws(rstudioapi::primary_selection(rstudioapi::getSourceEditorContext())$text)
}

# A call of a verb, or an assignment of its result, as code that returns immediately.
background_code <- function(selection) {
  code <- tryCatch(as.list(parse(text = selection, keep.source = FALSE)), error = function(e) NULL)
  call <- if (length(code) == 1) code[[1]]
  if (rlang::is_call(call, c("<-", "="), n = 2)) {
    call <- call[[3]]
  }
  if (!rlang::is_call(call, c("train", "train_and_evaluate"))) {
    abort_argument(selection, "one call of train() or train_and_evaluate()", "selection")
  }
  code <- deparse(rlang::call_modify(call, wait = FALSE))
  paste("job <-", paste(code, collapse = "\n"))
}
