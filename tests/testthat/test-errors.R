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

test_that("braces and percent signs of foreign text stay as they are", {
  error <- tryCatch(abort_tfdistribute("input", "{stop(1)} 100 %s", "{x}"), error = identity)
  expect_match(conditionMessage(error), "{stop(1)} 100 %s", fixed = TRUE)
  expect_match(conditionMessage(error), "{x}", fixed = TRUE)
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
