# Evaluation of each checkpoint of a small model, during its training (checkpoints.R during) or afterwards
# (checkpoints.R after).
source("bench/suite/way.R")
library(tfdistribute)
options(tfdistribute.progress = FALSE)

during <- commandArgs(TRUE)[[1]] == "during"
set.seed(1)
data <- data.frame(x = stats::rnorm(300))
data$y <- 2 * data$x
input <- input_fn(y ~ x, data, batch_size = 32, epochs = NULL)
every <- 5L

# The training and its graph are in both, and so is the first graph of an evaluation, because each model is new.
measure <- function(checkpoints) {
  model <- linear_regressor(
    feature_columns(column_numeric("x")),
    config = run_config(save_checkpoints_steps = every, keep_checkpoint_max = checkpoints + 1L)
  )
  on.exit(unlink(model_dir(model), recursive = TRUE))
  steps <- every * checkpoints
  seconds <- system.time(
    if (during) {
      evaluation <- eval_spec(input_fn(y ~ x, data), throttle_secs = 0)
      history <- train_and_evaluate(model, train_spec(input, max_steps = steps), evaluation)
      stopifnot(nrow(history$evaluations) == checkpoints)
    } else {
      train(model, input, steps = steps)
      for (step in seq(every, steps, every)) {
        path <- file.path(model_dir(model), paste0("model.ckpt-", step))
        evaluate(model, data, checkpoint_path = path)
      }
    }
  )[["elapsed"]]
  checkpoints / seconds
}

take_turns(measure, warm_up = 2L)
