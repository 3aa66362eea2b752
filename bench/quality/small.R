# Tables that take seconds: small.R. Seconds of 150 rows from library() on and in a running session; seconds and error
# of the first example of README with seeds 1 to 3. Needs a session that has not loaded the package.

begun <- proc.time()[["elapsed"]]
suppressPackageStartupMessages(library(tfdistribute))
options(tfdistribute.progress = FALSE)

train_iris <- function() {
  suppressMessages(train(
    tabular_classifier(config = run_config(seed = 1)),
    Species ~ .,
    data = iris
  ))
}
train_iris()
cat(sprintf("150 rows  %.1f s from library() on\n", proc.time()[["elapsed"]] - begun))
seconds <- vapply(1:5, function(turn) system.time(train_iris())[["elapsed"]], 0)
cat(sprintf("150 rows  %.1f s in a running session\n", stats::median(seconds)))

diamonds <- ggplot2::diamonds
test <- seq_len(nrow(diamonds)) %% 10 == 0
for (seed in 1:3) {
  model <- tabular_regressor(config = run_config(seed = seed))
  seconds <- system.time(suppressMessages(train(model, price ~ ., data = diamonds[!test, ])))
  error <- evaluate(model, diamonds[test, ])$rmse
  cat(sprintf("README    %.1f s, RMSE %.1f with seed %d\n", seconds[["elapsed"]], error, seed))
}
