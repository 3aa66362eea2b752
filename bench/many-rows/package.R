# This package in R with its defaults, on a data frame of a million rows: package.R predict or package.R evaluate.
source("bench/suite/way.R")
library(tfdistribute)
options(tfdistribute.progress = FALSE)

rows <- 1e6
set.seed(1)
data <- as.data.frame(matrix(stats::runif(rows * 20), rows))
data$y <- as.integer(data[[1]] + data[[2]] > 1)
model <- dnn_classifier(
  hidden_units = c(64, 32),
  feature_columns = feature_columns(column_numeric(names(data)[1:20]))
)
train(model, input_fn(y ~ ., data[1:128, ]), steps = 1)
input <- input_fn(y ~ ., data)

perform <- switch(
  commandArgs(TRUE)[[1]],
  # What Keras returns, too.
  predict = function() predict(model, input, predict_keys = "logistic"),
  evaluate = function() evaluate(model, input)
)
take_turns(function(passes) {
  rows / min(replicate(passes, system.time(perform())[["elapsed"]]))
})
