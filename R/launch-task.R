# The task file of a job, which the session writes, and each task checks and reads.

# Write a verb and its arguments, including the estimator as `object`. Returns the path of the file.
write_task <- function(directory, verb, arguments) {
  shared <- shared_options()
  captures <- find_captures(c(user_arguments(arguments), list("options()" = shared)))
  note_unsent_options(captures$options)
  for (name in captures$large) {
    cli::cli_inform(c(
      i = paste0(
        "{.code {name}} is larger than 100 MB, and every process gets a copy of it. ",
        "Data passed to {.fn input_fn} is shared."
      )
    ))
  }
  task <- list(
    verb = verb,
    arguments = arguments,
    packages = attached_packages(),
    options = shared,
    seed = session_seed()
  )
  path <- task_file(directory)
  write_captured(task, captures, path)
  path
}

# Write values with the objects from find_captures() that they need.
write_captured <- function(values, captures, path) {
  values$globals <- lapply(rlang::set_names(captures$globals), get, envir = globalenv())
  values$frames <- lapply(captures$frames, function(frame) {
    list(parent = parent.env(frame$environment), variables = frame_values(frame))
  })
  saveRDS(values, path, compress = FALSE, refhook = placeholder_writer(captures$frames))
}

task_file <- function(directory) {
  file.path(directory, "task.rds")
}

# The estimator's fields and the verb's other arguments, by the names in the user's call.
user_arguments <- function(arguments) {
  object <- unclass_list(arguments$object)
  c(object, arguments[setdiff(names(arguments), "object")])
}

frame_values <- function(frame) {
  names <- frame$variables
  values <- lapply(rlang::set_names(setdiff(names, "...")), function(name) {
    variable_of(frame$environment, name, list(root = name))
  })
  list(values = values, dots = if ("..." %in% names) dots_of(frame$environment))
}

# Frames and Python modules are written as placeholders.
placeholder_writer <- function(frames) {
  addresses <- names(frames)
  function(x) {
    module <- if (is_python_object(x)) python_module_name(x)
    if (!is.null(module)) {
      return(paste0("module:", module))
    }
    index <- if (is.environment(x)) match(rlang::obj_address(x), addresses)
    if (!is.null(index) && !is.na(index)) paste0("frame:", index)
  }
}

attached_packages <- function() {
  attached <- sub("^package:", "", grep("^package:", search(), value = TRUE))
  rev(setdiff(attached, "base"))
}

# All tasks start with the same random numbers, so batches that R code draws are the same in every task.
session_seed <- function() {
  if (!exists(".Random.seed", envir = globalenv(), inherits = FALSE)) {
    stats::runif(1)
  }
  get(".Random.seed", envir = globalenv(), inherits = FALSE)
}

# Read a task's `verb` and `arguments` after Python has checked the file's digest. Attaches packages, and sets options,
# variables of the global environment and the state of the random number generator.
read_task <- function(directory, digest) {
  path <- task_file(directory)
  call_backend("check_digest", path = path, digest = digest)
  task <- read_captured(path)
  for (package in task$packages) {
    suppressPackageStartupMessages(
      library(package, character.only = TRUE, warn.conflicts = FALSE, quietly = TRUE)
    )
  }
  options(task$options)
  global <- globalenv()
  list2env(task$globals, envir = global)
  assign(".Random.seed", task$seed, envir = global)
  task[c("verb", "arguments")]
}

# Read the file of write_captured(). `globals` are not set. Functions that were in the global environment find their
# variables in `home`.
read_captured <- function(path, home = globalenv()) {
  frames <- new.env(parent = emptyenv())
  values <- readRDS(path, refhook = placeholder_reader(frames))
  restore_frames(values$frames, frames, home)
  values
}

placeholder_reader <- function(frames) {
  function(placeholder) {
    if (startsWith(placeholder, "module:")) {
      return(python_module(sub("^module:", "", placeholder)))
    }
    if (is.null(frames[[placeholder]])) {
      assign(placeholder, new.env(), envir = frames)
    }
    frames[[placeholder]]
  }
}

restore_frames <- function(written, frames, home) {
  read_placeholder <- placeholder_reader(frames)
  for (index in seq_along(written)) {
    frame <- read_placeholder(paste0("frame:", index))
    parent <- written[[index]]$parent
    parent.env(frame) <- if (identical(parent, globalenv())) home else parent
    variables <- written[[index]]$variables
    list2env(lapply(variables$values, rehome, home), envir = frame)
    if (!is.null(variables$dots)) {
      with_dots <- do.call(function(...) environment(), variables$dots, quote = TRUE)
      assign("...", get("...", envir = with_dots), envir = frame)
    }
  }
}

# Functions and formulas of the global environment, also inside lists, find their variables in `home`.
rehome <- function(value, home) {
  has_environment <- is.function(value) || inherits(value, "formula")
  if (has_environment && identical(environment(value), globalenv())) {
    environment(value) <- home
  } else if (is.list(value) && !identical(home, globalenv())) {
    value[] <- lapply(value, rehome, home)
  }
  value
}

# Rows in memory ------------------------------------------------------------------------------------

# The `arguments` of a verb with inputs of kind "mapped" in place of rows in memory, and these rows as `inputs`, by the
# names of their folders in the private directory of the job, from which all tasks read them.
share_data <- function(arguments) {
  is_in_memory <- function(x) inherits(source_of(x), "tfdistribute_in_memory_input")
  in_memory <- Filter(is_in_memory, arguments)
  folders <- sprintf("data-%d", seq_along(in_memory))
  inputs <- rlang::set_names(unname(lapply(in_memory, source_of)), folders)
  arguments[names(in_memory)] <- Map(map_source, in_memory, list(as_mapped), folders)
  list(arguments = arguments, inputs = inputs)
}

input_files <- function(arguments) {
  paths <- unlist(lapply(arguments, function(x) if (inherits(x, input_classes)) source_of(x)$paths))
  paths <- as.character(unique(paths))
  vapply(paths[!grepl("://", paths, fixed = TRUE)], absolute_path, "", USE.NAMES = FALSE)
}

input_classes <- c("tfdistribute_input", "tfdistribute_train_spec", "tfdistribute_eval_spec")

as_mapped <- function(input, path) {
  kept <- unclass(input)[c("response", "batch_size", "epochs", "shuffle", "seed")]
  do.call(new_description, c(list("input", "mapped", directory = path), kept))
}

#' @export
format.tfdistribute_mapped_input <- function(x, ...) {
  c(
    paste0("<input> rows in ", x$directory),
    paste0("  batch_size  ", x$batch_size, " over all replicas")
  )
}

# Entry point of tasks -----------------------------------------------------------------------------

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
  repeat {
    # A process that was prepared for a restart has no task yet. One in a container has no supervisor.
    is_prepared <- nzchar(Sys.getenv("TFDISTRIBUTE_CHANNEL"))
    has_task <- !is_prepared || nzchar(Sys.getenv("TFDISTRIBUTE_EVENTS"))
    status <- if (has_task) exit_status(perform_task(directory, digest))
    if (identical(status, 0L) || !call_backend("await_task", status = status)) {
      break
    }
    forget_interrupt()
  }
  quit(save = "no", status = status)
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
