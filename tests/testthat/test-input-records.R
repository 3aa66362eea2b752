test_that("records in files are described without looking at them", {
  expect_snapshot({
    input_arrow("data/diamonds", response = "price", batch_size = 512)
    input_tfrecord(
      c("a", "b", "c", "d"),
      features = c("x", "y"),
      columns = c(x = "float32[2, 3]", y = "int64"),
      epochs = NULL,
      shuffle = FALSE,
      seed = 1
    )
  })
})

test_that("columns that are no dtypes are refused", {
  expect_snapshot(error = TRUE, {
    input_tfrecord("data", columns = "float32")
  })
})

test_that("what is no data in memory is not written", {
  expect_error(write_tfrecord(1:3, tempfile()), class = "tfdistribute_argument_error")
  expect_error(
    write_arrow(mtcars, tempfile(), shards = 33),
    class = "tfdistribute_argument_error"
  )
})

test_that("a model learns from files what it learns from memory", {
  skip_if_no_tensorflow()
  withr::local_options(tfdistribute.progress = FALSE)
  cars <- data.frame(wt = mtcars$wt, gear = factor(mtcars$gear), mpg = mtcars$mpg)
  columns <- feature_columns(
    column_numeric("wt"),
    column_categorical_with_vocabulary_list("gear", c("3", "4", "5"))
  )
  learnt <- function(input) {
    # Without it, only the response of the data in memory is standardized.
    model <- linear_regressor(
      columns,
      model_dir = withr::local_tempdir(),
      standardize_response = FALSE
    )
    train(model, input)
    c(predict(model, input)$predictions)
  }
  expected <- learnt(input_fn(mpg ~ ., cars, batch_size = 8, epochs = 2, shuffle = FALSE))
  for (kind in c("arrow", "tfrecord")) {
    path <- withr::local_tempfile()
    write <- switch(kind, arrow = write_arrow, tfrecord = write_tfrecord)
    read <- switch(kind, arrow = input_arrow, tfrecord = input_tfrecord)
    expect_identical(write(cars, path, shards = 3), path)
    input <- read(path, "mpg", batch_size = 8, epochs = 2, shuffle = FALSE)
    expect_equal(learnt(input), expected, tolerance = 1e-5)
    expect_error(write(cars, path), "holds finished files", class = "tfdistribute_argument_error")
  }
})

test_that("any input is written, with what its transform made of it", {
  skip_if_no_tensorflow()
  withr::local_options(tfdistribute.progress = FALSE)
  folder <- withr::local_tempdir()
  csv <- file.path(folder, "cars.csv")
  cars <- data.frame(wt = mtcars$wt, gear = paste0("g", mtcars$gear), am = mtcars$am)
  cars$mpg <- mtcars$mpg
  write.csv(cars, csv, row.names = FALSE)
  in_pounds <- function(features) {
    features$lbs <- tf$multiply(features$wt, 1000)
    features
  }
  input <- input_csv(csv, "mpg", weights = "am", epochs = NULL, transform = in_pounds)
  path <- file.path(folder, "cars")
  write_tfrecord(input, path, shards = 3)
  files <- sprintf("part-%05d-of-00003.tfrecord", 0:2)
  expect_setequal(list.files(path), c(files, "index.json"))
  learnt <- function(input) {
    model <- linear_regressor(
      feature_columns(column_numeric("lbs")),
      model_dir = withr::local_tempdir()
    )
    train(model, input, steps = 3)
    predict(model, input_fn(data.frame(lbs = 1:3 + 0), features = lbs))$predictions
  }
  from_files <- input_tfrecord(
    path,
    "mpg",
    "lbs",
    weights = "am",
    batch_size = 8,
    shuffle = FALSE
  )
  memory <- input_fn(
    transform(cars, lbs = wt * 1000),
    features = lbs,
    response = mpg,
    weights = am,
    batch_size = 8,
    shuffle = FALSE
  )
  expect_equal(learnt(from_files), learnt(memory), tolerance = 1e-5)
  expect_error(
    write_tfrecord(input_csv(csv, "mpg"), file.path(folder, "more"), shards = 33),
    "number of rows, 32, not 33",
    class = "tfdistribute_argument_error"
  )
  expect_false(dir.exists(file.path(folder, "more")))
})

test_that("a missing file is named", {
  skip_if_no_tensorflow()
  model <- linear_regressor(
    feature_columns(column_numeric("wt")),
    model_dir = withr::local_tempdir()
  )
  expect_error(
    train(model, input_arrow("nowhere.arrow")),
    "nowhere.arrow\" does not exist",
    class = "tfdistribute_input_error"
  )
})
