# What R's constructors say to values: reads a JSON file with `constructor`, `argument` and `value` (code of R) of
# each call, and prints the error of each, or NULL. Python is not started. `test_wrong_values.py` compares the errors
# with Python's.
library(tfdistribute)
options(tfdistribute.progress = FALSE)

# Valid values of required arguments.
valid_arguments <- function(name) {
  switch(
    name,
    address_cluster = list(chief = "a:1"),
    local_cluster = list(workers = 2),
    ssh_cluster = list(hosts = "a", workers = 2),
    slurm_cluster = list(nodes = 2, workers = 2),
    ray_cluster = ,
    mirai_cluster = list(workers = 2),
    spark_cluster = list(sc = "sc://localhost:15002", workers = 2),
    kubernetes_cluster = list(image = "a", workers = 2),
    vertex_cluster = list(
      project = "ab",
      location = "a1",
      image = "a",
      staging = "gs://b/c",
      workers = 2
    ),
    strategy_one_device = list(device = "CPU:0"),
    hook_checkpoint_saver = ,
    hook_summary_saver = list(every_n_steps = 10),
    hook_logging_tensor = list(tensors = "loss", every_n_steps = 10),
    hook_profiler = list(steps = c(10, 12)),
    hook_stop_at_step = list(num_steps = 10),
    hook_global_step_waiter = list(wait_until_step = 10),
    column_numeric = list("x"),
    column_categorical_with_vocabulary_list = list("word", vocabulary_list = c("a", "b")),
    column_categorical_with_vocabulary_file = list("word", vocabulary_file = "words.txt"),
    column_categorical_with_hash_bucket = list("word", hash_bucket_size = 10),
    column_categorical_with_identity = list("k", num_buckets = 3),
    column_bucketized = list(source_column = column_numeric("x"), boundaries = c(0, 1)),
    column_crossed = list(keys = c("a", "b"), hash_bucket_size = 10),
    column_categorical_weighted = list(
      categorical_column = column_categorical_with_hash_bucket("word", hash_bucket_size = 10),
      weight_feature_key = "w"
    ),
    column_embedding = list(
      categorical_column = column_categorical_with_hash_bucket("word", hash_bucket_size = 10),
      dimension = 2
    ),
    dnn_regressor = ,
    dnn_classifier = list(hidden_units = 4, feature_columns = column_numeric("x")),
    dnn_linear_combined_regressor = ,
    dnn_linear_combined_classifier = list(
      dnn_hidden_units = 4,
      dnn_feature_columns = column_numeric("x")
    ),
    linear_regressor = ,
    linear_classifier = list(feature_columns = column_numeric("x")),
    input_csv = ,
    input_arrow = ,
    input_parquet = ,
    input_tfrecord = list(paths = "a"),
    train_spec = ,
    eval_spec = list(input_fn(mpg ~ wt, mtcars)),
    list()
  )
}

error_of <- function(call) {
  if (!call$argument %in% names(formals(call$constructor))) {
    return("no argument")
  }
  arguments <- valid_arguments(call$constructor)
  arguments[call$argument] <- list(eval(str2lang(call$value)))
  error <- tryCatch(
    {
      suppressMessages(do.call(call$constructor, arguments))
      NULL
    },
    tfdistribute_error = identity
  )
  if (!is.null(error)) {
    kind <- sub("^tfdistribute_(.*)_error$", "\\1", class(error)[[1]])
    list(kind = kind, argument = error$argument, message = conditionMessage(error))
  }
}

calls <- jsonlite::read_json(commandArgs(trailingOnly = TRUE)[[1]])
cat(jsonlite::toJSON(lapply(calls, error_of), auto_unbox = TRUE, null = "null"), "\n")
