# First words of remedies that no test types, by the reason.

not_typed <- list(
  "is tested with the function that raises it" = c(
    "R has whole numbers to",
    "Use `gpu = FALSE`",
    "Use export_savedmodel()",
    "Leave `micro_batches` out, or give the mask",
    "Use Linux, a cluster with a supervisor of its own",
    "Use confint() with lm() or glm()",
    "Leave it out, or set `epochs` of the model",
    "Leave it out, or train a new model, in another `model_dir`",
    "Call train() with the rows of the training",
    "Turn it into numbers first",
    "Remove such rows, or give the model loss",
    "Train it on an input_fn() with columns",
    "Give a data frame or files that input_parquet(), input_arrow() or input_csv() reads",
    "Use `center` and `scale` of column_numeric()",
    "Give predict() of this model to a package",
    "Train it with a formula and a data frame",
    "Remove rows without a response",
    "Remove such rows. The classes are",
    "Use predict(type = ",
    "Train a tabular_regressor() without `epochs`",
    "Leave it out, and give the model the number of its trees",
    "Leave it out, or give parts = "
  ),
  "needs the internet" = c(
    "Install them into",
    "Run install_tfdistribute()",
    "Use \"default\", or a version",
    "Use `method = ",
    "Use install.packages",
    "Run install.packages",
    "Run install_tfdistribute(trees = TRUE)",
    "Use version = \"2.20\" or",
    "Install it, for example with reticulate"
  ),
  "changes the machine" = c(
    "Free space there",
    "Write the file in UTF-8",
    "Install R, and rpy2",
    "Install a Python",
    "Install kubectl",
    "Install one (on Debian",
    "Install the version of the Spark",
    "Use `network = \"open\"` on a machine",
    "Check the space for temporary files"
  ),
  "needs a cluster" = c(
    "Use a directory on a network file system, or local_cluster()",
    "Correct the named field",
    "Give run_config(session_config",
    "Let launch() or write_manifest()",
    "Let run_config() save",
    "Set `staging` to remote storage",
    "Start the script",
    "Start this script",
    "Use a `model_dir`, or for remote storage a working directory, that all nodes",
    "Work on a login node",
    "See `sinfo`",
    "check_cluster() shows"
  ),
  "needs Spark" = "Give the directory for the rows",
  "needs mirai" = c(
    "Give the path of Python on the hosts of the daemons",
    "Set the daemons",
    "Use mirai::daemons"
  ),
  "needs recipes" = c(
    "Remove these rows, for example with step",
    "Remove these rows, or replace"
  ),
  "needs Keras 3" = "Use tf$keras$layers (Keras 2), or give a whole Keras 3 model",
  "needs a TPU" = c(
    "Let the dataset repeat",
    "Make it dense in the dataset",
    "Read factors as numbers",
    "Use `eval_distribute = NULL`.",
    "Use `precision = \"float32\"`",
    "Use a multiple, or",
    "Use a smaller `batch_size`, or pipeline()"
  ),
  "needs a GPU" = c("Leave `memory_limit_mb`", "Use a smaller `batch_size`, or compute"),
  "needs another session" = "Give the formula with the data",
  "needs a running job" = c(
    "Call launch(), which",
    "Evaluate without `cluster`",
    "In a cluster use monitor",
    "Leave `cluster` out of run_config()",
    "Let it take `input_context`",
    "See its log",
    "See tfdistribute_sitrep()",
    "This job has a private network",
    "Train again to continue",
    "Train again with `compile",
    "Use `compile = \"auto\"`",
    "Use `network = \"open\"` in local_cluster()",
    "Use `cluster = NULL`, which works",
    "Wait until it has ended"
  ),
  "is code of Python" = c(
    "Give a name or a list, such as list(\"adam\"",
    "Give what optimizer.minimize()",
    "Let estimator() call it",
    "Start processes of their own",
    "For two layers",
    "Train with one device",
    "Use a directory on this machine, or train()",
    "Train with train_and_evaluate() of"
  ),
  "reaches R otherwise" = c(
    "Describe the model with this package",
    "Give a name, a list such as list(\"truncated_normal\"",
    "Give it as list(accuracy",
    "Make columns with column_numeric()",
    "Make it with keras_model_to_estimator()",
    "Make the column with column_embedding",
    "Save the model again",
    "Train it again, and keep it"
  )
)
