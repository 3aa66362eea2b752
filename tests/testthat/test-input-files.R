# The plain text of an error: problem and remedy.
said <- function(code) {
  error <- rlang::catch_cnd(code, "tfdistribute_error")
  cat(paste0("<", class(error)[[1]], ">\n", error$problem, "\n", error$remedy, "\n"))
}

csv_of <- function(data, env = parent.frame()) {
  path <- withr::local_tempfile(fileext = ".csv", .local_envir = env)
  utils::write.csv(data, path, row.names = FALSE)
  path
}

# A Parquet or Arrow file of data, written by Python.
table_of <- function(data, kind, env = parent.frame()) {
  path <- withr::local_tempfile(fileext = paste0(".", kind), .local_envir = env)
  call_backend("tensorflow")
  import <- get("import", envir = asNamespace("reticulate"))
  table <- import("pyarrow")$table(as.list(data))
  if (kind == "parquet") {
    import("pyarrow.parquet")$write_table(table, path, row_group_size = 10L)
  } else {
    import("pyarrow.feather")$write_feather(table, path, chunksize = 10L)
  }
  path
}

test_that("inputs from files print what is read and start nothing", {
  expect_snapshot({
    input_csv("a.csv", "y")
    input_csv(
      c("a.csv", "b.csv", "c.csv", "d.csv"),
      "y",
      c("x", "when"),
      batch_size = 64,
      epochs = NULL,
      shuffle = FALSE,
      seed = 1,
      types = c(x = "float"),
      impute = list(x = 0, s = "none"),
      delim = "\t",
      on_bad_row = "skip"
    )
    input_parquet("gs://bucket/part-*.parquet", features = "x")
    input_arrow("a.feather", "y", types = list(y = "integer"))
  })
})

test_that("a description of files is a plain value", {
  input <- input_parquet("~/a.parquet", "y")
  expect_s3_class(input, c("tfdistribute_parquet_input", "tfdistribute_input"), exact = TRUE)
  expect_identical(unserialize(serialize(input, NULL)), input)
  expect_identical(input$paths, path.expand("~/a.parquet"))
  expect_identical(
    input_csv("a", impute = list(d = as.Date("1970-01-03"), i = 1L))$impute,
    list(d = 2, i = 1)
  )
})

test_that("what cannot be read is refused at once", {
  expect_snapshot({
    said(input_csv(1))
    said(input_csv("a", c("x", "y")))
    said(input_csv("a", "y", c("x", "y")))
    said(input_csv("a", "y", character()))
    said(input_csv("a", types = list(x = "double")))
    said(input_csv("a", types = "float"))
    said(input_csv("a", impute = 0))
    said(input_csv("a", impute = new.env()))
    said(input_csv("a", impute = list(x = NA)))
    said(input_csv("a", "y", impute = list(y = 0)))
    said(input_csv("a", na = NULL))
    said(input_csv("a", on_bad_row = "ignore"))
    said(input_parquet("a", batch_size = 0))
    said(input_arrow("a", shuffle = NA))
  })
})

test_that("a CSV file trains, evaluates and predicts like the data it was written from", {
  skip_if_no_tensorflow("smoke")
  data <- mtcars[c("mpg", "wt", "hp")]
  data$gear <- c("three", "four", "fi\"ve,")[mtcars$gear - 2]
  path <- csv_of(data)
  model <- linear_regressor(
    feature_columns(
      column_numeric("wt", "hp"),
      column_categorical_with_vocabulary_list("gear", c("three", "four", "fi\"ve,"))
    ),
    model_dir = withr::local_tempdir()
  )
  input <- input_csv(path, "mpg", types = list(hp = "float"), batch_size = 8)
  in_memory <- input_fn(mpg ~ wt + hp + gear, data, batch_size = 8)
  history <- train(model, input)
  expect_identical(history$global_step, 4L)
  expect_equal(evaluate(model, input), evaluate(model, in_memory))
  expect_equal(predict(model, input), predict(model, in_memory))
  expect_true(check_sharding(input, 2, epochs = 2)$ok)
})

test_that("Parquet and Arrow files hand on the same rows", {
  skip_if_no_tensorflow("check-all")
  model <- linear_regressor(
    feature_columns(column_numeric("wt")),
    model_dir = withr::local_tempdir()
  )
  train(model, input_fn(mpg ~ wt, mtcars))
  expected <- predict(model, input_fn(mpg ~ wt, mtcars))
  for (kind in c("parquet", "arrow")) {
    path <- table_of(mtcars[c("mpg", "wt")], kind)
    input <- if (kind == "parquet") input_parquet(path, "mpg") else input_arrow(path, "mpg")
    expect_equal(predict(model, input), expected)
    audit <- check_sharding(input, 2)
    expect_true(audit$ok)
    expect_identical(audit$rows, 32)
  }
})

test_that("rows that are skipped are counted in a warning of each verb", {
  skip_if_no_tensorflow()
  path <- withr::local_tempfile(fileext = ".csv")
  writeLines(c("x,y", "1,1", "2", "3,NA", "many,4", "5,5"), path)
  input <- input_csv(path, "y", types = list(x = "float", y = "float"), on_bad_row = "skip")
  warning <- expect_warning(
    audit <- check_sharding(input, 2),
    class = "tfdistribute_skipped_rows_warning"
  )
  expect_identical(audit$rows, 2)
  expect_identical(warning$count, 3L)
  expect_match(conditionMessage(warning), "3 rows were skipped", fixed = TRUE)
  expect_match(conditionMessage(warning), "line 3 of", fixed = TRUE)
  cars <- mtcars[c("mpg", "wt")]
  cars$wt[[3]] <- NaN
  skipping <- input_parquet(table_of(cars, "parquet"), "mpg", on_bad_row = "skip")
  warning <- expect_warning(
    audit <- check_sharding(skipping, 2),
    class = "tfdistribute_skipped_rows_warning"
  )
  expect_identical(audit$rows, 31)
  expect_match(conditionMessage(warning), "row 3 of", fixed = TRUE)
})

test_that("errors of files name file and line", {
  skip_if_no_tensorflow()
  path <- withr::local_tempfile(fileext = ".csv")
  writeLines(c("x,y", "1,1", "2,2,2"), path)
  error <- expect_error(check_sharding(input_csv(path), 1), class = "tfdistribute_input_error")
  expect_match(error$problem, "line 3 of", fixed = TRUE)
  expect_error(
    check_sharding(input_parquet(path), 1),
    "cannot be read as a Parquet file",
    class = "tfdistribute_input_error"
  )
})
