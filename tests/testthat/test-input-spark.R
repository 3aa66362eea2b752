# Spark DataFrames where a data frame is accepted.

data_frame_of_spark <- function() {
  structure(
    list(),
    class = c(
      "pyspark.sql.classic.dataframe.DataFrame",
      "pyspark.sql.dataframe.DataFrame",
      "python.builtin.object"
    )
  )
}

# Answers as those of Python, and what it was asked in `asked`.
local_spark <- function(asked, frame = parent.frame()) {
  keep <- function(name, answer) {
    function(arguments) {
      asked[[name]] <- arguments
      asked$names <- c(asked$names, name)
      answer
    }
  }
  history <- list(
    training = list(step = 1, loss = 3, seconds = 0, examples_per_second = NaN),
    evaluation = list(),
    examples_per_second = NaN,
    global_step = 1,
    model_dir = "/runs/cars"
  )
  types <- list(mpg = "float", wt = "float", hp = "integer", day = "date", maker = "string")
  summary <- list(
    rows = 32,
    columns = list(
      wt = list(mean = 3, deviation = 2),
      hp = list(mean = 100, deviation = 0),
      day = list(mean = 365, deviation = 7),
      maker = list(labels = list("Fiat", "Volvo"))
    )
  )
  local_answers(
    trained_state = untrained,
    trained_columns = keep(
      "trained_columns",
      list(features = list("wt", "hp"), response = "mpg", weights = NULL)
    ),
    spark_columns = keep("spark_columns", c(types, list(tags = "Spark's array<string>"))),
    spark_summary = keep("spark_summary", summary),
    spark_table = keep("spark_table", data_frame_of_spark()),
    spark_view = keep("spark_view", NULL),
    write_spark_rows = keep(
      "write_spark_rows",
      list("/staging/rows/part-0", "/staging/rows/part-1")
    ),
    remove_spark_rows = keep("remove_spark_rows", NULL),
    train = keep("train", history),
    evaluate = keep("evaluate", list(loss = 1)),
    predict_spark = keep("predict_spark", data_frame_of_spark()),
    frame = frame
  )
}

a_model <- function() {
  linear_regressor(feature_columns(column_numeric("wt", "hp")), model_dir = "/runs/cars")
}

# As sparklyr 1.8.4 and dbplyr 2.3 make them.
local_sparklyr <- function(frame = parent.frame()) {
  local_stand_in("sparklyr", "spark_connection <- function(x, ...) x$src$con", frame = frame)
  local_stand_in(
    "dbplyr",
    "sql_render <- function(query, ...) structure('SELECT * FROM `cars`', class = c('sql', 'character'))",
    frame = frame
  )
  con <- structure(
    list(method = "shell", state = list2env(list(tfdistribute = "py4j://:abc@127.0.0.1:4242"))),
    class = c("spark_connection", "spark_shell_connection", "DBIConnection")
  )
  structure(
    list(src = structure(list(con = con), class = c("src_spark", "src_sql", "src"))),
    class = c("tbl_spark", "tbl_sql", "tbl_lazy", "tbl")
  )
}

test_that("train() reads the rows that Spark has written, and removes them", {
  asked <- new.env()
  local_spark(asked)
  train(a_model(), mpg ~ wt + hp, data = data_frame_of_spark(), batch_size = 8, shuffle = FALSE)
  expect_identical(asked$write_spark_rows$names, list("wt", "hp", "mpg"))
  expect_identical(asked$write_spark_rows$staging, "/runs/cars")
  sent <- asked$train$input
  expect_identical(sent$kind, "parquet")
  expect_identical(unlist(sent$paths), c("/staging/rows/part-0", "/staging/rows/part-1"))
  expect_identical(sent$response, "mpg")
  expect_identical(unlist(sent$features), c("wt", "hp"))
  expect_identical(sent$batch_size, 8L)
  expect_identical(asked$remove_spark_rows$paths, sent$paths)
  expect_identical(
    asked$names[-1:-2],
    c("write_spark_rows", "train", "remove_spark_rows")
  )
})

test_that("the rows are written where the user wants, with weights", {
  asked <- new.env()
  local_spark(asked)
  table <- data_frame_of_spark()
  train(a_model(), mpg ~ . - tags, table, weights = hp, staging = "/shared")
  expect_identical(asked$write_spark_rows$staging, "/shared")
  expect_setequal(unlist(asked$write_spark_rows$names), c("wt", "day", "maker", "hp", "mpg"))
  expect_identical(asked$train$input$weights, "hp")
  expect_error(
    train(a_model(), mpg ~ wt, mtcars, staging = "/shared"),
    class = "tfdistribute_argument_error"
  )
})

