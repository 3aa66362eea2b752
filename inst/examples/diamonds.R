# Prices of 53,940 diamonds: a wide-and-deep model, trained over two devices, against lm().
#
#   Rscript diamonds.R [steps]
library(tfdistribute)

arguments <- commandArgs(trailingOnly = TRUE)
steps <- if (length(arguments) > 0) as.integer(arguments[[1]]) else 3000L

# Data: real prices, four fifths for training. Numbers are scaled as the training rows say; prices are in
# thousands of dollars, so that the loss is near one.
diamonds <- as.data.frame(ggplot2::diamonds)
numbers <- c("carat", "depth", "table", "x", "y", "z")
qualities <- c("cut", "color", "clarity")
set.seed(2)
in_training <- sample(nrow(diamonds)) <= 0.8 * nrow(diamonds)

prepared <- diamonds
for (name in numbers) {
  known <- diamonds[[name]][in_training]
  prepared[[name]] <- (diamonds[[name]] - mean(known)) / sd(known)
}
prepared$price <- diamonds$price / 1000

# The model: qualities and their pairs in the wide part, everything in the deep part.
vocabularies <- lapply(qualities, function(name) {
  column_categorical_with_vocabulary_list(name, vocabulary_list = levels(diamonds[[name]]))
})
wide <- feature_columns(
  vocabularies,
  column_crossed(c("color", "clarity"), hash_bucket_size = 100L)
)
deep <- feature_columns(
  column_numeric("carat", "depth", "table", "x", "y", "z"),
  lapply(vocabularies, column_indicator)
)
model <- dnn_linear_combined_regressor(
  linear_feature_columns = wide,
  dnn_feature_columns = deep,
  dnn_hidden_units = c(64, 32),
  linear_optimizer = list("ftrl", learning_rate = 0.01),
  dnn_optimizer = list("adam", learning_rate = 0.01),
  config = run_config(train_distribute = strategy_mirrored(devices = 2), tf_random_seed = 3)
)
print(model)

# Training: the batch of 256 rows is divided over the devices.
history <- train(
  model,
  input_fn(price ~ ., prepared[in_training, ], batch_size = 256, num_epochs = NULL),
  steps = steps
)

# The same rows for both models.
test <- prepared[!in_training, ]
predicted <- predict(model, input_fn(test, features = all_of(c(numbers, qualities))))$predictions
linear <- lm(price ~ ., prepared[in_training, ])
rmse <- function(predicted) 1000 * sqrt(mean((predicted - test$price)^2))

# Beside R's own temporary directory, which goes when the script ends.
picture <- file.path(dirname(tempdir()), "tfdistribute-diamonds.png")
grDevices::png(picture, width = 900, height = 600, res = 120)
print(plot(history))
invisible(grDevices::dev.off())

cat(sprintf("Test RMSE, wide and deep: %7.0f dollars\n", rmse(predicted)))
cat(sprintf("Test RMSE, lm():          %7.0f dollars\n", rmse(stats::predict(linear, test))))
cat(sprintf("Examples per second:      %7.0f\n", history$examples_per_second))
cat("Training curve:          ", picture, "\n")
if (rmse(predicted) >= rmse(stats::predict(linear, test))) {
  cat("The model has not beaten lm() yet: give it more steps.\n")
  quit(status = 1)
}
