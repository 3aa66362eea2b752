refused <- function(code, argument) {
  error <- tryCatch(code, tfdistribute_argument_error = identity)
  expect_s3_class(error, "tfdistribute_argument_error")
  expect_identical(error$argument, argument)
}

test_that("counts become integers and what is no count is refused", {
  expect_identical(check_count(4, "steps"), 4L)
  expect_null(check_count(NULL, "steps", null = TRUE))
  for (value in list(0, -1, 1.5, NA, "4", c(1, 2), NULL, Inf, TRUE, 1e10)) {
    refused(check_count(value, "steps"), "steps")
  }
  expect_identical(check_counts(c(64, 32), "hidden_units"), c(64L, 32L))
  expect_identical(check_counts(list(64, 32), "hidden_units"), c(64L, 32L))
  refused(check_counts(c(64, 0), "hidden_units"), "hidden_units")
})

test_that("numbers have bounds", {
  expect_identical(check_number(1L, "dropout", 0, 1), 1)
  refused(check_number(2, "dropout", 0, 1), "dropout")
  refused(check_number(NaN, "dropout", 0, 1), "dropout")
})

test_that("strings are non-empty, in UTF-8, and not missing", {
  latin <- "gr\xf6\xdfe"
  Encoding(latin) <- "latin1"
  expect_identical(Encoding(check_string(latin, "name")), "UTF-8")
  for (value in list("", NA_character_, 1, c("a", "b"))) {
    refused(check_string(value, "name"), "name")
  }
  refused(check_strings(c("a", NA), "names"), "names")
})

test_that("a choice among names is refused with all names", {
  error <- tryCatch(check_choice("x", "method", c("auto", "base")), error = identity)
  expect_match(conditionMessage(error), "one of \"auto\", \"base\", not \"x\"", fixed = TRUE)
  expect_identical(check_default_choice(c("auto", "base"), "method", c("auto", "base")), "auto")
})

test_that("a misspelt argument of a verb is refused by name", {
  refused(check_no_more(step = 3, verb = "train", known = "steps"), "step")
  expect_invisible(check_no_more(verb = "train", known = "steps"))
})
