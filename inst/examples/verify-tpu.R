# Whether a training on the TPU of this machine gives the numbers of its CPU. On a TPU VM:
#   Rscript -e 'source(system.file("examples", "verify-tpu.R", package = "tfdistribute")); verify_tpu()'

library(tfdistribute)

# A TPU multiplies in 16 bits, so it agrees with a CPU to about three digits.
verify_tpu <- function(strategy = strategy_tpu(), tolerance = 0.01) {
  print(tfdistribute_sitrep())
  set.seed(1)
  rows <- data.frame(x = rnorm(2048), y = rnorm(2048))
  rows$z <- tanh(rows$x - rows$y) + rows$x * rows$y
  batches <- input_fn(z ~ x + y, rows, batch_size = 128, epochs = NULL, shuffle = FALSE)
  once <- input_fn(z ~ x + y, rows, batch_size = 100)
  model_on <- function(strategy) {
    config <- run_config(strategy, seed = 1, save_checkpoints_steps = 10)
    estimator(network, model_dir = tempfile("verify-tpu-"), config = config)
  }

  message("One step on ", format(strategy), " ...")
  train(model_on(strategy), batches, steps = 1)
  message("30 steps there and on the CPU ...")
  models <- list(tpu = model_on(strategy), cpu = model_on(NULL))
  histories <- lapply(models, train, batches, steps = 30)
  values <- lapply(models, variable_value)
  trained <- differences(values$tpu, values$cpu)
  message("Evaluation of both on the CPU, which also goes on from the other's checkpoint ...")
  losses <- vapply(models, function(model) evaluate(model, once)$loss, 0)
  further <- models$tpu
  further$config <- models$cpu$config
  train(further, batches, steps = 10)
  train(models$cpu, batches, steps = 10)
  continued <- differences(variable_value(further), variable_value(models$cpu))

  found <- data.frame(
    check = c("the largest difference of a variable", "the same, 10 steps later", "loss"),
    difference = c(max(trained), max(continued), abs(diff(losses)) / losses[["cpu"]])
  )
  found$agrees <- found$difference <= tolerance
  print(found, row.names = FALSE)
  seconds <- vapply(histories, function(each) max(each$losses$seconds), 0)
  message(sprintf("30 steps took %.1f s there and %.1f s on the CPU.", seconds[[1]], seconds[[2]]))
  message(if (all(found$agrees)) "Training there works." else "The numbers differ.")
  invisible(found)
}

network <- function(features, labels, mode) {
  start <- function(seed) tf$compat$v1$glorot_uniform_initializer(seed = seed)
  dense <- tf$compat$v1$layers$dense
  x <- tf$stack(list(features$x, features$y), axis = 1L)
  hidden <- dense(x, 16L, activation = tf$nn$tanh, kernel_initializer = start(1L))
  predicted <- tf$squeeze(dense(hidden, 1L, kernel_initializer = start(2L)), 1L)
  list(
    predictions = list(z = predicted),
    loss = if (mode != "infer") tf$reduce_mean(tf$math$squared_difference(labels, predicted)),
    optimizer = list("sgd", learning_rate = 0.05)
  )
}

# The largest difference of each variable, relative to its largest value or to 1.
differences <- function(ours, theirs) {
  stopifnot(setequal(names(ours), names(theirs)))
  apart <- function(x, y) max(abs(x - y)) / max(1, abs(y))
  mapply(apart, ours[names(theirs)], theirs)
}
