# This package with its defaults: package.R one (one process on one core) or package.R two (two workers of a job);
# package.R messages for two workers that do not share memory.
#
# 256 floats, three hidden layers of 1024 units, 512 examples per step over all workers.
source("bench/suite/way.R")
library(tfdistribute)
# Processes for a next training would start while other ways are measured.
options(tfdistribute.progress = FALSE)

way <- commandArgs(TRUE)[[1]]
one <- way == "one"
if (one) {
  # Before TensorFlow starts, so that it sees one core.
  system2("taskset", c("-cp", "0", Sys.getpid()), stdout = FALSE)
}

rows <- 8192
width <- 256
batch_size <- 512
set.seed(1)
x <- matrix(stats::runif(rows * width), rows)
y <- x[, 1] - x[, 2]
input <- input_fn(list(x = x, y = y), x, y, batch_size = batch_size, epochs = NULL)

config <- if (one) {
  run_config()
} else {
  strategy <- strategy_multi_worker(communication = if (way == "messages") "ring" else "auto")
  run_config(strategy = strategy, cluster = local_cluster(workers = 2))
}

take_turns(
  function(steps) {
    model <- dnn_regressor(
      hidden_units = c(1024, 1024, 1024),
      feature_columns = feature_columns(column_numeric("x", shape = width)),
      config = config
    )
    on.exit(unlink(model_dir(model), recursive = TRUE))
    examples_per_second(train(model, input, steps = steps), batch_size)
  },
  warm_up = if (one) 2L else 0L
)
