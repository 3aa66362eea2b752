# Strength of earthquakes near Fiji: a script as users of tfestimators write it. Only library() is new.
library(tfdistribute)

set.seed(1)
quakes$strength <- cut(quakes$mag, c(0, 4.5, 5, 7), labels = c("weak", "medium", "strong"))
features <- c("lat", "long", "depth", "stations")
quakes[features] <- scale(quakes[features])
training <- sample(nrow(quakes), 800)
quakes_input_fn <- function(data, num_epochs = 1) {
  input_fn(data, features = features, response = "strength", num_epochs = num_epochs)
}

# All features are one matrix for the first layer, and the classes are 0, 1 and 2.
net <- function(features, labels, mode, params, config) {
  hidden <- features %>% tf$compat$v1$layers$dense(params$units, activation = tf$nn$relu)
  logits <- hidden %>% tf$compat$v1$layers$dense(3L)
  classes <- tf$argmax(logits, 1L)
  if (mode == mode_keys()$PREDICT) {
    return(estimator_spec(mode, predictions = list(class = classes)))
  }
  loss <- tf$compat$v1$losses$sparse_softmax_cross_entropy(labels, logits)
  optimizer <- tf$compat$v1$train$AdamOptimizer(0.01)
  train_op <- optimizer$minimize(loss, global_step = tf$compat$v1$train$get_global_step())
  metrics <- list(accuracy = tf$compat$v1$metrics$accuracy(labels, classes))
  estimator_spec(mode, loss = loss, train_op = train_op, eval_metric_ops = metrics)
}

model <- estimator(net, params = list(units = 16L))
history <- model %>% train(quakes_input_fn(quakes[training, ], num_epochs = 40))
print(model %>% evaluate(quakes_input_fn(quakes[-training, ])))
predicted <- model %>% predict(quakes_input_fn(quakes[-training, ]))
print(table(predicted$class, quakes$strength[-training]))
