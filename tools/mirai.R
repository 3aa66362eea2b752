# Train in daemons of the real mirai, lose one of them, and compare with processes of this machine:
#   tools/env Rscript tools/mirai.R
# Where mirai is not installed, tests use a stand-in (helper-mirai.R). This script needs mirai and nanonext.
library(tfdistribute)
library(mirai)
cat("mirai", format(packageVersion("mirai")), "\n")
# Daemons find packages where this session does.
Sys.setenv(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
folder <- tempfile("mirai-")
dir.create(folder)

model_on <- function(cluster, name) {
  linear_regressor(
    feature_columns(mpg ~ wt + hp, mtcars),
    model_dir = file.path(folder, name),
    config = run_config(cluster = cluster, seed = 1)
  )
}

trained <- function(cluster, name) {
  model <- model_on(cluster, name)
  train(model, mpg ~ wt + hp, data = mtcars, batch_size = 8, epochs = 20, shuffle = FALSE)
  unlist(variable_value(model))
}

print(tryCatch(
  check_cluster(mirai_cluster(workers = 2)),
  error = function(error) conditionMessage(error)
))
here <- trained(local_cluster(2, evaluator = FALSE), "here")
for (url in list(NULL, local_url(tcp = TRUE))) {
  daemons(if (is.null(url)) 2, url = url)
  if (!is.null(url)) {
    launch_local(2)
    while (status()$connections < 2) {
      Sys.sleep(0.1)
    }
  }
  on_mirai <- mirai_cluster(workers = 2, evaluator = FALSE, restarts = 1)
  print(check_cluster(on_mirai))
  name <- if (is.null(url)) "ipc" else "tcp"
  seconds <- system.time(there <- trained(on_mirai, name))[["elapsed"]]
  cat(sprintf(
    "%s: %.1f s, largest difference of a weight: %.2g\n",
    name,
    seconds,
    max(abs(there - here))
  ))
  stopifnot(max(abs(there - here)) < 1e-5)
  # The daemons are free again.
  pids <- unlist(lapply(1:2, function(each) {
    mirai({
      Sys.sleep(0.5)
      Sys.getpid()
    })[]
  }))
  stopifnot(length(unique(pids)) == 2)
}
daemons(2)
pids <- unlist(lapply(1:2, function(each) {
  mirai({
    Sys.sleep(0.5)
    Sys.getpid()
  })[]
}))

input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 8, epochs = NULL)
model <- model_on(mirai_cluster(workers = 2, evaluator = FALSE, lease_s = 5), "lost")
job <- launch(model, train_spec(input, max_steps = 1e6), wait = FALSE)
step <- function() max(job_state(job)$step, 0, na.rm = TRUE)
while (step() < 500) {
  Sys.sleep(0.1)
}
# The session is free, and the daemons are not.
print(status())
began <- Sys.time()
tools::pskill(pids[[1]], tools::SIGKILL)
restarts <- function() job_history(job)$restarts
while (restarts() == 0 || !all(job_state(job)$state == "training")) {
  Sys.sleep(0.1)
}
cat(sprintf(
  "training again %.1f s after a daemon was killed\n",
  difftime(Sys.time(), began, units = "secs")
))
stopifnot(status()$connections == 2)
job_stop(job)
print(job)
began <- Sys.time()
daemons(0)
cat(sprintf("daemons(0): %.1f s\n", difftime(Sys.time(), began, units = "secs")))

# Daemons that are reset end their job.
daemons(2)
job <- launch(model, train_spec(input, max_steps = 2e6), wait = FALSE)
from <- step()
while (step() < from + 500) {
  Sys.sleep(0.1)
}
daemons(0)
cat(tryCatch(job_wait(job, timeout_s = 60), error = function(error) conditionMessage(error)), "\n")
unlink(folder, recursive = TRUE)
