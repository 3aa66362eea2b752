# Costs of one number of workers, as JSON: workers.R workers COUNT.
#
# A small model on a data frame of 100,000 rows, with the same global batch for every number of workers.
library(tfdistribute)
# Processes for a next training would start while other ways are measured.
options(tfdistribute.idle_s = 0)
options(tfdistribute.progress = FALSE)

workers <- as.integer(commandArgs(TRUE)[[2]])
set.seed(1)
data <- as.data.frame(matrix(stats::runif(2e6), 1e5))
model <- dnn_regressor(
  hidden_units = c(64, 32),
  feature_columns = feature_columns(column_numeric(names(data)[-1])),
  config = run_config(
    train_distribute = strategy_multi_worker(),
    cluster = local_cluster(workers = workers, start_timeout_s = 600)
  )
)
input <- input_fn(V1 ~ ., data, batch_size = 840, num_epochs = NULL)

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

steps <- 2000
started <- as.numeric(Sys.time())
job <- launch(model, train_spec(input, max_steps = steps), wait = FALSE)
memory <- 0
repeat {
  tasks <- job_state(job)
  memory <- max(memory, memory_mb(tasks$pid))
  if (all(tasks$state %in% c("done", "failed", "stopped"))) {
    break
  }
  Sys.sleep(0.5)
}
history <- wait_for(job)
whole <- as.numeric(Sys.time()) - started
unlink(model_dir(model), recursive = TRUE)
training <- max(history$losses$seconds) - min(history$losses$seconds)
cat(
  jsonlite::toJSON(
    list(
      `seconds to start and end` = whole - training,
      `MB of memory` = memory,
      `seconds of 2,000 steps` = training
    ),
    auto_unbox = TRUE,
    digits = 6
  ),
  "\n"
)
