# This package in R with its defaults: package.R wide (a matrix of 20 columns as one feature) or package.R columns (a
# data frame of 20 numeric columns); with a number, the fastest of many intervals of as many steps.
source("bench/suite/way.R")
library(tfdistribute)
options(tfdistribute.progress = FALSE)

rows <- 200000
width <- 20
batch_size <- 128
set.seed(1)
x <- matrix(stats::runif(rows * width), rows, dimnames = list(NULL, paste0("x", seq_len(width))))
y <- as.integer(x[, 1] + x[, 2] > 1)

wide <- commandArgs(TRUE)[[1]] == "wide"
input <- if (wide) {
  input_fn(list(x = x, y = y), x, y, batch_size = batch_size, epochs = NULL)
} else {
  input_fn(y ~ ., data.frame(x, y), batch_size = batch_size, epochs = NULL)
}
columns <- if (wide) {
  feature_columns(column_numeric("x", shape = width))
} else {
  feature_columns(column_numeric(colnames(x)))
}

small_model <- function() {
  dnn_classifier(hidden_units = c(64, 32), feature_columns = columns)
}

interval <- as.integer(commandArgs(TRUE)[-1])
if (length(interval) > 0) {
  model <- small_model()
  train_in_turns(model, input, interval, batch_size, warm_up = 1L)
  unlink(model_dir(model), recursive = TRUE)
} else {
  take_turns(
    function(steps) {
      model <- small_model()
      on.exit(unlink(model_dir(model), recursive = TRUE))
      examples_per_second(train(model, input, steps = steps), batch_size)
    },
    warm_up = 500
  )
}
