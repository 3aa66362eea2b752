# Processor time of constructors in units of a fixed piece of R code, which is measured in turn with each of them, so
# that other load on the machine and its speed count for nothing.

# Constructors, with their time at commit b8507932, where each had checks of its own.
timed_constructors <- function() {
  word <- column_categorical_with_hash_bucket("word", hash_bucket_size = 10)
  x <- column_numeric("x")
  list(
    run_config = list(0.107, function() run_config()),
    local_cluster = list(0.240, function() local_cluster(2)),
    address_cluster = list(0.383, function() address_cluster(chief = "a:1", worker = "b:1")),
    ssh_cluster = list(0.484, function() ssh_cluster(c("a", "b"))),
    slurm_cluster = list(0.417, function() slurm_cluster(nodes = 2)),
    ray_cluster = list(0.407, function() ray_cluster(workers = 2)),
    mirai_cluster = list(0.363, function() mirai_cluster(2)),
    spark_cluster = list(0.419, function() spark_cluster("sc://localhost:15002", 2)),
    kubernetes_cluster = list(0.638, function() kubernetes_cluster("a", 2)),
    vertex_cluster = list(0.598, function() vertex_cluster("ab", "a1", "a", "gs://b/c", 2)),
    strategy_mirrored = list(0.439, function() strategy_mirrored(c("CPU:0", "CPU:1"))),
    strategy_multi_worker = list(0.050, function() strategy_multi_worker()),
    strategy_one_device = list(0.258, function() strategy_one_device("CPU:0")),
    strategy_parameter_server = list(0.041, function() strategy_parameter_server()),
    strategy_tpu = list(0.050, function() strategy_tpu()),
    track_mlflow = list(0.082, function() track_mlflow()),
    track_wandb = list(0.107, function() track_wandb()),
    hook_early_stopping = list(0.103, function() hook_early_stopping()),
    hook_history_saver = list(0.042, function() hook_history_saver()),
    hook_logging_tensor = list(0.088, function() hook_logging_tensor("loss", every_n_steps = 1)),
    hook_stop_at_step = list(0.053, function() hook_stop_at_step(10)),
    column_numeric = list(0.121, function() column_numeric("x")),
    column_bucketized = list(0.068, function() column_bucketized(x, c(0, 1))),
    column_crossed = list(0.073, function() column_crossed(c("a", "b"), 10)),
    column_embedding = list(0.090, function() column_embedding(word, 2)),
    column_indicator = list(0.065, function() column_indicator(word)),
    linear_regressor = list(0.339, function() linear_regressor(x, model_dir = "m")),
    dnn_classifier = list(0.431, function() dnn_classifier(c(8, 8), x, model_dir = "m")),
    baseline_regressor = list(0.261, function() baseline_regressor(model_dir = "m")),
    input_csv = list(0.219, function() input_csv("a.csv", "y")),
    input_parquet = list(0.193, function() input_parquet("a.parquet", "y")),
    input_tfrecord = list(0.197, function() input_tfrecord("a.tfrecord", "y"))
  )
}

reference_code <- function() {
  values <- list()
  for (i in 1:20) {
    values[[paste0("a", i)]] <- list(i, as.character(i))
  }
  shown <- vapply(values, function(value) paste(format(value), collapse = " "), "")
  structure(as.list(shown), class = "shown")
}

# The least of several rounds, because a round may be interrupted, by other processes or by R's garbage collection. A
# busy machine needs more rounds: they end as soon as the time is below `enough`.
relative_time <- function(code, enough, rounds = 3, most_rounds = 70, calls = 30) {
  seconds <- function(code) {
    sum(system.time(
      for (call in seq_len(calls)) {
        code()
      },
      gcFirst = FALSE
    )[c("user.self", "sys.self")])
  }
  taken <- c(Inf, Inf)
  for (round in seq_len(most_rounds)) {
    taken <- pmin(taken, c(seconds(code), seconds(reference_code)))
    if (round >= rounds && taken[[1]] / taken[[2]] <= enough) {
      break
    }
  }
  taken[[1]] / taken[[2]]
}

test_that("no constructor takes more than twice as long as with checks of its own, and clusters take less", {
  leave_to_check()
  skip_on_cran()
  ratios <- vapply(
    timed_constructors(),
    function(each) relative_time(each[[2]], 2 * each[[1]]) / each[[1]],
    0
  )
  message(
    "time / time with checks of its own: ",
    toString(paste(names(ratios), format(ratios, digits = 2)))
  )
  expect_identical(names(ratios)[ratios > 2], character())
  expect_lt(stats::median(ratios[endsWith(names(ratios), "_cluster")]), 1)
})
