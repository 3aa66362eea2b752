# A model function in R, the same in Python, and the same as a training loop: model-function.R r, python or loop.
#
# R only builds the graph, before the first step, so all should train at the same speed. The start is excluded.
source("bench/suite/way.R")
library(tfdistribute)
options(tfdistribute.progress = FALSE)

in_r <- function(features, labels, mode) {
  x <- tf$stack(list(features$wt, features$hp, features$qsec), axis = 1L)
  hidden <- tf$compat$v1$layers$dense(x, 16L, activation = tf$nn$relu)
  output <- tf$squeeze(tf$compat$v1$layers$dense(hidden, 1L), 1L)
  loss <- tf$compat$v1$losses$mean_squared_error(labels, output)
  optimizer <- tf$compat$v1$train$GradientDescentOptimizer(1e-6)
  step <- tf$compat$v1$train$get_or_create_global_step()
  estimator_spec(mode, loss = loss, train_op = optimizer$minimize(loss, global_step = step))
}

in_python <- function() {
  code <- "
import tensorflow as tf

v1 = tf.compat.v1

def model_fn(features, labels, mode):
    x = tf.stack([features['wt'], features['hp'], features['qsec']], axis=1)
    hidden = v1.layers.dense(x, 16, activation=tf.nn.relu)
    output = tf.squeeze(v1.layers.dense(hidden, 1), 1)
    loss = v1.losses.mean_squared_error(labels, output)
    optimizer = v1.train.GradientDescentOptimizer(1e-6)
    step = v1.train.get_or_create_global_step()
    train_op = optimizer.minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
"
  reticulate::py_run_string(code)$model_fn
}

batch_size <- 32
# With the rows of mtcars alone, half of the time would go into their order, which is new in each epoch.
cars <- mtcars[rep(seq_len(nrow(mtcars)), 100), ]
input <- input_fn(mpg ~ wt + hp + qsec, cars, batch_size = batch_size, epochs = NULL)
as_loop <- function() {
  training_loop(
    function() NULL,
    function(features, labels) {
      spec <- in_r(features, labels, "train")
      list(loss = spec$loss, train_op = spec$train_op)
    }
  )
}

way <- commandArgs(TRUE)[[1]]
model_fn <- if (way == "python") in_python() else in_r
model <- if (way == "loop") as_loop() else estimator(model_fn)
train_in_turns(model, input, 250, batch_size, warm_up = 40L)
unlink(model_dir(model), recursive = TRUE)
