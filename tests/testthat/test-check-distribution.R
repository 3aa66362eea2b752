# What is said of trainings that were compared; the trainings themselves are test-launch.R's.

a_verification <- function(...) {
  differences <- tibble::tibble(
    training = rep(c("devices", "processes"), each = 2),
    name = rep(c("loss", "dense/kernel"), 2),
    difference = c(1e-7, 2e-8, 0.25, 0.5),
    agrees = c(TRUE, TRUE, FALSE, FALSE)
  )
  values <- list(
    agrees = FALSE,
    steps = 30L,
    ended_early = FALSE,
    workers = 2L,
    precision = "float32",
    losses = tibble::tibble(
      step = c(1L, 30L),
      one_process = c(4, 2),
      devices = c(4, 2),
      processes = c(4, 2.5)
    ),
    differences = differences,
    reasons = "The model has dropout: each replica drops other units than one device would."
  )
  given <- list(...)
  values[names(given)] <- given
  structure(values, class = "tfdistribute_verification")
}

test_that("a verification prints whether numbers agree, and why not", {
  expect_snapshot(a_verification())
  agreeing <- a_verification()$differences
  agreeing$agrees <- TRUE
  agreeing$difference <- 1e-7
  expect_snapshot(a_verification(
    agrees = TRUE,
    steps = 1L,
    ended_early = TRUE,
    differences = agreeing,
    reasons = character()
  ))
  in_16_bits <- a_verification(agrees = TRUE, precision = "mixed_bfloat16", reasons = character())
  expect_match(format(in_16_bits)[[1]], "agree to two digits", fixed = TRUE)
})

test_that("a verification claims the steps that were trained, not those that were asked for", {
  local_answers(
    prepare_verb = untrained,
    trained_state = untrained,
    train = function(arguments) {
      losses <- list(
        step = c(1, 2),
        loss = c(3, 2),
        seconds = c(0, 1),
        examples_per_second = c(1, 1)
      )
      list(training = losses, evaluation = list(), global_step = 2L, notes = list())
    },
    compare_runs = function(arguments) list(list(name = "loss", size = 0, agrees = TRUE))
  )
  model <- linear_regressor(feature_columns(column_numeric("wt")))
  input <- input_fn(mpg ~ wt, mtcars, batch_size = 16)
  found <- check_distribution(model, input, steps = 3)
  expect_identical(found$steps, 2L)
  expect_true(found$ended_early)
  expect_false(check_distribution(model, input, steps = 2)$ended_early)
})

test_that("what differs is explained by what is known of model, input and strategy", {
  asked <- NULL
  local_answers(
    check_sharding = function(arguments) {
      list(
        ok = FALSE,
        rows = 32,
        rows_missing = 0,
        rows_repeated = 32,
        rows_unknown = 0,
        steps_agree = TRUE,
        workers = list(worker = c(0, 1))
      )
    },
    explain_difference = function(arguments) {
      asked <<- arguments
      list("first", "second")
    }
  )
  model <- dnn_regressor(8, feature_columns(column_numeric("wt")), dropout = 0.5)
  reasons <- explain_difference(
    model,
    input_fn(mpg ~ wt, mtcars),
    workers = 2L,
    is_asynchronous = FALSE,
    repeats = TRUE,
    differing = "dense/kernel"
  )
  expect_identical(reasons, c("first", "second"))
  expect_identical(
    asked,
    list(
      asynchronous = FALSE,
      repeats = TRUE,
      reads_once = FALSE,
      dropout = TRUE,
      differing = "dense/kernel"
    )
  )
})

test_that("what is no estimator, input or cluster is refused", {
  model <- linear_regressor(feature_columns(column_numeric("wt")))
  input <- input_fn(mpg ~ wt, mtcars)
  expect_error(check_distribution(3, input), class = "tfdistribute_argument_error")
  expect_error(check_distribution(model, 3), class = "tfdistribute_input_error")
  expect_error(check_distribution(model, input, 2), class = "tfdistribute_argument_error")
  expect_error(check_distribution(model, input, steps = 0), class = "tfdistribute_argument_error")
})
