# Data frames and formulas where a verb takes an input.

a_model <- function() {
  linear_regressor(feature_columns(column_numeric("wt", "hp")), model_dir = "/runs/cars")
}

answer_training <- function(asked, frame = parent.frame()) {
  keep <- function(verb, answer) {
    function(arguments) {
      asked[[verb]] <- arguments
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
  columns <- list(features = list("wt", "hp"), response = "mpg", weights = NULL)
  local_answers(
    trained_state = untrained,
    train = keep("train", history),
    trained_columns = keep("trained_columns", columns),
    evaluate = keep("evaluate", list(loss = 1)),
    predict = keep("predict", list(predictions = array(1:2))),
    frame = frame
  )
}

names_sent <- function(input) vapply(input$columns, function(column) column$name, "")

test_that("train() takes a formula, data, and the arguments of input_fn()", {
  asked <- new.env()
  answer_training(asked)
  train(a_model(), mpg ~ wt + hp, data = mtcars, batch_size = 8, epochs = 3)
  sent <- asked$train$input
  expect_identical(names_sent(sent), c("wt", "hp", "mpg"))
  expect_identical(c(sent$batch_size, sent$epochs), c(8L, 3L))
  train(a_model(), mpg ~ wt, mtcars, epochs = 2, max_steps = 5)
  expect_identical(asked$train$max_steps, 5L)
  expect_identical(asked$train$input$epochs, 2L)
  expect_invisible(train(a_model(), mpg ~ wt, mtcars))
  train(a_model(), mpg ~ wt + hp, data = mtcars, weights = cyl, steps = 5)
  expect_identical(asked$train$steps, 5L)
  expect_identical(asked$train$input$weights, "cyl")
  expect_error(
    train(a_model(), mpg ~ wt),
    "`data` was not given",
    class = "tfdistribute_input_error"
  )
  expect_error(
    train(a_model(), mtcars),
    "data without a formula",
    class = "tfdistribute_input_error"
  )
  expect_error(
    train(a_model(), input_fn(mpg ~ wt, mtcars), epochs = 2),
    class = "tfdistribute_argument_error"
  )
})

test_that("the data follows a formula by position, wherever other arguments are named", {
  # R itself accepts the beginning of a name.
  withr::local_options(warnPartialMatchArgs = FALSE)
  asked <- new.env()
  answer_training(asked)
  model <- a_model()
  formula <- mpg ~ wt
  wrapped <- function(...) train(model, mpg ~ wt, ...)
  forms <- list(
    quote(train(model, mpg ~ wt, mtcars, steps = 7)),
    quote(train(model, mpg ~ wt, mtcars, 7)),
    quote(train(model, mpg ~ wt, steps = 7, mtcars)),
    quote(train(steps = 7, model, mpg ~ wt, mtcars)),
    quote(train(model, formula, step = 7, mtcars)),
    quote(train(model, input_fn = formula, mtcars, 7, hook_early_stopping("loss"))),
    quote(train(model, mpg ~ wt, steps = 7, hooks = hook_early_stopping("loss"), mtcars)),
    quote(train(model, mpg ~ wt, 7, data = mtcars)),
    quote(wrapped(mtcars, steps = 7)),
    quote(wrapped(mtcars, 7)),
    quote(do.call(train, list(model, formula, mtcars, steps = 7))),
    quote(lapply(list(model), train, formula, mtcars, steps = 7)),
    quote(evaluate(model, mpg ~ wt, mtcars, name = "cars")),
    quote(evaluate(model, mpg ~ wt, name = "cars", mtcars)),
    quote(predict(model, mpg ~ wt, mtcars, simplify = FALSE)),
    quote(predict(model, mpg ~ wt, newdata = mtcars))
  )
  for (form in forms) {
    rlang::env_unbind(asked, names(asked))
    eval(form)
    sent <- mget(c("train", "evaluate", "predict"), asked, ifnotfound = list(NULL))
    sent <- Filter(Negate(is.null), sent)[[1]]
    shown <- deparse1(form)
    expect_identical(names_sent(sent$input), c("wt", "mpg"), info = shown)
    expect_identical(sent$name, if (grepl("cars\"", shown)) "cars", info = shown)
    expect_identical(sent$steps, if (grepl("7", shown)) 7L, info = shown)
    expect_length(sent$hooks, as.integer(grepl("hook", shown)))
  }
  expect_identical(train_spec(mpg ~ wt, mtcars, max_steps = 5)$max_steps, 5L)
  spec <- eval_spec(mpg ~ wt, name = "cars", mtcars, 3, batch_size = 16)
  expect_identical(c(spec$steps, spec$input$batch_size), c(3L, 16L))
  expect_error(
    train(model, mpg ~ wt, "cars.csv", steps = 2),
    "`data` must be a data frame",
    class = "tfdistribute_input_error"
  )
})

test_that("steps repeat the rows of a data frame, unless the call has epochs", {
  asked <- new.env()
  answer_training(asked)
  epochs_of <- function(...) {
    train(a_model(), ...)
    asked$train$input$epochs
  }
  expect_null(epochs_of(mpg ~ wt, data = mtcars, steps = 200))
  expect_null(epochs_of(mpg ~ wt, mtcars, max_steps = 200))
  expect_identical(epochs_of(mpg ~ wt, mtcars), 1L)
  expect_identical(epochs_of(mpg ~ wt, mtcars, steps = 200, epochs = 2), 2L)
  expect_identical(epochs_of(mpg ~ wt, mtcars, steps = 200, num_epochs = 2), 2L)
  expect_identical(epochs_of(input_fn(mpg ~ wt, mtcars), steps = 200), 1L)
  expect_null(train_spec(mpg ~ wt, mtcars, max_steps = 200)$input$epochs)
  expect_identical(train_spec(mpg ~ wt, mtcars)$input$epochs, 1L)
  expect_identical(eval_spec(mpg ~ wt, mtcars, steps = 2)$input$epochs, 1L)
})

test_that("a data frame alone has the columns that the model was trained on", {
  asked <- new.env()
  answer_training(asked)
  evaluate(a_model(), mtcars, batch_size = 4)
  expect_identical(asked$trained_columns, list(model_dir = "/runs/cars", verb = "evaluate"))
  expect_identical(names_sent(asked$evaluate$input), c("wt", "hp", "mpg"))
  expect_identical(asked$evaluate$input$batch_size, 4L)
  predict(a_model(), newdata = mtcars[c("hp", "wt")])
  expect_identical(names_sent(asked$predict$input), c("wt", "hp"))
  predict(a_model(), head(mtcars))
  expect_identical(names_sent(asked$predict$input), c("wt", "hp"))
  expect_error(
    evaluate(a_model(), mtcars["wt"]),
    "`input_fn` has no column `hp`, which the model was trained with.",
    class = "tfdistribute_input_error"
  )
  expect_error(
    predict(a_model(), newdata = mtcars["wt"]),
    "`newdata` has no column `hp`",
    class = "tfdistribute_input_error"
  )
  expect_error(predict(a_model()), "missing", class = "tfdistribute_argument_error")
})

test_that("a data frame alone needs only the columns that the model reads", {
  asked <- new.env()
  answer_training(asked)
  reads <- function(...) linear_regressor(feature_columns(...), model_dir = "/runs/cars")
  evaluate(reads(column_numeric("wt")), mtcars[c("wt", "mpg")])
  expect_identical(names_sent(asked$evaluate$input), c("wt", "mpg"))
  deep <- dnn_linear_combined_regressor(
    linear_feature_columns = feature_columns(column_numeric("wt")),
    dnn_feature_columns = feature_columns(column_numeric("hp")),
    dnn_hidden_units = 2
  )
  predict(deep, newdata = mtcars[c("wt", "hp")])
  expect_identical(names_sent(asked$predict$input), c("wt", "hp"))
  weighted <- linear_regressor(feature_columns(column_numeric("wt")), weight_column = "hp")
  predict(weighted, newdata = mtcars["wt"])
  expect_identical(names_sent(asked$predict$input), "wt")
  evaluate(weighted, mtcars[c("wt", "hp", "mpg")])
  expect_identical(names_sent(asked$evaluate$input), c("wt", "hp", "mpg"))
  expect_error(
    evaluate(weighted, mtcars[c("wt", "mpg")]),
    "no column `hp`",
    class = "tfdistribute_input_error"
  )
  # A baseline model counts the rows of any feature.
  predict(baseline_regressor(), newdata = mtcars[c("wt", "hp")])
  expect_identical(names_sent(asked$predict$input), c("wt", "hp"))
})

test_that("a logical NA in new rows is a missing value of what the column held in training", {
  kinds <- list(n = "numbers", l = "labels", d = "dates", t = "times", b = "logical")
  rows <- data.frame(n = NA, l = NA, d = NA, t = NA, b = NA, other = NA)
  typed <- with_typed_missing(rows, kinds)
  classes <- vapply(typed, function(values) class(values)[[1]], "")
  expect_identical(
    unname(classes),
    c("numeric", "character", "Date", "POSIXct", "logical", "logical")
  )
  expect_true(all(is.na(typed)))
  rows$n <- 3
  expect_identical(with_typed_missing(rows, kinds)$n, 3)
  columns <- list(features = list("wt", "hp"), kinds = list(wt = "numbers", hp = "numbers"))
  asked <- new.env()
  answer_training(asked)
  local_answers(
    trained_columns = function(arguments) columns,
    predict = function(arguments) {
      asked$predict <- arguments
      list(predictions = array(1))
    }
  )
  predict(tabular_regressor(), data.frame(wt = NA, hp = 100))
  types <- vapply(asked$predict$input$columns, function(column) column$type, "")
  expect_identical(unname(types), c("float", "float"))
})

test_that("a model reads neither weights nor new levels of other columns to predict", {
  skip_if_no_tensorflow()
  data <- data.frame(x = 1:6, f = factor(rep(c("u", "v"), 3)), w = 1, y = 1:6)
  model <- linear_regressor(feature_columns(column_numeric("x")), weight_column = "w")
  train(model, input_fn(data, features = c("x", "f", "w"), response = "y"))
  new <- data.frame(x = 1:2, f = factor("new"))
  expected <- predict(model, newdata = data[1:2, ])
  expect_identical(predict(model, newdata = new), expected)
  expect_identical(predict(model, newdata = new["x"]), expected)
  expect_identical(predict(model, input_fn(new, features = c("x", "f"))), expected)
  new <- transform(data, f = factor("new"))
  expect_identical(evaluate(model, new), evaluate(model, data))
  expect_identical(train(model, new)$step, 2L)
})

test_that("cbind(a, b) in a formula is a response of two columns", {
  input <- input_fn(cbind(mpg, qsec) ~ wt, mtcars)
  expect_identical(input$response, "cbind(mpg, qsec)")
  expect_identical(dim(input$data[["cbind(mpg, qsec)"]]), c(32L, 2L))
  expect_identical(names(input_fn(cbind(mpg, qsec) ~ ., mtcars)$columns)[1:2], c("cyl", "disp"))
  expect_error(
    input_fn(cbind(mpg, nothing) ~ wt, mtcars),
    "names `nothing`",
    class = "tfdistribute_input_error"
  )
})

test_that("a network that gets large numbers is told so, once they are not standardized", {
  data <- data.frame(y = 1:3, income = c(1000, 50000, 90000), small = 1:3)
  network <- function(...) dnn_regressor(4, feature_columns(...), model_dir = "/runs/income")
  input <- input_fn(y ~ ., data)
  expect_message(
    note_large_features(network(y ~ ., data), input),
    "`income` spreads over thousands, and networks learn best"
  )
  expect_silent(note_large_features(network(y ~ ., data, standardize = TRUE), input))
  expect_silent(note_large_features(linear_regressor(feature_columns(y ~ ., data)), input))
})

test_that("training on a file looks at none of its numbers beforehand", {
  path <- withr::local_tempfile(fileext = ".csv")
  utils::write.csv(mtcars, path, row.names = FALSE)
  input <- input_csv(path, response = "mpg", features = "wt")
  columns <- feature_columns(column_numeric("wt"))
  expect_silent(note_large_features(dnn_regressor(4, columns), input))
  expect_silent(note_large_features(linear_regressor(columns), input))
})

test_that("verbs have the arguments of input_fn() for the data that they describe", {
  asked <- new.env()
  answer_training(asked)
  expect_setequal(
    setdiff(
      names(formals(input_fn.data.frame)),
      c("object", "queue_capacity", "num_threads", "...")
    ),
    c(input_arguments, "epochs")
  )
  # As R does it, the beginning of a name is enough.
  withr::local_options(warnPartialMatchArgs = FALSE)
  train(a_model(), mpg ~ wt + hp, data = mtcars, batch = 8)
  expect_identical(asked$train$input$batch_size, 8L)
})

test_that("a path, a vector, a bare formula and an input in place of data are shown as they are written", {
  local_no_python()
  input <- input_csv("taxi.csv", response = "fare")
  expect_snapshot(error = TRUE, {
    train(a_model(), fare ~ distance, data = "taxi.csv")
    train(a_model(), fare ~ distance, "taxi.parquet")
    evaluate(a_model(), "taxi.csv")
    input_fn(fare ~ ., "taxi.csv")
    train(a_model(), fare ~ distance, data = input)
    train(a_model(), fare ~ distance, input)
    evaluate(a_model(), mtcars[, "wt"])
    train(a_model(), mpg ~ wt, data = mtcars$wt)
    train_spec(mpg ~ wt)
  })
})

test_that("the input that is offered for a path reads the file", {
  local_no_python()
  path <- withr::local_tempfile(fileext = ".csv")
  utils::write.csv(mtcars, path, row.names = FALSE)
  error <- expect_error(train(a_model(), mpg ~ wt + hp, data = path))
  offered <- eval(str2lang(sub(".*as in (.*)[.]$", "\\1", error$remedy)))
  expect_identical(offered, input_csv(path, response = "mpg", features = c("wt", "hp")))
})
