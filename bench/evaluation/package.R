# Evaluation by one process on one core (package.R one), or by two workers of a job with a core each (package.R two).
#
# 256 floats, three hidden layers of 1024 units, batches of 512.
source("bench/suite/way.R")
library(tfdistribute)
# Processes for a next training would start while other ways are measured.
options(tfdistribute.progress = FALSE)

one <- commandArgs(TRUE)[[1]] == "one"
if (one) {
  # Before TensorFlow starts, so that it sees one core.
  system2("taskset", c("-cp", "0", Sys.getpid()), stdout = FALSE)
}

rows <- 8192
width <- 256
set.seed(1)
x <- matrix(stats::runif(rows * width), rows)
y <- x[, 1] - x[, 2]
passes <- function(epochs) {
  input_fn(list(x = x, y = y), x, y, batch_size = 512, epochs = epochs)
}

model <- dnn_regressor(
  hidden_units = c(1024, 1024, 1024),
  feature_columns = feature_columns(column_numeric("x", shape = width))
)
train(model, passes(NULL), steps = 1)

seconds_of <- function(epochs) {
  cluster <- if (!one) local_cluster(workers = 2)
  system.time(evaluate(model, passes(epochs), cluster = cluster))[["elapsed"]]
}

take_turns(function(epochs) {
  # The time to start is in both.
  rows * epochs / (seconds_of(epochs + 1L) - seconds_of(1L))
})
