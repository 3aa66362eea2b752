test_that("an error carries its kind, its parents, the argument and the remedy", {
  error <- tryCatch(
    abort_tfdistribute(
      "sharding",
      "A batch of 10.",
      "Use 8.",
      argument = "batch_size",
      value = "10"
    ),
    error = identity
  )
  expect_s3_class(error, "tfdistribute_sharding_error")
  expect_s3_class(error, "tfdistribute_input_error")
  expect_s3_class(error, "tfdistribute_error")
  expect_identical(error$argument, "batch_size")
  expect_identical(error$remedy, "Use 8.")
  expect_snapshot(cat(conditionMessage(error)))
})

test_that("the argument is the one that the problem begins with", {
  argument_of <- function(problem, ...) {
    rlang::catch_cnd(abort_tfdistribute("argument", "{problem}", ...))$argument
  }
  expect_equal(argument_of("`epochs` must be a count, not -1."), "epochs")
  expect_equal(argument_of("`environment$MY-KEY` must be text."), "environment$MY-KEY")
  expect_null(argument_of("The column `x` has text."))
  expect_null(argument_of("`launch()` needs a cluster."))
  expect_null(argument_of("`seed = 1` has no effect."))
  expect_equal(argument_of("`a` and `b` differ.", argument = "b"), "b")
})

test_that("text from elsewhere is never evaluated or laid out again", {
  foreign <- "{stop(1)} 100 %s {?s} \\\n\n    indented {{x}}  "
  error <- tryCatch(
    abort_tfdistribute("input", "It says {foreign}.", "{foreign}"),
    error = identity
  )
  expect_identical(error$problem, paste0("It says ", foreign, "."))
  expect_identical(error$remedy, foreign)
  expect_match(conditionMessage(error), "{stop(1)} 100 %s {?s}", fixed = TRUE)
})

test_that("texts have plurals, and long ones are written in parts", {
  problem_of <- function(rows) {
    error <- tryCatch(
      abort_tfdistribute("input", c("{rows} row{?s} ", "{?is/are} missing.")),
      error = identity
    )
    error$problem
  }
  expect_identical(problem_of(1), "1 row is missing.")
  expect_identical(problem_of(2), "2 rows are missing.")
})

test_that("an error names the function that the user called, however deep it was found", {
  shown <- function(code) {
    error <- tryCatch(code, tfdistribute_error = identity)
    if (!is.null(error$call)) rlang::call_name(error$call)
  }
  estimator <- linear_regressor(column_numeric("wt"))
  input <- input_fn(mpg ~ wt, mtcars)
  expect_identical(
    shown(dnn_regressor(8, column_numeric("a"), optimizer = "adamm")),
    "dnn_regressor"
  )
  expect_identical(shown(input_fn(mpg ~ nothing, mtcars)), "input_fn")
  expect_identical(shown(input_fn(as.matrix(mtcars), features = nothing)), "input_fn")
  expect_identical(shown(train(estimator, input, steps = -1)), "train")
  expect_identical(shown(train(linear_regressor(3), input)), "linear_regressor")
  expect_identical(shown(lapply(-1, function(steps) train_spec(input, steps))), "train_spec")
  expect_identical(shown(predict(estimator, input, checkpoint_path = 3)), "predict")
  # Found where Python calls R, there is no such function.
  expect_null(shown(check_optimizer("adamm")))
  # R gives a frame of a data mask as its own caller.
  setTimeLimit(elapsed = 10, transient = TRUE)
  withr::defer(setTimeLimit())
  masked <- rlang::quo(train(estimator, input, steps = -1))
  expect_identical(shown(rlang::eval_tidy(masked, mtcars)), "train")
})

test_that("values are shown short, strings in quotes", {
  expect_identical(show_value("a"), "\"a\"")
  expect_identical(show_value(c(1.5, 2)), "c(1.5, 2.0)")
  expect_identical(show_value(1:9), "c(1, 2, 3, 4, 5, ... (9 values))")
  expect_identical(show_value(NULL), "NULL")
  expect_identical(show_value(mean), "a function")
  expect_identical(show_value(mtcars), "an object of class data.frame")
  expect_identical(show_value(NA_character_), "NA")
  expect_identical(show_value(integer()), "an empty integer")
})
