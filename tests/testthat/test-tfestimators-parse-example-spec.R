columns <- function() {
  feature_columns(
    column_bucketized(column_numeric("wt"), c(2, 3)),
    column_categorical_weighted(column_categorical_with_identity("gear", num_buckets = 6), "w"),
    column_crossed(c("make", "year"), 10),
    column_indicator(column_categorical_with_vocabulary_list("make", vocabulary_list = c("a", "b")))
  )
}

test_that("a parse spec says which features it reads, without Python", {
  expect_snapshot({
    classifier_parse_example_spec(columns(), "y", label_default = 0)
    regressor_parse_example_spec(columns(), "y", label_dimension = 2, weight_column = "row weight")
  })
})

test_that("a label or a weight that is also a feature is refused", {
  expect_snapshot(error = TRUE, {
    classifier_parse_example_spec(columns(), "wt")
    regressor_parse_example_spec(columns(), "y", weight_column = "w")
    classifier_parse_example_spec(columns(), "y", label_dtype = "float16")
    classifier_parse_example_spec(columns(), "y", label_default = "a")
  })
})

test_that("TensorFlow's functions take a parse spec, which agrees with TensorFlow's own", {
  skip_if_no_tensorflow()
  described <- feature_columns(
    column_numeric("wt", default_value = 1),
    column_categorical_with_vocabulary_list("make", vocabulary_list = c("a", "b"))
  )
  own <- list(
    tf$feature_column$numeric_column("wt", default_value = 1),
    tf$feature_column$categorical_column_with_vocabulary_list("make", list("a", "b"))
  )
  spec <- regressor_parse_example_spec(described, "y", weight_column = "w", label_default = 2)
  theirs <- tf$estimator$regressor_parse_example_spec(
    own,
    "y",
    label_default = 2,
    weight_column = "w"
  )
  entries <- function(x) vapply(x, function(entry) as.character(entry), "")
  expect_identical(sort(entries(reticulate::py_to_r(as_python(spec)))), sort(entries(theirs)))
  example <- tf$train$Example()
  spec <- regressor_parse_example_spec(described, "y", label_default = 2)
  parsed <- tf$io$parse_example(tf$constant(list(example$SerializeToString())), spec)
  expect_equal(as.vector(parsed$y$numpy()), 2)
  expect_equal(as.vector(parsed$wt$numpy()), 1)
})
