# One idea has one name in all functions, and no name of this package hides one that users type daily.
source(test_path("tfestimators-exports.R"), local = TRUE)

# TensorFlow's own names, as in tfestimators or RunConfig, and a time in Slurm's own form, such as "04:00:00".
names_of_others <- c(
  "experimental_max_worker_delay_secs",
  "save_checkpoints_secs",
  "session_creation_timeout_secs",
  "start_delay_secs",
  "throttle_secs",
  "time_limit"
)

# Other words for what has a name already, by that name.
other_words <- list(
  activation_fn = "activation",
  devices_per_worker = c("devices_per_task", "gpus_per_worker"),
  epochs = c("num_epochs", "n_epochs", "repeats"),
  every_n_steps = c("every_n_iter", "every_n_step", "every_steps", "save_steps"),
  every_s = c("every_n_secs", "every_secs", "save_secs"),
  input = "dataset",
  job_kind = "kind",
  learning_rate = c("learn_rate", "lr"),
  newdata = "new_data",
  object = c("model", "estimator"),
  path = c("file_name", "filename", "output"),
  restarts = c("restart", "max_restarts", "retries"),
  seed = c("random_seed", "tf_random_seed"),
  strategy = c("distribute", "train_distribute"),
  wait = c("background", "async"),
  weights = c("case_weights", "row_weights", "sample_weight"),
  workers = c("n_workers", "num_workers")
)

# An actor or a task without a GPU has one device, too, so frameworks are asked for GPUs. The last two have the names of
# parsnip.
exceptions <- list(
  ray_cluster = "gpus_per_worker",
  spark_cluster = "gpus_per_worker",
  mirai_cluster = "gpus_per_worker",
  predict.tfdistribute_fit = "new_data",
  tfdistribute_fit = c("activation", "learn_rate"),
  tfdistribute_trees = "learn_rate"
)

# Every exported function's arguments, and those of the exported generics' methods.
all_arguments <- function() {
  namespace <- asNamespace("tfdistribute")
  exports <- sort(getNamespaceExports(namespace))
  functions <- Filter(is.function, mget(exports, namespace, inherits = TRUE))
  own <- Filter(function(f) identical(environment(f), namespace), functions)
  is_generic <- vapply(own, function(f) "UseMethod" %in% all.names(body(f)), NA)
  of_generics <- paste0("^(", paste(names(own)[is_generic], collapse = "|"), ")[.]")
  of_classes <- "[.](tfdistribute|tf)_[a-z_]+$"
  methods <- ls(namespace, pattern = paste(of_generics, of_classes, sep = "|"))
  functions <- c(own, mget(methods, namespace, mode = "function"))
  # Their generics name the arguments.
  of_others <- grep("^(vetiver_|yhat[.]|model_info[.])", names(functions), value = TRUE)
  lapply(functions[setdiff(names(functions), of_others)], function(f) names(formals(f)))
}

test_that("an idea has one name in the arguments of all functions", {
  arguments <- all_arguments()
  expect_gt(length(arguments), 120)
  expect_true(all(
    c("input_fn", "input_fn.formula", "print.tfdistribute_job") %in% names(arguments)
  ))
  for (name in names(arguments)) {
    other <- setdiff(unlist(other_words), exceptions[[name]])
    expect_identical(intersect(arguments[[name]], other), character(), info = name)
    in_seconds <- grep("_secs?$|_seconds$|timeout$|time_limit$", arguments[[name]], value = TRUE)
    expect_identical(setdiff(in_seconds, names_of_others), character(), info = name)
  }
})

test_that("verbs have their object first", {
  verbs <- c(
    "as_keras_model",
    "check_distribution",
    "distribute",
    "evaluate",
    "export_keras_model",
    "export_savedmodel",
    "job_script",
    "launch",
    "model_dir",
    "plan_training",
    "save_estimator",
    "train",
    "train_and_evaluate",
    "training_history",
    "variable_names",
    "variable_value",
    "view_training",
    "write_manifest"
  )
  first <- vapply(all_arguments()[verbs], `[[`, "", 1)
  expect_identical(unname(first), rep("object", length(verbs)))
  of_jobs <- c("job_wait", "job_stop", "job_state", "job_logs", "job_history")
  expect_identical(unname(vapply(all_arguments()[of_jobs], `[[`, "", 1)), rep("job", 5))
})

test_that("arguments also have their names in tfestimators, but not both at once", {
  # R itself accepts the beginning of a name.
  withr::local_options(warnPartialMatchArgs = FALSE)
  expect_identical(
    run_config(train_distribute = strategy_mirrored(2), tf_random_seed = 3),
    run_config(strategy = strategy_mirrored(2), seed = 3)
  )
  config <- run_config()
  config$tf_random_seed <- 3
  expect_identical(config, run_config(seed = 3))
  expect_identical(
    input_fn(mpg ~ wt, mtcars, num_epochs = NULL),
    input_fn(mpg ~ wt, mtcars, epochs = NULL)
  )
  expect_identical(
    input_fn(mtcars, "wt", "mpg", num_epochs = 2L),
    input_fn(mtcars, "wt", "mpg", epochs = 2L)
  )
  expect_identical(hook_history_saver(every_n_step = 5), hook_history_saver(every_n_steps = 5))
  expect_identical(
    hook_logging_tensor("loss", every_n_secs = 5),
    hook_logging_tensor("loss", every_s = 5)
  )
  expect_identical(hook_summary_saver(save_steps = 5), hook_summary_saver(every_n_steps = 5))
  expect_identical(
    hook_checkpoint_saver("backup", save_secs = 5),
    hook_checkpoint_saver("backup", every_s = 5)
  )
  expect_error(
    input_csv("a.csv", num_epochs = 2),
    "Did you mean `epochs`?",
    fixed = TRUE,
    class = "tfdistribute_argument_error"
  )
  expect_error(
    input_fn(mpg ~ wt, mtcars, num_epochs = 2, epochs = 3),
    "`num_epochs` is not an argument of input_fn()",
    fixed = TRUE,
    class = "tfdistribute_argument_error"
  )
})

test_that("no function that users type daily is hidden, except by names of tfestimators", {
  daily <- c(
    "dplyr",
    "forcats",
    "future",
    "ggplot2",
    "keras",
    "keras3",
    "mirai",
    "parsnip",
    "purrr",
    "readr",
    "recipes",
    "rsample",
    "stringr",
    "tensorflow",
    "tfdatasets",
    "tibble",
    "tidyr",
    "tune",
    "workflows",
    "yardstick"
  )
  exports <- getNamespaceExports("tfdistribute")
  hidden <- unlist(clashing_exports(daily))
  # The page ?name_clashes has the function of rsample, which is for parts of its own splits.
  known <- c(names(tfestimators_exports), "calibration")
  expect_identical(hidden[!hidden %in% known], hidden[0])
  # Also where these packages are not installed: future, mirai, tibble, generics, keras3 and tensorflow.
  others <- c(
    c("cluster", "future", "multisession", "plan", "resolved", "run", "sequential", "value"),
    c("daemons", "mirai", "view"),
    c("compile", "fit", "tune"),
    c("adapt", "keras_model", "layer", "load_model", "normalize", "save_model", "set_weights"),
    c("as_tensor", "set_random_seed", "tf_function", "tf_version", "view_savedmodel")
  )
  expect_identical(intersect(exports, others), character())
})
