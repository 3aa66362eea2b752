# One step of a small model with two workers. As a script, one-step.R DIRECTORY, it is the worker that TF_CONFIG names;
# start-up/workers.R and start-up/restart.R source it for the model.
library(tfdistribute)
options(tfdistribute.progress = FALSE)

# Writes the time of the first step to a file, a new one after each restart of the job.
first_step_hook <- function(directory) {
  force(directory)
  hook_session_run(after_run = function(context, values) {
    start <- Sys.getenv("TFDISTRIBUTE_ATTEMPT", "0")
    file <- file.path(directory, paste0("first-step-", start))
    if (!file.exists(file)) {
      writeLines(sprintf("%.3f", as.numeric(Sys.time())), file)
    }
  })
}

small_model <- function(directory, cluster = NULL, ...) {
  config <- run_config(strategy = strategy_multi_worker(), cluster = cluster, ...)
  columns <- feature_columns(column_numeric("x", shape = 20))
  dnn_classifier(
    hidden_units = c(64, 32),
    feature_columns = columns,
    model_dir = file.path(directory, "model"),
    config = config
  )
}

small_input <- function(...) {
  set.seed(1)
  x <- matrix(stats::runif(20 * 1024), 1024)
  input_fn(list(x = x, y = as.integer(x[, 1] > 0.5)), "x", "y", ...)
}

if (nzchar(Sys.getenv("TF_CONFIG"))) {
  directory <- commandArgs(TRUE)[[1]]
  train(small_model(directory), small_input(), steps = 1, hooks = first_step_hook(directory))
}
