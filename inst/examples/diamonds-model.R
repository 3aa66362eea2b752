# What the scripts about diamonds have in common: the data, the model, and the comparison with lm().
library(tfdistribute)

# Real prices of 53,940 diamonds, four fifths for training. Prices are in thousands of dollars, so that the loss is near
# one.
diamonds <- transform(as.data.frame(ggplot2::diamonds), price = price / 1000)
qualities <- c("cut", "color", "clarity")
set.seed(2)
in_training <- sample(nrow(diamonds)) <= 0.8 * nrow(diamonds)
training <- diamonds[in_training, ]
test <- diamonds[!in_training, ]

# Qualities and their pairs in the wide part, everything in the deep part.
wide_and_deep <- function(config) {
  vocabularies <- lapply(qualities, function(name) {
    column_categorical_with_vocabulary_list(name, vocabulary_list = levels(diamonds[[name]]))
  })
  dnn_linear_combined_regressor(
    linear_feature_columns = feature_columns(
      vocabularies,
      column_crossed(c("color", "clarity"), hash_bucket_size = 100L)
    ),
    # Numbers are scaled as the training rows say.
    dnn_feature_columns = feature_columns(price ~ ., training, standardize = TRUE),
    dnn_hidden_units = c(64, 32),
    linear_optimizer = list("ftrl", learning_rate = 0.01),
    dnn_optimizer = list("adam", learning_rate = 0.01),
    config = config
  )
}

# Both models on the same rows, which neither has seen. A model that has not beaten lm() ends the script with status 1.
compare_with_lm <- function(model, history, picture) {
  rmse <- function(predicted) 1000 * sqrt(mean((predicted - test$price)^2))
  ours <- rmse(predict(model, newdata = test)$predictions)
  theirs <- rmse(stats::predict(lm(price ~ ., training), test))

  # Beside R's own temporary directory, which goes when the script ends.
  picture <- file.path(dirname(tempdir()), picture)
  grDevices::png(picture, width = 900, height = 600, res = 120)
  print(plot(history))
  invisible(grDevices::dev.off())

  cat(sprintf("Test RMSE, wide and deep: %7.0f dollars\n", ours))
  cat(sprintf("Test RMSE, lm():          %7.0f dollars\n", theirs))
  cat(sprintf("Examples per second:      %7.0f\n", history$examples_per_second))
  cat("Training curve:          ", picture, "\n")
  if (ours >= theirs) {
    cat("The model has not beaten lm() yet: give it more steps.\n")
    quit(status = 1)
  }
}
