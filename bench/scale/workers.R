# Costs of one number of workers, as JSON: workers.R workers COUNT.
#
# A small model on a data frame of 100,000 rows.
library(tfdistribute)
options(tfdistribute.progress = FALSE)

workers <- as.integer(commandArgs(TRUE)[[2]])
set.seed(1)
data <- as.data.frame(matrix(stats::runif(2e6), 1e5))
model <- dnn_regressor(
  hidden_units = c(64, 32),
  feature_columns = feature_columns(column_numeric(names(data)[-1])),
  config = run_config(
    train_distribute = strategy_multi_worker(),
    cluster = local_cluster(workers = workers, start_timeout_s = 600)
  )
)
input <- input_fn(V1 ~ ., data, batch_size = 840, num_epochs = NULL)
started <- as.numeric(Sys.time())
history <- train(model, input, steps = 400)
whole <- as.numeric(Sys.time()) - started
unlink(model_dir(model), recursive = TRUE)
steps <- max(history$losses$seconds) - min(history$losses$seconds)
cat(
  jsonlite::toJSON(
    list(
      `seconds to start` = whole - steps,
      `seconds of 400 steps` = steps
    ),
    auto_unbox = TRUE,
    digits = 6
  ),
  "\n"
)
