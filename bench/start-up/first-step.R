# One step with this package in R; prints the time at its end.
library(tfdistribute)
options(tfdistribute.progress = FALSE)

x <- matrix(stats::runif(20 * 1024), 1024)
input <- input_fn(list(x = x, y = as.integer(x[, 1] > 0.5)), x, y)
columns <- feature_columns(column_numeric("x", shape = 20))
model <- dnn_classifier(hidden_units = c(64, 32), feature_columns = columns)
invisible(train(model, input, steps = 1))
cat(sprintf("{\"first_step_at\": %.3f}\n", as.numeric(Sys.time())))
unlink(model_dir(model), recursive = TRUE)
