# Errors of Python about columns and files, each with the code of its remedy.

words <- data.frame(w = factor(c("a", "b", "a", "b")), y = c(1, 2, 3, 4))
identity_of <- function(buckets, ...) {
  column_indicator(column_categorical_with_identity("w", num_buckets = buckets, ...))
}
tries(
  train(dnn_regressor(2, identity_of(2)), y ~ w, data = transform(words, w = c(0L, 1L, 7L, 9L))),
  {
    numbers <- transform(words, w = c(0L, 1L, 7L, 9L))
    train(dnn_regressor(2, identity_of(num_buckets = 10)), y ~ w, data = numbers, steps = 1)
    train(dnn_regressor(2, identity_of(2, default_value = 0)), y ~ w, data = numbers, steps = 1)
  },
  words = words,
  identity_of = function(num_buckets, ...) {
    column_indicator(column_categorical_with_identity("w", num_buckets = num_buckets, ...))
  }
)
tries(
  train(linear_regressor(column_numeric("w")), y ~ w, data = transform(words, w = as.character(w))),
  {
    column <- column_categorical_with_vocabulary_list("w", vocabulary_list = c("a", "b"))
    train(linear_regressor(column), y ~ w, data = words, steps = 1)
  },
  words = words
)
tries(
  train(
    linear_regressor(column_crossed(c("x", "w"), hash_bucket_size = 9)),
    y ~ x + w,
    data = transform(words, x = c(1.5, 2, 3, 4))
  ),
  {
    x <- column_bucketized(column_numeric("x"), boundaries = 2)
    column <- column_crossed(list(x, "w"), hash_bucket_size = 9)
    train(linear_regressor(column), y ~ x + w, data = transform(words, x = y / 2), steps = 1)
  },
  words = words
)
tries(
  train(linear_regressor(column_numeric("m")), y ~ m, data = list(m = matrix(1:4, 2), y = 1:2)),
  {
    column <- column_numeric("m", shape = 2)
    train(linear_regressor(column), y ~ m, data = list(m = matrix(1:4, 2), y = 1:2), steps = 1)
  }
)
cities <- data.frame(from = factor(c("a", "b")), to = factor(c("b", "a")), y = 1:2)
vectors_of <- function(feature, dimension = 2, shared = "city") {
  city <- column_categorical_with_identity(feature, num_buckets = 2)
  column_embedding(city, dimension = dimension, shared = shared)
}
two_vectors <- function(...) {
  model <- dnn_regressor(2, feature_columns(vectors_of("from"), vectors_of("to", ...)))
  train(model, y ~ from + to, data = cities, steps = 1)
}
tries(
  two_vectors(dimension = 3),
  {
    two_vectors(dimension = 2)
    two_vectors(dimension = 3, shared = "other")
  },
  two_vectors = two_vectors
)

# Files -------------------------------------------------------------------------------------------

csv <- function(...) {
  path <- tempfile(fileext = ".csv")
  writeLines(c(...), path)
  path
}
read <- function(path, ...) {
  train(linear_regressor(column_numeric("x")), input_csv(path, response = "y", ...), steps = 1)
}
file_rows <- function(fails, typed) {
  rlang::inject(tries(!!rlang::enexpr(fails), !!rlang::enexpr(typed), csv = csv, read = read))
}
file_rows(
  read(csv("x,y", "1,2", ",3")),
  {
    read(csv("x,y", "1,2", ",3"), impute = list(x = 0))
    read(csv("x,y", "1,2", "4,3"))
  }
)
file_rows(
  read(csv("x,y", "1,2", "2.5,3"), types = list(x = "integer")),
  {
    read(csv("x,y", "1,2", "2.5,3"), types = list(x = "float"))
    suppressWarnings(
      read(csv("x,y", "1,2", "2.5,3"), types = list(x = "integer"), on_bad_row = "skip")
    )
  }
)
file_rows(
  read(csv("x,y", "1,2", "a,3"), types = list(x = "integer")),
  {
    column <- column_categorical_with_vocabulary_list("x", vocabulary_list = c("1", "a"))
    input <- input_csv(csv("x,y", "1,2", "a,3"), response = "y", types = list(x = "string"))
    train(linear_regressor(column), input, steps = 1)
    suppressWarnings(
      read(csv("x,y", "1,2", "a,3"), types = list(x = "integer"), on_bad_row = "skip")
    )
  }
)
file_rows(
  read(csv("x,y", rep("1,2", 3000), "a,3")),
  {
    column <- column_categorical_with_vocabulary_list("x", vocabulary_list = c("1", "a"))
    path <- csv("x,y", rep("1,2", 3000), "a,3")
    train(linear_regressor(column), input_csv(path, response = "y"), steps = 1)
  }
)
file_rows(
  read(csv("x,y", "1,2", "4,3,5")),
  suppressWarnings(read(csv("x,y", "1,2", "4,3,5"), on_bad_row = "skip"))
)
file_rows(read(csv("x;y", "1;2", "4;3")), read(csv("x;y", "1;2", "4;3"), delim = ";"))
tries(
  train(model, input_tfrecord(csv, response = "y", columns = NULL)),
  input_tfrecord(csv, response = "y", columns = c(y = "int64", x = "float32[20]")),
  csv = csv("x,y", "1,2")
)

