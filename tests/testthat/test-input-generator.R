# The plain text of an error: problem and remedy.
said <- function(code) {
  error <- rlang::catch_cnd(code, "tfdistribute_error")
  cat(paste0("<", class(error)[[1]], ">\n", error$problem, "\n", error$remedy, "\n"))
}

# A function that gives the batches of a list, one after another.
one_by_one <- function(batches) {
  force(batches)
  position <- 0
  function() {
    position <<- position + 1
    if (position <= length(batches)) batches[[position]]
  }
}

test_that("a generator prints what is learnt from what", {
  expect_snapshot({
    input_generator(function() NULL)
    input_generator(function(size = 8) NULL, c("wt", "hp"), "mpg", epochs = NULL)
  })
})

test_that("making the input does not call the function", {
  expect_s3_class(input_generator(function() rlang::abort("called")), "tfdistribute_input")
})

test_that("what cannot be a generator is refused", {
  expect_snapshot({
    said(input_generator(mtcars))
    said(input_generator(function(size) NULL))
    said(input_generator(function() NULL, features = character()))
    said(input_generator(function() NULL, response = c("a", "b")))
    said(input_generator(function() NULL, features = c("x", "y"), response = "y"))
    said(input_generator(function() NULL, epochs = 0))
  })
})

test_that("batches that cannot be used are refused by column", {
  columns <- function(batch, features = NULL) batch_columns(batch, features, "y")
  expect_snapshot({
    said(columns(3))
    said(columns(list(1, 2)))
    said(columns(list(x = 1, x = 2, y = 1)))
    said(columns(data.frame(x = 1)))
    said(columns(data.frame(x = 1, y = 1), "z"))
    said(columns(data.frame(x = c(1, NA), y = 1)))
    said(columns(data.frame(x = 1, y = c(NA, NA))))
    said(columns(data.frame(x = 1i, y = 1)))
    said(columns(data.frame(x = numeric(), y = numeric())))
    said(columns(list(x = 1:2, y = 1)))
  })
})

test_that("a function of batches gives one pass, a function of functions any number", {
  batches <- list(list(interrupted = TRUE), NULL)
  single <- batch_source(list(fn = one_by_one(batches)))
  expect_false(single$begin())
  expect_identical(single$next_batch(), batches[[1]])
  expect_null(single$next_batch())

  many <- batch_source(list(fn = function() one_by_one(batches)))
  for (pass in 1:2) {
    expect_true(many$begin())
    expect_identical(many$next_batch(), batches[[1]])
    expect_null(many$next_batch())
  }
})

test_that("what cannot be used reaches Python as data, an error of the function as itself", {
  source <- batch_source(list(fn = one_by_one(list(list(x = NA), list(x = 1i))), features = "x"))
  source$begin()
  expect_identical(source$next_batch()$problem, "The column `x` has 1 missing value.")
  expect_identical(source$next_batch()$argument, "x")

  failing <- batch_source(list(fn = function() rlang::abort("lost", class = "my_error")))
  expect_error(failing$begin(), class = "my_error")
})

# A session that trains on batches of R and returns what it found. It would abort or hang if R code ran on one of
# TensorFlow's threads.
train_on_batches <- function(config) {
  model <- linear_regressor(
    feature_columns(
      column_numeric("x"),
      column_categorical_with_vocabulary_list("f", vocabulary_list = c("a", "b"))
    ),
    config = config,
    model_dir = tempfile()
  )
  generator <- function(batches, fails_at = 0, missing_at = 0) {
    force(batches)
    number <- 0
    function() {
      number <<- number + 1
      if (number > batches) {
        return(NULL)
      }
      if (number == fails_at) {
        rlang::abort("lost", class = "my_error")
      }
      x <- sin(number + 1:8)
      if (number == missing_at) {
        x[[3]] <- NA
      }
      data.frame(x = x, f = factor(ifelse(1:8 > 4, "b", "a")), y = 2 * x + (1:8 > 4))
    }
  }
  from <- function(...) input_generator(generator(...), response = "y")
  steps <- function() as.integer(variable_value(model, "global_step")[[1]])
  refusal <- function(input) {
    error <- rlang::catch_cnd(train(model, input), "tfdistribute_error")
    paste(class(error)[[1]], class(error$parent)[[1]], error$problem)
  }

  found <- list()
  train(model, from(batches = 20))
  found$steps <- steps()
  train(model, input_generator(function() generator(5), response = "y", epochs = 30))
  found$steps <- c(found$steps, steps())
  found$loss <- evaluate(model, from(3))$average_loss
  rows <- data.frame(x = c(1, -1, 0), f = c("b", "a", "a"))
  once <- FALSE
  draw <- function() {
    if (!once) {
      once <<- TRUE
      rows
    }
  }
  found$predictions <- predict(model, input_generator(draw))$predictions
  found$refusals <- c(refusal(from(20, fails_at = 5)), refusal(from(20, missing_at = 4)))
  found
}

expect_trained <- function(found) {
  expect_identical(found$steps, c(20L, 170L))
  expect_lt(found$loss, 0.05)
  expect_lt(max(abs(found$predictions - c(3, -2, 0))), 0.5)
  expect_identical(
    found$refusals,
    c(
      "tfdistribute_callback_error my_error The generator failed at batch 5.",
      "tfdistribute_input_error NULL Batch 4 cannot be used: The column `x` has 1 missing value."
    )
  )
}

test_that("R gives batches to two replicas while TensorFlow trains, evaluates and predicts", {
  skip_if_no_tensorflow()
  expect_trained(in_child_r(train_on_batches, list(run_config(strategy_mirrored(2)))))
})

if (checks_all()) {
  test_that("R gives batches while TensorFlow trains, evaluates and predicts", {
    skip_if_no_tensorflow()
    expect_trained(in_child_r(train_on_batches, list(run_config())))
  })
}

test_that("Ctrl-C while R makes a batch keeps every step", {
  skip_if_no_tensorflow()
  skip_on_os("windows")
  found <- in_child_r(function() {
    model <- linear_regressor(feature_columns(column_numeric("x")), model_dir = tempfile())
    number <- 0
    draw <- function() {
      number <<- number + 1
      if (number == 4) {
        tools::pskill(Sys.getpid(), tools::SIGINT)
        Sys.sleep(60)
      }
      data.frame(x = 1:4 / 4, y = 4:1 / 4)
    }
    input <- input_generator(draw, response = "y")
    ended <- tryCatch(train(model, input), interrupt = function(interrupt) "interrupted")
    reached <- variable_value(model, "global_step")[[1]]
    # The session is as good as new.
    train(model, input, steps = 2)
    list(
      ended = ended,
      reached = reached,
      after = variable_value(model, "global_step")[[1]] - reached
    )
  })
  expect_identical(found$ended, "interrupted")
  # Of three batches, one or two may have been drawn ahead.
  expect_true(found$reached %in% 1:3)
  expect_equal(found$after, 2)
})
