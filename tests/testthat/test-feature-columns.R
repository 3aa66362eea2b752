names_of <- function(columns) {
  vapply(as_feature_columns(columns, "columns"), column_name, "")
}

listed <- function(name = "word") {
  column_categorical_with_vocabulary_list(name, vocabulary_list = c("a", "b", "c"))
}

test_that("a column of numbers keeps what it was given", {
  column <- column_numeric("x", shape = 3, default_value = 1, dtype = "int64")
  expect_s3_class(column, "tfdistribute_numeric_feature_column")
  expect_identical(column$shape, 3L)
  expect_identical(column$default_value, 1)
  expect_identical(column$dtype, "int64")
})

test_that("several names make several columns", {
  columns <- column_numeric("drat", "cyl")
  expect_s3_class(columns, "tfdistribute_feature_columns")
  expect_identical(names_of(columns), c("drat", "cyl"))
  expect_identical(names_of(column_indicator(listed(c("a", "b")))), c("a_indicator", "b_indicator"))
})

test_that("without a scope, names are strings, bare names, or variables that hold them", {
  mine <- c("a", "b")
  expect_identical(names_of(column_numeric(mine)), c("a", "b"))
  expect_identical(names_of(column_numeric(a1, "b1", c(c1, "d1"))), c("a1", "b1", "c1", "d1"))
  expect_identical(names_of(column_numeric(paste0("x", 1:2))), c("x1", "x2"))
  expect_identical(names_of(column_numeric(all_of(mine))), c("a", "b"))
  expect_identical(names_of(column_numeric(`petal length`)), "petal length")
})

test_that("inside a scope, helpers choose among its names", {
  expect_identical(
    names_of(feature_columns(column_numeric(starts_with("d")), names = mtcars)),
    c("disp", "drat")
  )
  expect_identical(
    names_of(with_columns(names(mtcars), column_numeric(wt:vs, -qsec, "gear"))),
    c("wt", "vs", "gear")
  )
  mine <- c("wt", "hp")
  expect_identical(names_of(with_columns(mtcars, column_numeric(mine))), mine)
  expect_identical(names_of(with_columns(mtcars, column_numeric(everything()))), names(mtcars))
  expect_identical(names_of(with_columns(mtcars, column_numeric(last_col()))), "carb")
})

test_that("a scope ends with its function, its expression, or when it is set again", {
  inside <- function() {
    scoped_columns(mtcars)
    names_of(column_numeric(matches("^w")))
  }
  expect_identical(inside(), "wt")
  expect_null(the$feature_scope)
  expect_error(with_columns(mtcars, rlang::abort("no")), "no")
  expect_null(the$feature_scope)
  withr::defer(set_columns(NULL))
  expect_null(set_columns(mtcars))
  expect_identical(names_of(column_numeric(contains("ea"))), "gear")
  expect_identical(set_columns(NULL), names(mtcars))
})

test_that("columns have the names that TensorFlow gives them", {
  ranges <- column_bucketized(column_numeric("x"), boundaries = c(0, 1))
  crossed <- column_crossed(list(ranges, "word", "Color"), hash_bucket_size = 10)
  expect_identical(column_name(ranges), "x_bucketized")
  expect_identical(column_name(crossed), "Color_X_word_X_x_bucketized")
  expect_identical(
    column_name(column_crossed(list(crossed, "a"), 10)),
    "Color_X_a_X_word_X_x_bucketized"
  )
  expect_identical(
    column_name(column_embedding(crossed, 2)),
    paste0(column_name(crossed), "_embedding")
  )
  expect_identical(column_name(column_categorical_weighted(listed(), "w")), "word_weighted_by_w")
})

test_that("any name becomes one that TensorFlow accepts, as in Python", {
  expect_identical(safe_key("petal length"), "petal_length")
  expect_identical(safe_key("gr\u00f6\u00dfe"), "gru00f6u00dfe")
  expect_identical(safe_key("\u9577\u3055"), "u9577u3055")
  expect_identical(safe_key("a/b:c%"), "a_b_c_")
})

test_that("columns are plain values that can be saved", {
  columns <- feature_columns(
    column_embedding(listed(), 2, initializer = "zeros"),
    column_numeric("x")
  )
  file <- withr::local_tempfile()
  saveRDS(columns, file)
  expect_identical(readRDS(file), columns)
})

test_that("lists of columns become one list", {
  columns <- feature_columns(column_numeric("a"), list(column_numeric("b", "c"), listed("d")))
  expect_identical(names_of(columns), c("a", "b", "c", "d"))
  expect_s3_class(columns[2:3], "tfdistribute_feature_columns")
  expect_identical(names_of(c(columns[1], column_numeric("e"))), c("a", "e"))
})

