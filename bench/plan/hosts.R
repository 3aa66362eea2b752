# A plan of the hosts of shaped_hosts.py, and trainings on 2, 3 and 4 of them: hosts.R SSH UNITS BATCH STEPS.
# Prints a line per number of hosts: hosts, planned and measured examples per second.
library(tfdistribute)
options(tfdistribute.progress = FALSE)

arguments <- commandArgs(TRUE)
units <- as.integer(arguments[[2]])
batch_size <- as.integer(arguments[[3]])
seconds <- as.numeric(arguments[[4]])

width <- 256
set.seed(1)
x <- matrix(stats::runif(8192 * width), 8192)
y <- x[, 1] - x[, 2]
input <- input_fn(list(x = x, y = y), x, y, batch_size = batch_size, epochs = NULL)
model_of <- function(workers) {
  cluster <- ssh_cluster(
    paste0("host", 1:4),
    workers = workers,
    ssh = arguments[[1]],
    evaluator = FALSE
  )
  dnn_regressor(
    hidden_units = rep(units, 3),
    feature_columns = feature_columns(column_numeric("x", shape = width)),
    model_dir = tempfile("model-"),
    config = run_config(strategy = strategy_multi_worker(), cluster = cluster)
  )
}

plan <- plan_training(model_of(3), train_spec(input), measure = TRUE)
speeds <- attr(plan, "speeds")
for (workers in 2:4) {
  planned <- speeds[speeds$workers == workers, ]
  history <- train(model_of(workers), input, steps = max(20, round(seconds / planned$step_s)))
  late <- history$losses[history$losses$step > max(history$losses$step) / 4, ]
  measured <- diff(range(late$step)) * batch_size / diff(range(late$seconds))
  cat("RESULT", workers, planned$examples_per_second, measured, planned$limit, "\n")
}
print(plan)
