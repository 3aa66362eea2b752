# Seconds to the first step of two workers: restart.R start (from launch() in a session that has loaded this package),
# restart.R lost (from the loss of one of them, after a checkpoint, to the first step after the restart) or restart.R
# prepared (the same after processes for restarts were prepared).
source("bench/suite/way.R")
step <- new.env()
sys.source("bench/start-up/one-step.R", step)

way <- commandArgs(TRUE)[[1]]
options(tfdistribute.idle_s = if (way == "prepared") 300 else 0)

# The limit is longer than a failing restart takes.
wait_until <- function(condition, seconds = 120) {
  deadline <- Sys.time() + seconds
  while (!condition()) {
    stopifnot(Sys.time() < deadline)
    Sys.sleep(0.02)
  }
}

has_saved <- function(directory) {
  length(list.files(file.path(directory, "model"), "^model\\.ckpt-[1-9][0-9]*\\.index$")) > 0
}

# Wait until the processes for restarts of a job exist and only wait.
wait_until_prepared <- function(job) {
  ids <- function() {
    files <- Sys.glob("/proc/[0-9]*/environ")
    texts <- lapply(files, function(file) {
      suppressWarnings(tryCatch(readLines(file, skipNul = TRUE), error = function(error) ""))
    })
    is_prepared <- vapply(texts, function(text) any(grepl("TFDISTRIBUTE_PREPARED=1", text)), NA)
    is_own <- vapply(texts, function(text) any(grepl(job$directory, text, fixed = TRUE)), NA)
    basename(dirname(files[is_prepared & is_own]))
  }
  ticks <- function() {
    vapply(
      ids(),
      function(id) {
        # A process may just have ended.
        tryCatch(
          suppressWarnings(paste(
            scan(file.path("/proc", id, "stat"), "", quiet = TRUE)[14:15],
            collapse = " "
          )),
          error = function(condition) paste("ended before", Sys.time())
        )
      },
      ""
    )
  }
  wait_until(function() {
    before <- ticks()
    Sys.sleep(1)
    length(before) == 2 && identical(before, ticks())
  })
}

# Kills the worker after a checkpoint, and returns the time.
lose_worker <- function(job, directory) {
  wait_until(function() has_saved(directory))
  tasks <- job_state(job)
  lost <- as.numeric(Sys.time())
  tools::pskill(tasks$pid[tasks$task == "worker 0"], tools::SIGKILL)
  lost
}

begin_job <- function() {
  directory <- tempfile("restart-")
  dir.create(directory)
  cluster <- local_cluster(workers = 2, start_timeout_s = 200)
  since <- as.numeric(Sys.time())
  model <- step$small_model(directory, cluster, save_checkpoints_steps = 20)
  # Processes are prepared beside the training, which would otherwise use both cores.
  pause <- hook_session_run(after_run = function(context, values) Sys.sleep(0.1))
  training <- train_spec(
    step$small_input(epochs = NULL),
    max_steps = 1e6,
    hooks = list(step$first_step_hook(directory), pause)
  )
  list(job = launch(model, training, wait = FALSE), directory = directory, since = since)
}

end_job <- function(begun) {
  job_stop(begun$job)
  unlink(begun$directory, recursive = TRUE)
}

seconds <- function() {
  begun <- begin_job()
  on.exit(end_job(begun))
  if (way == "prepared") {
    wait_until_prepared(begun$job)
  }
  since <- begun$since
  start <- 0
  if (way != "start") {
    since <- lose_worker(begun$job, begun$directory)
    start <- 1
  }
  file <- file.path(begun$directory, paste0("first-step-", start))
  wait_until(function() isTRUE(file.size(file) > 0))
  as.numeric(readLines(file)) - since
}

take_turns(function(runs) mean(replicate(runs, seconds())))
