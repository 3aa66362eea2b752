# A task of a job: an R process that checks and reads what it is to do, and performs the verb as that task.

# The entry point of the processes that launch() starts, which set the environment variables. R ends with status 0 when
# the work is done, 130 when it was interrupted, and 1 otherwise.
run_task <- function() {
  directory <- Sys.getenv("TFDISTRIBUTE_JOB")
  digest <- Sys.getenv("TFDISTRIBUTE_DIGEST")
  if (!nzchar(directory) || !nzchar(digest) || interactive()) {
    abort_tfdistribute(
      "argument",
      problem = "`TFDISTRIBUTE_JOB` does not name a job: this process is not a task.",
      remedy = "Call launch(), which starts the processes of a cluster.",
      argument = "TFDISTRIBUTE_JOB",
      value = directory
    )
  }
  options(keep.source = TRUE, rlang_backtrace_on_error = "full", width = 120)
  quit(save = "no", status = status_of(perform_task(directory, digest)))
}

# What Rscript is given. The profile of the session is not read: it may print, load or ask.
task_command <- function() {
  c(file.path(R.home("bin"), "Rscript"), "--vanilla", "-e", "tfdistribute:::run_task()")
}

# Libraries and Python are those of the session.
task_environment <- function() {
  list(
    R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep),
    RETICULATE_PYTHON = python_in_use()
  )
}

status_of <- function(expr) {
  tryCatch(
    withCallingHandlers(
      {
        expr
        0L
      },
      error = note_trace,
      interrupt = function(interrupt) show_calls()
    ),
    interrupt = function(interrupt) 130L,
    error = function(error) {
      report_failure(error)
      1L
    }
  )
}

perform_task <- function(directory, digest) {
  call_backend("task_event", event = "started")
  task <- read_task(directory, digest)
  verb <- switch(
    task$verb,
    train = train,
    train_and_evaluate = train_and_evaluate
  )
  # A process that quits shows no warnings that it has kept until then.
  warn <- getOption("warn")
  options(tfdistribute.progress = FALSE, warn = if (warn == 0) 1 else warn)
  do.call(verb, task$arguments)
}

# Where an error of R happened, which is gone when it is told.
note_trace <- function(error) {
  the$task_trace <- error$trace %||% rlang::trace_back(bottom = 2)
}

# What Python has told already, it does not tell again.
report_failure <- function(error) {
  message("Error: ", conditionMessage(error))
  if (!is.null(error$python_traceback)) {
    message(error$python_traceback)
  }
  kinds <- kinds_of(error)
  call_backend(
    "task_event",
    event = "failed",
    fields = list(
      kind = kinds[[1]],
      kinds = as.list(kinds),
      problem = error$problem %||% conditionMessage(error),
      remedy = error$remedy,
      argument = error$argument,
      value = error$value,
      traceback = error$python_traceback,
      r_traceback = trace_text(the$task_trace),
      transient = FALSE
    )
  )
}

# tfdistribute_sharding_error, tfdistribute_input_error, tfdistribute_error -> sharding, input, error. Any other error
# is one of the user's code.
kinds_of <- function(error) {
  pattern <- "^tfdistribute_(.*_)?error$"
  classes <- grep(pattern, class(error), value = TRUE)
  kinds <- sub("_error$", "", sub("^tfdistribute_", "", classes))
  if (length(kinds) == 0) c("callback", "error") else kinds
}
