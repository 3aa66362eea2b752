# One training by this package on hosts of a stand-in for ssh: package.R DIRECTORY SSH FEWEST WORKERS RESTARTS.
suppressPackageStartupMessages(library(tfdistribute))

arguments <- commandArgs(TRUE)
directory <- arguments[[1]]
workers <- unique(as.integer(arguments[3:4]))

# The constants of ray_train.py.
rows <- 9600
batch_size <- 960
inputs <- 20

set.seed(1)
x <- matrix(stats::rnorm(rows * inputs), rows, dimnames = list(NULL, paste0("x", seq_len(inputs))))
data <- data.frame(x, y = rowSums(sin(x)))

cluster <- ssh_cluster(
  paste0("node-", seq_len(max(workers))),
  workers = workers,
  evaluator = FALSE,
  ssh = arguments[[2]],
  python = Sys.getenv("RETICULATE_PYTHON"),
  libraries = .libPaths(),
  environment = c(TF_CPP_MIN_LOG_LEVEL = "2"),
  lease_s = 5,
  resize_every_s = 10,
  restarts = as.integer(arguments[[5]])
)
model <- dnn_regressor(
  hidden_units = c(512, 512),
  feature_columns = feature_columns(do.call(column_numeric, as.list(colnames(x)))),
  optimizer = list("sgd", learning_rate = 0.001),
  model_dir = file.path(directory, "model"),
  config = run_config(
    cluster = cluster,
    save_checkpoints_steps = 50,
    keep_checkpoint_max = NULL,
    save_summary_steps = NULL
  )
)
input <- input_fn(
  y ~ .,
  data,
  batch_size = batch_size,
  shuffle = FALSE,
  epochs = NULL
)
launch(model, train_spec(input, max_steps = 1e7), view = FALSE)