test_that("an input of a Spark DataFrame is one of Parquet files", {
  asked <- new.env()
  local_spark(asked)
  table <- data_frame_of_spark()
  input <- input_fn(mpg ~ wt, table, staging = "/shared", epochs = 3)
  expect_s3_class(input, "tfdistribute_parquet_input")
  expect_identical(input_fn(table, wt, mpg, staging = "/shared", epochs = 3), input)
  expect_null(asked$remove_spark_rows)
  expect_snapshot(error = TRUE, {
    input_fn(mpg ~ wt, table)
    input_fn(table, staging = "/shared")
    input_fn(mpg ~ cyl, table, staging = "/shared")
    input_fn(mpg ~ tags, table, staging = "/shared")
    input_fn(mpg ~ wt, table, staging = "/shared", bach_size = 2)
  })
})

test_that("wrong arguments are an error before Spark writes", {
  asked <- new.env()
  local_spark(asked)
  expect_error(train(a_model(), mpg ~ wt, data_frame_of_spark(), batch_size = 0), "batch_size")
  expect_null(asked$write_spark_rows)
})

test_that("evaluate() reads the training columns of a table, and removes the rows", {
  asked <- new.env()
  local_spark(asked)
  evaluate(a_model(), data_frame_of_spark())
  expect_identical(asked$write_spark_rows$names, list("wt", "hp", "mpg"))
  expect_identical(asked$evaluate$input$kind, "parquet")
  expect_identical(asked$remove_spark_rows$paths, asked$evaluate$input$paths)
})

test_that("rows that Spark wrote are removed after an error", {
  asked <- new.env()
  local_spark(asked)
  before <- the$bridge$call
  the$bridge <- list(call = function(name, ...) {
    if (name == "evaluate") rlang::abort("no metrics") else before(name, ...)
  })
  expect_error(evaluate(a_model(), data_frame_of_spark()), "no metrics")
  expect_identical(asked$remove_spark_rows$paths[[1]], "/staging/rows/part-0")
})

test_that("feature columns get levels, means and standard deviations from Spark", {
  asked <- new.env()
  local_spark(asked)
  table <- data_frame_of_spark()
  columns <- feature_columns(
    mpg ~ wt + hp + day + maker,
    table,
    standardize = TRUE,
    new_levels = "error"
  )
  expect_identical(asked$spark_summary$names, list("wt", "hp", "day", "maker"))
  expected <- feature_columns(
    column_numeric("wt", center = 3, scale = 2),
    # A constant column.
    column_numeric("hp", center = 100, scale = 1),
    column_numeric("day", center = 365, scale = 7),
    column_indicator(column_categorical_with_vocabulary_list("maker", c("Fiat", "Volvo")))
  )
  expect_equal(columns, expected)
  plain <- feature_columns(mpg ~ wt + day, table)
  expect_null(plain[[1]]$center)
  expect_identical(plain[[2]]$center, 365)
})

test_that("a table of sparklyr becomes a DataFrame of Python by its query", {
  asked <- new.env()
  local_spark(asked)
  table <- local_sparklyr()
  train(a_model(), mpg ~ wt, data = table)
  expect_identical(asked$spark_table$session, "py4j://:abc@127.0.0.1:4242")
  expect_identical(asked$spark_table$query, "SELECT * FROM `cars`")
  expect_identical(asked$train$input$kind, "parquet")
  # As that of pysparklyr.
  session <- structure(list(), class = "python.builtin.object")
  table$src$con <- structure(list(session = session), class = "spark_connection")
  train(a_model(), mpg ~ wt, data = table)
  expect_identical(asked$spark_table$session, session)
})

test_that("predict() returns a table of the kind of the data", {
  asked <- new.env()
  local_spark(asked)
  table <- data_frame_of_spark()
  expect_identical(predict(a_model(), table), table)
  expect_null(asked$predict_spark$predict_keys)
  expect_identical(asked$predict_spark$hidden_keys, list("all_classes", "all_class_ids"))
  expect_identical(predict(a_model(), newdata = table, predict_keys = "predictions"), table)
  expect_identical(asked$predict_spark$predict_keys, "predictions")
  expect_null(asked$write_spark_rows)
  expect_snapshot(error = TRUE, {
    predict(a_model(), table, as_iterable = TRUE)
    predict(a_model(), table, cluster = local_cluster(2))
    predict(a_model(), table, batch_size = 5)
  })
})

test_that("predict() for a table of sparklyr returns a table of its connection", {
  asked <- new.env()
  local_spark(asked)
  data <- local_sparklyr()
  registerS3method(
    "tbl",
    "spark_connection",
    function(src, from, ...) list(src = src, from = from),
    asNamespace("dplyr")
  )
  predicted <- predict(a_model(), data)
  expect_identical(predicted$src, data$src$con)
  expect_identical(predicted$from, asked$spark_view$name)
})
