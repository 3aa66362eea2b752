# Entry point of the R processes of a job. Each process reads its task file and performs the verb as one task.

# The supervisor of the job sets these environment variables.
job_variable <- "TFDISTRIBUTE_JOB"
digest_variable <- "TFDISTRIBUTE_DIGEST"

# Perform a task and end R, with status 0 if it succeeded, 130 if it was interrupted, and 1 otherwise.
run_task <- function() {
  directory <- Sys.getenv(job_variable)
  digest <- Sys.getenv(digest_variable)
  if (!nzchar(directory) || !nzchar(digest) || interactive()) {
    abort_tfdistribute(
      "argument",
      problem = "`{job_variable}` does not name a job: this process is not a task.",
      remedy = "Call launch(), which starts the processes of a cluster.",
      argument = job_variable,
      value = directory
    )
  }
  options(keep.source = TRUE, rlang_backtrace_on_error = "full", width = 120)
  quit(save = "no", status = exit_status(perform_task(directory, digest)))
}

# The command of a task. Profiles are not read because they may print, load packages or prompt. With initial memory for
# the objects that packages and TensorFlow create, R needs fewer garbage collections, which saves a twelfth of the time
# to load both.
task_command <- function(cluster = NULL) {
  own <- if (is_managed(cluster)) "Rscript" else file.path(R.home("bin"), "Rscript")
  rscript <- cluster$rscript %||% own
  c(rscript, "--vanilla", "--min-nsize=3M", "-e", "tfdistribute:::run_task()")
}

# Tasks use the package libraries and the Python of this session, unless the cluster names others or the tasks are in
# containers.
task_environment <- function(cluster = NULL) {
  if (is_managed(cluster)) {
    return(list())
  }
  libraries <- if (length(cluster$libraries) > 0) cluster$libraries else .libPaths()
  variables <- as.list(cluster$environment)
  if (is_on_hosts(cluster)) {
    # A login without a terminal often has no locale, in which R would not print all characters.
    variables$LANG <- variables$LANG %||% "C.UTF-8"
  }
  variables$R_LIBS <- paste(libraries, collapse = .Platform$path.sep)
  variables[[python_variable]] <- cluster$python %||% python_in_use()
  variables
}

exit_status <- function(expr) {
  tryCatch(
    withCallingHandlers(
      {
        expr
        0L
      },
      error = keep_trace,
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
  check_numpy()
  task <- read_task(directory, digest)
  # quit() discards deferred warnings, so they are shown immediately.
  warn <- getOption("warn")
  options(tfdistribute.progress = FALSE, warn = if (warn == 0) 1 else warn)
  arguments <- task$arguments
  work <- new_work(arguments$object, task$verb, arguments[names(arguments) != "object"])
  perform_here(work, as_task = if (reads_only(work)) TRUE)
}

# The backtrace is only available before the stack unwinds.
keep_trace <- function(error) {
  the$task_trace <- error$trace %||% rlang::trace_back(bottom = 2)
}

# Print an error, and report it to the supervisor unless Python has done so.
report_failure <- function(error) {
  message("Error: ", conditionMessage(error))
  if (!is.null(error$python_traceback)) {
    message(error$python_traceback)
  }
  kinds <- error_kinds(error)
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
# comes from the user's code.
error_kinds <- function(error) {
  pattern <- "^tfdistribute_(.*_)?error$"
  classes <- grep(pattern, class(error), value = TRUE)
  kinds <- sub("_error$", "", sub("^tfdistribute_", "", classes))
  if (length(kinds) == 0) c("callback", "error") else kinds
}
