# Cost of a model function of R, per step, against the same function in Python.
#
# R only builds the graph, before the first step, so the ratio should be 1.0 within the noise. The first step, which
# holds the building, is left out. Runs alternate, and the median of the ratios of neighbours is printed.
library(tfdistribute)
options(tfdistribute.progress = FALSE)

runs <- 7
steps <- 2000

in_r <- function(features, labels, mode) {
  x <- tf$stack(list(features$wt, features$hp, features$qsec), axis = 1L)
  hidden <- tf$compat$v1$layers$dense(x, 16L, activation = tf$nn$relu)
  output <- tf$squeeze(tf$compat$v1$layers$dense(hidden, 1L), 1L)
  loss <- tf$compat$v1$losses$mean_squared_error(labels, output)
  optimizer <- tf$compat$v1$train$GradientDescentOptimizer(1e-6)
  step <- tf$compat$v1$train$get_or_create_global_step()
  estimator_spec(mode, loss = loss, train_op = optimizer$minimize(loss, global_step = step))
}

in_python <- reticulate::py_run_string(
  "
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
)$model_fn

input <- input_fn(mpg ~ wt + hp + qsec, mtcars, batch_size = 32, num_epochs = NULL)

microseconds_per_step <- function(model_fn, strategy) {
  model <- estimator(model_fn, config = run_config(strategy))
  history <- train(model, input, steps = steps)
  losses <- history$losses
  1e6 * (max(losses$seconds) - min(losses$seconds)) / (max(losses$step) - min(losses$step))
}

strategies <- list(none = NULL, `mirrored over 2 CPUs` = strategy_mirrored(2))
for (name in names(strategies)) {
  # What is made once per process is not measured.
  invisible(microseconds_per_step(in_r, strategies[[name]]))
  r <- python <- double(runs)
  for (run in seq_len(runs)) {
    r[[run]] <- microseconds_per_step(in_r, strategies[[name]])
    python[[run]] <- microseconds_per_step(in_python, strategies[[name]])
  }
  cat(sprintf(
    '{"case": "model function", "strategy": "%s", "r_us": %.0f, "python_us": %.0f, "ratio": %.2f}\n',
    name,
    stats::median(r),
    stats::median(python),
    stats::median(r / python)
  ))
}
