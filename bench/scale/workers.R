# Costs of one number of workers, as JSON: workers.R workers COUNT.
#
# A small model on a data frame of 100,000 rows, with the same global batch for every number of workers. All workers
# share the cores of this machine and wait for each other, so seconds are those of processor time of all of them.
library(tfdistribute)
# Processes for a next training would start while other ways are measured.
options(tfdistribute.progress = FALSE)

workers <- as.integer(commandArgs(TRUE)[[2]])
set.seed(1)
data <- as.data.frame(matrix(stats::runif(2e6), 1e5))
model <- dnn_regressor(
  hidden_units = c(64, 32),
  feature_columns = feature_columns(column_numeric(names(data)[-1])),
  config = run_config(
    strategy = strategy_multi_worker(),
    cluster = local_cluster(workers = workers, start_timeout_s = 600)
  )
)
input <- input_fn(V1 ~ ., data, batch_size = 840, epochs = NULL)

# Memory of processes in MB. What several of them share counts once.
memory_mb <- function(ids) {
  files <- file.path("/proc", ids[!is.na(ids)], "smaps_rollup")
  lines <- unlist(lapply(files[file.exists(files)], function(file) {
    # A process may just have ended.
    tryCatch(
      readLines(file),
      error = function(condition) character(),
      warning = function(condition) character()
    )
  }))
  shares <- grep("^Pss:", lines, value = TRUE)
  sum(as.numeric(gsub("[^0-9]", "", shares))) / 1024
}

# Processor time of processes in seconds, of which a tick is a hundredth.
processor_s <- function(ids) {
  lines <- vapply(file.path("/proc", ids, "stat"), readLines, "")
  # The name of the program may have spaces.
  fields <- strsplit(sub("^.*\\) ", "", lines), " ")
  sum(vapply(fields, function(each) sum(as.numeric(each[12:13])), 0)) / 100
}

# What a job has used so far.
sampled <- function(job) {
  tasks <- job_state(job)
  list(step = max(0, tasks$step, na.rm = TRUE), ids = tasks$pid)
}

# Seconds of training that are measured.
measured_s <- 8
steps <- 2000
job <- launch(model, train_spec(input, max_steps = 1e7), wait = FALSE)
while ((first <- sampled(job))$step == 0) {
  Sys.sleep(0.05)
}
before_s <- processor_s(first$ids)
# The number of steps per run has been chosen.
Sys.sleep(1)
begun <- sampled(job)
begun_s <- processor_s(begun$ids)
Sys.sleep(measured_s)
last <- sampled(job)
last_s <- processor_s(last$ids)
memory <- memory_mb(last$ids)
invisible(job_stop(job))
repeat {
  if (all(job_state(job)$state %in% c("done", "failed", "stopped"))) {
    break
  }
  Sys.sleep(0.1)
}
unlink(model_dir(model), recursive = TRUE)
taken <- (last$step - begun$step) / steps
cat(
  jsonlite::toJSON(
    list(
      `seconds to the first step` = before_s,
      `MB of memory` = memory,
      `seconds of 2,000 steps` = (last_s - begun_s) / taken
    ),
    auto_unbox = TRUE,
    digits = 6
  ),
  "\n"
)
