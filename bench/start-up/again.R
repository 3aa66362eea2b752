# Seconds from train() to the end of one step in an R session that has trained before: the wait from the second training
# on.
source("bench/suite/way.R")
library(tfdistribute)
options(tfdistribute.progress = FALSE)

x <- matrix(stats::runif(20 * 1000), 1000)
input <- input_fn(list(x = x, y = as.integer(x[, 1] > 0.5)), x, y)
columns <- feature_columns(column_numeric("x", shape = 20))

seconds <- function() {
  model <- dnn_classifier(hidden_units = c(64, 32), feature_columns = columns)
  on.exit(unlink(model_dir(model), recursive = TRUE))
  system.time(train(model, input, steps = 1))[["elapsed"]]
}

invisible(seconds())
take_turns(function(runs) mean(replicate(runs, seconds())))