# Kinds of columns --------------------------------------------------------------------------------

tries(
  train(dnn_regressor(c(4, 2), column_numeric("x"), hidden_units = 3), y ~ x, data = data),
  dnn_regressor(hidden_units = c(64, 32), feature_columns = column_numeric("x"))
)
tries(
  train(linear_regressor(column_numeric("x"), optimizer = "sgdd"), y ~ x, data = data),
  linear_regressor(column_numeric("x"), optimizer = "sgd")
)
labelled <- column_categorical_with_vocabulary_list("w", vocabulary_list = c("a", "b"))
tries(
  train(linear_regressor(labelled), input_fn(y ~ w, words, factors = "codes"), steps = 1),
  {
    input <- input_fn(y ~ w, transform(words, w = as.character(w)))
    train(linear_regressor(labelled), input, steps = 1)
    train(linear_regressor(labelled), input_fn(y ~ w, words), steps = 1)
    coded <- column_categorical_with_vocabulary_list("w", vocabulary_list = 0:1, dtype = "int64")
    train(linear_regressor(coded), input_fn(y ~ w, words, factors = "codes"), steps = 1)
  },
  words = words,
  labelled = labelled
)
tries(
  {
    model <- linear_regressor(column_categorical_with_identity("w", num_buckets = 2))
    train(model, input_fn(y ~ w, words, factors = "labels"), steps = 1)
  },
  train(model, input_fn(y ~ w, words), steps = 1),
  words = words
)
tries(
  {
    strings <- transform(words, w = as.character(w))
    model <- linear_regressor(column_categorical_with_identity("w", num_buckets = 2))
    train(model, y ~ w, data = strings, steps = 1)
  },
  {
    train(model, y ~ w, data = words, steps = 1)
    numbers <- transform(words, w = c(0, 1, 0, 1))
    train(linear_regressor(column_numeric("w")), y ~ w, data = numbers, steps = 1)
    column <- column_bucketized(column_numeric("w"), boundaries = 1)
    train(linear_regressor(column), y ~ w, data = numbers, steps = 1)
  },
  words = words
)
tries(
  {
    codes <- column_categorical_with_identity("w", num_buckets = 2)
    train(linear_regressor(list(labelled, column_indicator(codes))), y ~ w, data = words, steps = 1)
  },
  {
    x <- words$w
    words$code <- as.integer(x) - 1L
    codes <- column_categorical_with_identity("code", num_buckets = 2)
    train(linear_regressor(list(labelled, codes)), y ~ w + code, data = words, steps = 1)
  },
  words = words,
  labelled = labelled
)
new_word <- data.frame(w = factor(c("c", "a")))
tries(
  {
    coded <- linear_regressor(column_categorical_with_identity("w", num_buckets = 3))
    train(coded, y ~ w, data = words, steps = 1)
    predict(coded, new_word)
  },
  {
    x <- c("b", "a")
    predict(coded, data.frame(w = factor(x, levels = levels(words$w))))
    train(linear_regressor(labelled), input_fn(y ~ w, words, factors = "labels"), steps = 1)
  },
  words = words,
  labelled = labelled,
  new_word = new_word
)
tries(
  {
    strict <- linear_regressor(feature_columns(y ~ w, words, new_levels = "error"))
    train(strict, y ~ w, data = words, steps = 1)
    predict(strict, new_word)
  },
  {
    lenient <- linear_regressor(feature_columns(y ~ w, words, new_levels = "warn"))
    train(lenient, y ~ w, data = words, steps = 1)
    suppressWarnings(predict(lenient, new_word))
    column <- column_categorical_with_vocabulary_list(
      "w",
      vocabulary_list = c("a", "b"),
      default_value = -1
    )
    lenient <- linear_regressor(column)
    train(lenient, y ~ w, data = words, steps = 1)
    predict(lenient, new_word)
  },
  words = words,
  new_word = new_word
)
file_rows(
  read(csv("x,y", ",2", ",3")),
  read(csv("x,y", ",2", ",3"), types = list(x = "float"), impute = list(x = 0))
)
file_rows(
  read(c(csv("x,y", "1,2"), csv("x,y", "1.5,2"))),
  {
    read(c(csv("x,y", "1,2"), csv("x,y", "1.5,2")), types = list(x = "float"))
    suppressWarnings(
      read(
        c(csv("x,y", "1,2"), csv("x,y", "1.5,2", "2,3")),
        types = list(x = "integer"),
        on_bad_row = "skip"
      )
    )
  }
)

# Kinds of files ----------------------------------------------------------------------------------

tries(
  {
    write_arrow(input_fn(y ~ x, data), path)
    train(model, input_csv(path, response = "y"))
  },
  train(model, input_arrow(path, response = "y")),
  path = file.path(withr::local_tempdir(), "a.arrow")
)
tries(
  train(model, input_parquet(csv("x,y", "1,2"), response = "y")),
  train(model, input_csv(csv("x,y", "1,2"), response = "y")),
  csv = csv
)
tries(
  {
    days <- data.frame(x = as.POSIXct("2020-01-01") + 1:2, y = 1:2)
    write_tfrecord(input_fn(y ~ x, days), path)
  },
  write_arrow(input_fn(y ~ x, days), path),
  path = file.path(withr::local_tempdir(), "days")
)
