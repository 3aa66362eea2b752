test_that("what messages hold is derived from feature columns", {
  gear <- column_categorical_with_vocabulary_list("gear", c("3", "4"))
  numbers <- column_categorical_with_identity("code", num_buckets = 5)
  columns <- feature_columns(
    column_numeric("wt", shape = 1),
    column_numeric("pixels", shape = c(2, 3)),
    column_bucketized(column_numeric("hp"), boundaries = c(100, 200)),
    column_indicator(gear),
    column_embedding(
      column_categorical_with_hash_bucket("zip", hash_bucket_size = 10, dtype = "int64"),
      dimension = 2
    ),
    column_categorical_weighted(numbers, weight_feature_key = "share"),
    column_crossed(c("gear", "town"), 10)
  )
  expect_identical(
    example_spec(columns, "mpg", weights = "w"),
    c(
      wt = "float32",
      pixels = "float32[2, 3]",
      hp = "float32",
      gear = "string",
      zip = "int64",
      share = "float32",
      code = "int64",
      town = "string",
      mpg = "float32",
      w = "float32"
    )
  )
  expect_identical(
    example_spec(feature_columns(gear), "y", "float32[2]"),
    c(gear = "string", y = "float32[2]")
  )
  both <- list(column_numeric("code"), column_indicator(numbers))
  expect_identical(example_spec(both), c(code = "int64"))
})

test_that("what one message cannot hold is refused", {
  columns <- feature_columns(column_numeric("wt"), column_crossed(c("wt", "town"), 10))
  expect_snapshot(error = TRUE, {
    example_spec(columns)
    example_spec(feature_columns(column_numeric("wt")), "wt")
    example_spec("wt")
  })
})
