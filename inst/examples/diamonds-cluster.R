# Prices of 53,940 diamonds: a wide-and-deep model, trained by two processes while a third evaluates, against lm().
#
#   Rscript diamonds-cluster.R [steps]
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(file.path(dirname(script), "diamonds-model.R"))

arguments <- commandArgs(trailingOnly = TRUE)
steps <- if (length(arguments) > 0) as.integer(arguments[[1]]) else 1500L

# The only line that names the cluster: the processes are started, watched and ended by the verb that trains.
config <- run_config(
  cluster = local_cluster(workers = 2),
  # The evaluator reads each checkpoint that is kept.
  save_checkpoints_steps = ceiling(steps / 15),
  keep_checkpoint_max = 15,
  seed = 3
)
model <- wide_and_deep(config)
print(model)

# The batch of 256 rows is divided over the processes, which share one copy of the data.
input <- input_fn(price ~ ., training, batch_size = 256, epochs = NULL)
history <- train_and_evaluate(
  model,
  train_spec(input, max_steps = steps),
  eval_spec(input_fn(price ~ ., test), start_delay_secs = 0, throttle_secs = 0)
)
print(history)
print(as.data.frame(history$tasks))
compare_with_lm(model, history, "tfdistribute-diamonds-cluster.png")
