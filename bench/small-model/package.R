# This package in R with its defaults: package.R wide (a matrix of 20 columns as one feature) or package.R columns (a
# data frame of 20 numeric columns).
source("bench/suite/way.R")
library(tfdistribute)
options(tfdistribute.progress = FALSE)

rows <- 200000
width <- 20
batch_size <- 128
set.seed(1)
x <- matrix(stats::runif(rows * width), rows, dimnames = list(NULL, paste0("x", seq_len(width))))
y <- as.integer(x[, 1] + x[, 2] > 1)

if (commandArgs(TRUE)[[1]] == "wide") {
  input <- input_fn(list(x = x, y = y), x, y, batch_size = batch_size, num_epochs = NULL)
  columns <- feature_columns(column_numeric("x", shape = width))
} else {
  input <- input_fn(y ~ ., data.frame(x, y), batch_size = batch_size, num_epochs = NULL)
  columns <- feature_columns(column_numeric(colnames(x)))
}

take_turns(
  function(steps) {
    model <- dnn_classifier(hidden_units = c(64, 32), feature_columns = columns)
    on.exit(unlink(model_dir(model), recursive = TRUE))
    examples_per_second(train(model, input, steps = steps), batch_size)
  },
  warm_up = 500
)
