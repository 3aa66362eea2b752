# Values that belong to no category of a model are warned of or errors that name them, as the column says.

rows <- data.frame(group = factor(rep(c("a", "b"), 20)), code = rep(0:1, 20), y = rep(c(1, 3), 20))

steps_of <- function(model) as.integer(variable_value(model, "global_step"))

strict <- function(formula) feature_columns(formula, rows, new_levels = "error")

trained <- function(model, formula) {
  train(model, formula, data = rows, batch_size = 8)
  model
}

test_that("new labels and numbers out of range are named, with their rows, before the first step", {
  skip_if_no_tensorflow()
  model <- trained(linear_regressor(strict(y ~ group)), y ~ group)
  classifier <- trained(linear_classifier(feature_columns(group ~ code, rows)), group ~ code)
  buckets <- column_categorical_with_identity("code", num_buckets = 2)
  identity <- trained(linear_regressor(buckets), y ~ code)
  codes <- trained(
    linear_regressor(column_categorical_with_identity("group", num_buckets = 2)),
    y ~ group
  )
  new <- data.frame(group = factor(c("a", "z", "w")), code = c(1L, 5L, -7L), y = 1:3)
  steps <- steps_of(model)
  expect_snapshot(error = TRUE, {
    predict(model, new)
    evaluate(model, new)
    train(model, y ~ group, data = new)
    evaluate(classifier, new[c("group", "code")][new$code == 1 | new$group == "z", ])
    predict(identity, new)
    predict(identity, new[3, ])
    predict(codes, new)
  })
  expect_identical(steps_of(model), steps)
})

test_that("levels that no row has are no new levels", {
  skip_if_no_tensorflow()
  model <- trained(linear_regressor(strict(y ~ group)), y ~ group)
  codes <- trained(
    linear_regressor(column_categorical_with_identity("group", num_buckets = 2)),
    y ~ group
  )
  classifier <- trained(linear_classifier(feature_columns(group ~ code, rows)), group ~ code)
  subset <- data.frame(group = factor("b", levels = c("z", "b")), code = 1L)
  for (each in list(model, codes)) {
    expect_identical(
      predict(each, subset)$predictions,
      predict(each, data.frame(group = "b"))$predictions
    )
  }
  expect_identical(
    evaluate(classifier, input_fn(group ~ code, subset)),
    evaluate(classifier, input_fn(group ~ code, droplevels(subset)))
  )
})

test_that("new labels count as missing, with one warning that names them and their columns", {
  skip_if_no_tensorflow()
  data <- transform(rows, kind = ifelse(code == 0, "NA", "u"))
  columns <- feature_columns(y ~ group + kind, data)
  expect_identical(columns[[2]]$categorical_column$vocabulary_list, c("NA", "u"))
  model <- linear_regressor(columns, model_dir = withr::local_tempdir())
  train(model, y ~ group + kind, data = data, batch_size = 8)
  new <- data.frame(group = c("z", "a", "w"), kind = c("u", "v", "v"), y = 1:3)
  csv <- withr::local_tempfile(fileext = ".csv")
  utils::write.csv(new, csv, row.names = FALSE)
  missing <- transform(new, group = c("", "a", ""), kind = c("u", "", ""))
  wanted <- predict(model, missing)$predictions
  for (verb in list(
    function() expect_identical(predict(model, new)$predictions, wanted),
    function() evaluate(model, new),
    function() predict(model, input_csv(csv, response = "y"))
  )) {
    warned <- testthat::capture_warnings(
      warning <- expect_warning(
        verb(),
        class = "tfdistribute_new_levels_warning"
      )
    )
    expect_length(warned, 0)
    expect_identical(warning$labels, list(group = c("z", "w"), kind = "v"))
  }
  expect_match(conditionMessage(warning), "`group` \"z\", \"w\"; `kind` \"v\"", fixed = TRUE)
  expect_no_warning(predict(model, data))
})

test_that("ignored labels count as no category", {
  skip_if_no_tensorflow()
  columns <- feature_columns(y ~ group, rows, new_levels = "ignore")
  expect_identical(columns[[1]]$categorical_column$default_value, -1L)
  model <- trained(linear_regressor(columns, standardize_response = FALSE), y ~ group)
  found <- predict(model, data.frame(group = c("a", "z")))$predictions
  bias <- variable_value(model, "linear/linear_model/bias_weights")
  expect_equal(found[[2]], as.numeric(bias), tolerance = 1e-6)
  expect_false(isTRUE(all.equal(found[[1]], found[[2]])))
})