test_that("a list of columns reaches Python as a list of mappings", {
  wire <- as_wire(feature_columns(column_numeric("a"), listed("b")))
  expect_null(names(wire))
  expect_identical(wire[[2]]$kind, "categorical_with_vocabulary_list")
  expect_identical(wire[[2]]$vocabulary_list, list("a", "b", "c"))
})

test_that("a dtype may be TensorFlow's", {
  skip_if_no_tensorflow()
  tf <- call_backend("tensorflow")
  expect_identical(column_numeric("x", dtype = tf$int64)$dtype, "int64")
  expect_identical(
    column_categorical_with_hash_bucket("x", hash_bucket_size = 9, dtype = tf$string)$dtype,
    "string"
  )
})

test_that("columns print what they are", {
  ranges <- column_bucketized(column_numeric("age"), boundaries = c(18, 30, 65))
  expect_snapshot({
    column_numeric("x")
    feature_columns(
      column_numeric("x", shape = c(2, 3), dtype = "int32", normalizer_fn = function(x) x),
      ranges,
      column_categorical_with_vocabulary_list("cut", vocabulary_list = letters),
      column_categorical_with_vocabulary_file("city", vocabulary_file = "cities.txt"),
      column_categorical_with_hash_bucket("word", hash_bucket_size = 100),
      column_categorical_with_identity("gear", num_buckets = 6),
      column_categorical_weighted(listed("tag"), "count"),
      column_crossed(list(ranges, "cut"), hash_bucket_size = 50),
      column_indicator(listed("color")),
      column_embedding(listed("petal length"), dimension = 3),
      column_embedding(listed("place"), dimension = 3, shared = "city")
    )
    feature_columns()
  })
})

test_that("what is no column or no feature is refused", {
  expect_snapshot(error = TRUE, {
    feature_columns("wt")
    column_numeric()
    column_numeric("x", shap = 2)
    column_numeric(starts_with("d"))
    column_numeric(3)
    with_columns(mtcars, column_numeric("weight"))
    with_columns(mtcars, column_numeric(starts_with("z")))
    scoped_columns(1:3)
    column_crossed(structure(list("a", "b"), class = "of_another_package"), 10)
  })
})

test_that("settings that TensorFlow would refuse are refused", {
  expect_snapshot(error = TRUE, {
    column_numeric("x", dtype = "string")
    column_numeric("x", normalizer_fn = "log")
    column_categorical_with_vocabulary_list("x", vocabulary_list = NULL)
    column_embedding(listed(), dimension = 0)
    column_embedding(listed(), 2, initializer = "normal")
  })
})

test_that("a formula and a data frame make a column per feature, by its type", {
  data <- data.frame(
    y = 1:4,
    number = c(1, 2, 3, NA),
    whole = 5:8,
    flag = c(TRUE, FALSE, TRUE, TRUE),
    level = factor(c("low", "high", "low", "low"), levels = c("low", "mid", "high")),
    text = c("b", "a", NA, "b"),
    day = as.Date("2020-01-01") + c(0, 10, 20, 30),
    same = 7
  )
  data$matrix <- cbind(1:4, 11:14)
  expect_snapshot(feature_columns(y ~ ., data, standardize = TRUE))
  plain <- feature_columns(~ number + level, data, new_levels = "error")
  expect_identical(
    plain,
    feature_columns(
      column_numeric("number"),
      column_indicator(column_categorical_with_vocabulary_list(
        "level",
        vocabulary_list = c("low", "mid", "high")
      ))
    )
  )
  scaled <- feature_columns(~ number + same, data, standardize = TRUE)
  expect_identical(c(scaled[[1]]$center, scaled[[1]]$scale), c(2, 1))
  # A constant column must not divide by 0.
  expect_identical(c(scaled[[2]]$center, scaled[[2]]$scale), c(7, 1))
  expect_error(feature_columns(y ~ nothing, data), class = "tfdistribute_input_error")
})

test_that("`center` and `scale` are plain values, and exclude a function", {
  column <- column_numeric("x", center = 2, scale = 4)
  expect_identical(format(column), "numeric, (x - 2) / 4")
  expect_identical(column, unserialize(serialize(column, NULL)))
})

