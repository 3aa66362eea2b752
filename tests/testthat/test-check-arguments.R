refused <- function(code, argument) {
  error <- tryCatch(code, tfdistribute_argument_error = identity)
  expect_s3_class(error, "tfdistribute_argument_error")
  expect_identical(error$argument, argument)
}

test_that("counts become integers and other values are refused", {
  expect_identical(check_count(4), 4L)
  expect_null(check_count(NULL, null = TRUE))
  for (steps in list(0, -1, 1.5, NA, "4", c(1, 2), NULL, Inf, TRUE, 1e10)) {
    refused(check_count(steps), "steps")
  }
})

test_that("numbers have bounds", {
  expect_identical(check_number(1L, 0), 1)
  refused(
    check_number("1", argument = "options(tfdistribute.progress)"),
    "options(tfdistribute.progress)"
  )
  for (penalty in list(-2, NaN)) {
    refused(check_number(penalty, 0), "penalty")
  }
})

test_that("strings are non-empty, in UTF-8, and not missing", {
  latin <- "gr\xf6\xdfe"
  Encoding(latin) <- "latin1"
  expect_identical(Encoding(check_string(latin)), "UTF-8")
  for (name in list("", NA_character_, 1, c("a", "b"))) {
    refused(check_string(name), "name")
  }
  names <- c("a", NA)
  refused(check_strings(names), "names")
})

test_that("a choice among names is refused with all names", {
  error <- tryCatch(check_choice("x", c("auto", "base")), error = identity)
  expect_match(conditionMessage(error), "one of \"auto\", \"base\", not \"x\"", fixed = TRUE)
  expect_identical(check_default_choice(c("auto", "base"), c("auto", "base")), "auto")
})

test_that("a call with an unknown, a superfluous or a missing argument is refused by name", {
  verb <- function(object, steps, ...) {
    check_call(..., .remedies = list(steps = "Give a count."))
    invisible()
  }
  refused(verb(1, 2, stepps = 3), "stepps")
  refused(verb(1, step_count = 3), "step_count")
  refused(verb(1), "steps")
  refused(do.call(verb, list(1, 2, 3)), "...")
  expect_snapshot(error = TRUE, {
    verb(1, 2, stepps = 3)
    verb(1, 2, braces = "{stop(1)}")
    verb(1, 2, 3)
    verb(1)
    verb(steps = )
  })
  # An empty argument, as after a trailing comma, is none.
  expect_invisible(verb(1, 2, ))
})

test_that("what other packages call an argument is understood", {
  expect_snapshot(error = TRUE, {
    dnn_regressor(c(64, 32), column_numeric("x"), learning_rate = 0.1)
    dnn_linear_combined_regressor(learning_rate = 0.1)
    input_csv("a.csv", sep = ";")
    hook_early_stopping(metric = "loss")
    hook_session_run(after_step = identity)
    evaluate(linear_regressor(column_numeric("wt")), newdata = mtcars)
  })
})

test_that("a verb names itself for an argument that it does not have, and what is meant", {
  local_no_python()
  model <- linear_regressor(column_numeric("wt"))
  input <- input_fn(mpg ~ wt, mtcars)
  expect_snapshot(error = TRUE, {
    predict(model, mtcars, type = "prob")
    train(model, mpg ~ wt, data = mtcars, callbacks = list())
    train(model, mpg ~ wt, mtcars, validation_split = 0.2)
    train(model, newdata = mtcars)
    train(model, x = mtcars["wt"], y = mtcars$mpg)
    train(model, mpg ~ wt, data = mtcars, learning_rate = 0.1)
    train(model, mpg ~ wt, data = mtcars, na.action = na.omit)
    train(model, mpg ~ wt, data = mtcars, batchsize = 32)
    evaluate(model, input, batch_size = 32)
    evaluate(model, mtcars, weights = cyl)
    train_and_evaluate(model, mpg ~ wt, data = mtcars)
  })
})

test_that("swapped arguments are named", {
  local_no_python()
  columns <- feature_columns(column_numeric("wt"))
  expect_snapshot(error = TRUE, {
    dnn_regressor(columns, c(64, 32))
    dnn_classifier(column_numeric("wt"), 8)
    dnn_linear_combined_regressor(
      columns,
      dnn_feature_columns = columns,
      dnn_hidden_units = columns
    )
    train(mtcars, linear_regressor(columns))
  })
})

test_that("a name is suggested only where one is near", {
  expect_identical(did_you_mean("stepps", c("hooks", "steps")), "Did you mean `steps`? ")
  expect_identical(did_you_mean("colour", c("cut", "color")), "Did you mean `color`? ")
  expect_identical(did_you_mean("adma", "adam", "\""), "Did you mean \"adam\"? ")
  for (name in c("horsepower", "nope", "", strrep("x", 1e5), "\xff")) {
    expect_identical(did_you_mean(name, names(mtcars)), "")
  }
  expect_identical(did_you_mean("x", character()), "")
})

test_that("a number beyond the largest whole number is told so", {
  expect_snapshot(error = TRUE, {
    input_fn(mpg ~ wt, mtcars, batch_size = 1e12)
    input_fn(mpg ~ wt, mtcars, seed = 2^33)
    run_config(seed = 2^33)
    local_cluster(2, ps = 2147483647)
  })
})