test_that("a model that refuses new labels is described again to ignore them", {
  skip_if_no_tensorflow()
  model <- trained(linear_regressor(strict(y ~ group)), y ~ group)
  columns <- feature_columns(y ~ group, rows, new_levels = "ignore")
  again <- linear_regressor(columns, model_dir = model$model_dir)
  expect_length(predict(again, data.frame(group = "z"))$predictions, 1)
})

test_that("columns with a place for other values take them, and empty strings are missing values", {
  skip_if_no_tensorflow()
  listed <- function(...) {
    column_categorical_with_vocabulary_list("group", vocabulary_list = "a", ...)
  }
  for (column in list(
    listed(num_oov_buckets = 1),
    listed(default_value = 0),
    listed(default_value = -1)
  )) {
    expect_identical(steps_of(trained(linear_regressor(column), y ~ group)), 5L)
  }
  expect_error(trained(linear_regressor(listed()), y ~ group), class = "tfdistribute_input_error")
  model <- trained(linear_regressor(strict(y ~ group)), y ~ group)
  expect_length(predict(model, data.frame(group = ""))$predictions, 1)
})

test_that("new labels in files and generators are named where they are read", {
  skip_if_no_tensorflow()
  model <- trained(linear_regressor(strict(y ~ group)), y ~ group)
  folder <- withr::local_tempdir()
  csv <- file.path(folder, "new.csv")
  utils::write.csv(data.frame(group = c("a", "b", "z"), y = 1:3), csv, row.names = FALSE)
  numbers <- file.path(folder, "numbers.csv")
  utils::write.csv(data.frame(code = c(0L, 5L), y = 1:2), numbers, row.names = FALSE)
  batches <- function() {
    number <- 0
    function() {
      number <<- number + 1
      if (number < 3) list(group = c("a", if (number == 2) "z" else "b"), y = c(1, 2))
    }
  }
  identity <- linear_regressor(column_categorical_with_identity("code", num_buckets = 2))
  expect_snapshot(
    error = TRUE,
    transform = function(lines) gsub(folder, "<folder>", lines, fixed = TRUE),
    {
      predict(model, input_csv(csv, features = "group"))
      evaluate(model, input_csv(csv, response = "y"))
      train(identity, input_csv(numbers, response = "y"))
      train(model, input_generator(batches, response = "y"))
    }
  )
})

test_that("TensorFlow's error about a number out of range becomes one about the column", {
  skip_if_no_tensorflow()
  folder <- withr::local_tempdir()
  suppressMessages(write_tfrecord(input_fn(y ~ code, rows), folder, shards = 1))
  column <- column_categorical_with_identity("code", num_buckets = 1)
  models <- list(
    linear_regressor(column),
    dnn_regressor(2, column_embedding(column, dimension = 2))
  )
  for (model in models) {
    error <- expect_error(
      train(model, input_tfrecord(folder, features = "code", response = "y")),
      class = "tfdistribute_input_error"
    )
    expect_identical(error$problem, "The column `code` has 1, but its categories are 0 to 0.")
  }
})

test_that("a level of a factor that a model function does not read is no obstacle", {
  skip_if_no_tensorflow()
  data <- transform(rows, other = group)
  line <- function(features, labels, mode) {
    read <- tf$cast(features$group, tf$float32)
    output <- tf$compat$v1$layers$dense(tf$reshape(read, list(-1L, 1L)), 1L)
    loss <- if (!is.null(labels)) tf$reduce_mean((tf$reshape(labels, list(-1L, 1L)) - output)^2)
    list(predictions = list(y = output), loss = loss, optimizer = "sgd")
  }
  new <- transform(data[1:4, ], other = factor(c("x", "y", "z", "a")))
  for (strategy in list(NULL, strategy_mirrored(2))) {
    model <- estimator(line, withr::local_tempdir(), config = run_config(strategy, seed = 1))
    train(model, y ~ group + other, data = data, batch_size = 8)
    expect_identical(predict(model, new), predict(model, data[1:4, ]))
    expect_identical(evaluate(model, new), evaluate(model, data[1:4, ]))
    train(model, y ~ group + other, data = new, batch_size = 4)
    error <- expect_error(
      predict(model, transform(new, group = factor("z"))),
      class = "tfdistribute_input_error"
    )
    expect_match(error$problem, "The factor \"group\" has the level \"z\" in row 1", fixed = TRUE)
  }
})