test_that("c() keeps columns whole, sets and strings among them", {
  age <- column_numeric("age")
  both <- c(age, column_numeric("a", "b"), listed())
  expect_s3_class(both, "tfdistribute_feature_columns")
  expect_identical(names_of(both), c("age", "a", "b", "word"))
  expect_identical(names_of(c(column_numeric("a", "b"), age)), c("a", "b", "age"))
  bought <- column_bucketized(age, boundaries = c(18, 65))
  crossed <- column_crossed(c(bought, "education", "occupation"), 10000)
  expect_identical(crossed$keys, list(bought, "education", "occupation"))
  model <- linear_regressor(c(age, column_numeric("b")), model_dir = "m")
  expect_identical(names_of(model$feature_columns), c("age", "b"))
  expect_snapshot(error = TRUE, {
    column_crossed(c("education", bought), 10000)
    linear_regressor(c("education", age))
  })
})

test_that("a formula names the features of a column function", {
  made <- feature_columns(
    starts_with("d") ~ column_numeric(),
    c(vs, am) ~ column_indicator(column_categorical_with_identity(num_buckets = 2)),
    names = mtcars
  )
  by_hand <- feature_columns(
    column_numeric("disp", "drat"),
    column_indicator(column_categorical_with_identity("vs", "am", num_buckets = 2))
  )
  expect_identical(made, by_hand)
  expect_identical(names_of(feature_columns(. ~ column_numeric(), names = mtcars)), names(mtcars))
  expect_identical(names_of(feature_columns(wt ~ column_numeric())), "wt")
  expect_snapshot(error = TRUE, {
    feature_columns(~ column_numeric())
    feature_columns(mpg ~ wt)
  })
})

test_that("a last comma, and lists of columns, are taken", {
  columns <- list(column_numeric("a"), column_numeric("b"))
  expect_identical(names_of(feature_columns(!!!columns, column_numeric("c"), )), c("a", "b", "c"))
})

test_that("columns that are selected twice are kept once, unless they differ", {
  twice <- feature_columns(
    column_numeric(starts_with("d")),
    column_numeric(disp, wt),
    names = mtcars
  )
  expect_identical(names_of(twice), c("disp", "drat", "wt"))
  expect_length(feature_columns(column_numeric("a"), column_numeric("a", shape = 2)), 2)
})

test_that("feature columns of TensorFlow, which tfestimators makes, are descriptions here", {
  skip_if_no_tensorflow()
  fc <- tf$feature_column
  number <- fc$numeric_column("age", shape = 2L, dtype = tf$float64)
  scalar <- fc$numeric_column("wt")
  words <- fc$categorical_column_with_vocabulary_list("word", list("a", "b"))
  number_of <- fc$categorical_column_with_identity("id", num_buckets = 4L)
  hashed <- fc$categorical_column_with_hash_bucket("city", hash_bucket_size = 10L)
  theirs <- list(
    number,
    fc$bucketized_column(scalar, list(1, 2)),
    fc$indicator_column(words),
    fc$embedding_column(number_of, dimension = 3L),
    fc$indicator_column(fc$crossed_column(list(words, "other"), hash_bucket_size = 20L)),
    fc$weighted_categorical_column(hashed, "w")
  )
  listed <- column_categorical_with_vocabulary_list(
    "word",
    vocabulary_list = c("a", "b"),
    dtype = "string",
    default_value = -1
  )
  own <- list(
    column_numeric("age", shape = 2, dtype = "float64"),
    column_bucketized(column_numeric("wt"), boundaries = c(1, 2)),
    column_indicator(listed),
    column_embedding(column_categorical_with_identity("id", num_buckets = 4), dimension = 3),
    column_indicator(column_crossed(list(listed, "other"), hash_bucket_size = 20)),
    column_categorical_weighted(
      column_categorical_with_hash_bucket("city", hash_bucket_size = 10),
      "w"
    )
  )
  expect_identical(feature_columns(!!!theirs), feature_columns(!!!own))
  expect_identical(
    linear_regressor(scalar, model_dir = "m")$feature_columns,
    as_feature_columns(column_numeric("wt"))
  )
  expect_error(feature_columns(tf$constant(1)), class = "tfdistribute_argument_error")
})

test_that("a column with a label of its own in each row is named, once there are many rows", {
  data <- data.frame(y = 1:30, id = as.character(1:30), `a b` = factor(1:30), check.names = FALSE)
  data$kind <- rep(c("a", "b"), 15)
  expect_snapshot(columns <- feature_columns(y ~ ., data))
  expect_length(columns, 3)
  expect_silent(feature_columns(y ~ . - id - `a b`, data))
  expect_silent(feature_columns(y ~ ., utils::head(data, 10)))
  expect_silent(feature_columns(y ~ id, rbind(data, data[1, ])))
})
