# Contract with Python: both languages refuse the values in tests/bad-values.json with errors of the same class.

rows <- jsonlite::read_json(test_path("..", "bad-values.json"))

# Valid values of the other arguments.
valid_arguments <- function(name) {
  switch(
    name,
    address_cluster = list(chief = "a:1"),
    local_cluster = list(workers = 2),
    ssh_cluster = list(hosts = "a"),
    slurm_cluster = list(nodes = 2, workers = 2),
    ray_cluster = list(workers = 2),
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
    dnn_regressor = list(hidden_units = 4, feature_columns = column_numeric("x")),
    dnn_linear_combined_regressor = list(
      dnn_hidden_units = 4,
      dnn_feature_columns = column_numeric("x")
    ),
    linear_regressor = ,
    linear_classifier = list(feature_columns = column_numeric("x")),
    column_numeric = list("x"),
    column_categorical_with_vocabulary_list = list("word", vocabulary_list = c("a", "b")),
    column_categorical_with_hash_bucket = list("word", hash_bucket_size = 10),
    column_categorical_with_identity = list("k", num_buckets = 3),
    column_bucketized = list(source_column = column_numeric("x"), boundaries = c(0, 1)),
    column_crossed = list(keys = c("a", "b"), hash_bucket_size = 10),
    column_embedding = list(
      categorical_column = column_categorical_with_hash_bucket("word", hash_bucket_size = 10),
      dimension = 2
    ),
    strategy_one_device = list(device = "CPU:0"),
    list()
  )
}

test_that("a value that Python refuses is refused, without Python", {
  local_no_python()
  for (row in rows) {
    for (value in row$values) {
      arguments <- utils::modifyList(valid_arguments(row[["function"]]), lapply(row$with, unlist))
      arguments[[row$argument]] <- unlist(value)
      label <- paste0(row[["function"]], "(", row$argument, " = ", deparse1(unlist(value)), ")")
      condition <- expect_error(
        do.call(row[["function"]], arguments),
        class = paste0("tfdistribute_", row$error, "_error"),
        label = label
      )
      expect_identical(condition$argument, row$argument, label = label)
    }
  }
})

test_that("the other values of the table are valid", {
  for (name in unique(vapply(rows, `[[`, "", "function"))) {
    expect_no_error(do.call(name, valid_arguments(name)))
  }
})
