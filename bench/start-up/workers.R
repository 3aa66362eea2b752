# Seconds from the call to the first step of two workers: workers.R job (train() in a session that has loaded this
# package) or workers.R hand (two Rscript processes with TF_CONFIG).
source("bench/suite/way.R")
step <- new.env()
sys.source("bench/start-up/one-step.R", step)

by_job <- function(directory) {
  model <- step$small_model(directory, local_cluster(workers = 2, start_timeout_s = 200))
  train(model, step$small_input(), steps = 1, hooks = step$first_step_hook(directory))
}

by_hand <- function(directory) {
  addresses <- paste0("127.0.0.1:", sample(20000:30000, 2))
  environments <- as_tf_config(address_cluster(chief = addresses[[1]], worker = addresses[[2]]))
  processes <- lapply(environments, function(environment) {
    processx::process$new(
      file.path(R.home("bin"), "Rscript"),
      c("bench/start-up/one-step.R", directory),
      env = c("current", TF_CONFIG = environment),
      cleanup_tree = TRUE
    )
  })
  for (process in processes) {
    process$wait(timeout = 120e3)
    stopifnot(process$get_exit_status() == 0)
  }
}

kind <- commandArgs(TRUE)[[1]]
way <- switch(kind, job = by_job, hand = by_hand)
seconds_to_first_step <- function() {
  directory <- tempfile("start-up-")
  dir.create(directory)
  on.exit(unlink(directory, recursive = TRUE))
  called <- as.numeric(Sys.time())
  way(directory)
  as.numeric(readLines(file.path(directory, "first-step-0"))) - called
}

take_turns(function(runs) mean(replicate(runs, seconds_to_first_step())))
