described <- function() {
  list(
    flag_numeric("learning_rate", 0.01, "Size of a step."),
    flag_integer("steps", 100),
    flag_string("data_dir", "data"),
    flag_boolean("shuffle", TRUE)
  )
}

test_that("the command line goes before the defaults", {
  skip_beside("tfruns")
  withr::local_dir(withr::local_tempdir())
  expect_equal(
    unclass(flags(described(), arguments = character())),
    list(learning_rate = 0.01, steps = 100L, data_dir = "data", shuffle = TRUE)
  )
  values <- flags(
    described(),
    arguments = c("--steps=9", "words", "--data-dir", "x y=z", "--shuffle=no")
  )
  expect_equal(
    unclass(values),
    list(learning_rate = 0.01, steps = 9L, data_dir = "x y=z", shuffle = FALSE)
  )
  expect_snapshot(values)
})

test_that("what does not fit is refused by name", {
  skip_beside("tfruns")
  expect_snapshot(error = TRUE, {
    flags(described(), arguments = "--rate=1")
    flags(described(), arguments = "--steps=1.5")
    flags(described(), arguments = "--learning-rate")
    flags(described(), arguments = c("--shuffle", "perhaps"))
    flags(described(), file = "nowhere.yml", arguments = character())
    flags(flag_integer("a", 1), flag_string("a", "b"), arguments = character())
    flags(3)
    flag_integer("a", "b")
  })
})

test_that("a file needs tfruns", {
  skip_beside("tfruns")
  withr::local_dir(withr::local_tempdir())
  writeLines("steps: 7", "flags.yml")
  expect_error(
    flags(described(), arguments = "--steps=1"),
    class = "tfdistribute_unsupported_error"
  )
  expect_identical(flags(described(), file = NULL, arguments = "--steps=1")$steps, 1L)
})

test_that("flags() is that of tfruns where tfruns is installed", {
  local_stand_in(
    "tfruns",
    "flags <- function(..., config, file, arguments) {
      given <- list(...)
      list(
        names = vapply(given, function(flag) flag$name, \"\"),
        own = all(vapply(given, inherits, NA, \"tfruns_flag\")),
        config = if (missing(config)) \"not given\" else config,
        arguments = arguments
      )
    }"
  )
  expect_identical(
    flags(flag_integer("steps", 1), arguments = "--steps=2"),
    list(names = "steps", own = TRUE, config = "not given", arguments = "--steps=2")
  )
  expect_identical(flags(described(), config = "cluster", arguments = "a")$config, "cluster")
})
