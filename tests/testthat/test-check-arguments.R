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
  expect_identical(check_counts(c(64, 32)), c(64L, 32L))
  expect_identical(check_counts(list(64, 32)), c(64L, 32L))
  hidden_units <- list(64, 0)
  refused(check_counts(hidden_units), "hidden_units")
  refused(check_counts(hidden_units, argument = "units"), "units")
})

test_that("numbers have bounds", {
  expect_identical(check_number(1L, 0, 1), 1)
  for (dropout in list(2, NaN)) {
    refused(check_number(dropout, 0, 1), "dropout")
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

test_that("a misspelt argument of a verb is refused by name", {
  verb <- function(object, steps, ...) check_no_more(..., verb = "train")
  refused(verb(1, 2, step_count = 3), "step_count")
  expect_snapshot(error = TRUE, {
    verb(1, 2, step_count = 3)
    verb(1, 2, 3)
  })
  expect_invisible(verb(1, 2))
})
