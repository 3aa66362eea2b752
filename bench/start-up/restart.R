# Seconds to the first step of two workers: restart.R start (from launch() in a session that has loaded this package) or
# restart.R lost (from the loss of one of them, after a checkpoint, to the first step after the restart).
source("bench/suite/way.R")
step <- new.env()
sys.source("bench/start-up/one-step.R", step)

way <- commandArgs(TRUE)[[1]]

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
  # The training would otherwise use both cores until it loses the worker.
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
