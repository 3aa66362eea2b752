# A table of 300,000 rows and 20 columns: seconds and score of tabular_regressor() and LightGBM, and the memory that the
# training needs, in sizes of the data. large.R [EPOCHS], by default as many as the validation chooses. Needs setup.sh.

source("bench/quality/tables.R")
source("bench/quality/ways.R")
suppressPackageStartupMessages(library(tfdistribute))

epochs <- commandArgs(TRUE)
options(tfdistribute.progress = FALSE)
set.seed(1)
rows <- 375000
columns <- as.data.frame(matrix(rnorm(rows * 20), rows))
columns$V1 <- factor(sample(letters, rows, replace = TRUE))
y <- 1000 * with(columns, V2 * V3 + sin(3 * V4) + as.integer(V1) / 10 + rnorm(rows) / 2)
data <- data.frame(y = y, columns)
table <- list(response = "y", train = data[1:300000, ], test = data[300001:rows, ])
rm(data, columns, y)

peak <- function() {
  line <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
  1024 * as.numeric(gsub("[^0-9]", "", line))
}
report <- function(way, seconds, error) {
  cat(sprintf("%-9s RMSE %.1f  %.0f s\n", way, error, seconds[["elapsed"]]))
}
if (nzchar(Sys.getenv("PEERS_PYTHON"))) {
  seconds <- system.time(found <- ways$lightgbm(table, 1))
  report("lightgbm", seconds, score(found, table$test[[1]]))
}
# TensorFlow's own memory does not depend on the rows.
small <- tabular_regressor()
train(small, y ~ ., data = utils::head(table$train, 1000))
invisible(predict(small, utils::head(table$test[-1], 1000)))
before <- peak()
seconds <- system.time({
  model <- tabular_regressor(
    epochs = if (length(epochs) > 0) as.integer(epochs[[1]]),
    config = run_config(seed = 1)
  )
  train(model, y ~ ., data = table$train)
  found <- predict(model, table$test[-1])$predictions
})
report("tabular", seconds, score(found, table$test[[1]]))
size <- as.numeric(utils::object.size(table$train))
cat(sprintf("memory    %.2f times the data of %.0f MB\n", (peak() - before) / size, size / 1e6))
