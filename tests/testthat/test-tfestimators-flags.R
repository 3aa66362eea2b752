described <- function() {
  list(
    flag_numeric("learning_rate", 0.01, "Size of a step."),
    flag_integer("steps", 100),
    flag_string("data_dir", "data"),
    flag_boolean("shuffle", TRUE)
  )
}

test_that("the command line goes before the file, and the file before the defaults", {
  skip_beside("tfruns")
  folder <- withr::local_tempdir()
  withr::local_dir(folder)
  expect_equal(
    unclass(flags(described(), arguments = character())),
    list(learning_rate = 0.01, steps = 100L, data_dir = "data", shuffle = TRUE)
  )
  writeLines(c("learning_rate: 0.5", "steps: 7"), "flags.yml")
  values <- flags(
    described(),
    arguments = c("--steps=9", "words", "--data-dir", "x y", "--shuffle=no")
  )
  expect_equal(
    unclass(values),
    list(learning_rate = 0.5, steps = 9L, data_dir = "x y", shuffle = FALSE)
  )
  expect_snapshot(values)
})

test_that("a section of the file goes before its defaults", {
  file <- withr::local_tempfile(
    lines = c("default:", "  steps: 3", "  data_dir: a", "cluster:", "  steps: 4"),
    fileext = ".yml"
  )
  values <- flags(described(), file = file, config = "cluster", arguments = character())
  expect_identical(values[c("steps", "data_dir")], list(steps = 4L, data_dir = "a"))
})

test_that("what does not fit is refused by name", {
  skip_beside("tfruns")
  inherits <- withr::local_tempfile(
    lines = c("default:", "  steps: 3", "b:", "  inherits: default"),
    fileext = ".yml"
  )
  expect_snapshot(error = TRUE, {
    flags(described(), arguments = "--rate=1")
    flags(described(), arguments = "--steps=1.5")
    flags(described(), arguments = "--learning-rate")
    flags(described(), arguments = c("--shuffle", "perhaps"))
    flags(described(), file = "nowhere.yml")
    flags(flag_integer("a", 1), flag_string("a", "b"), arguments = character())
    flags(3)
    flag_integer("a", "b")
  })
  refused <- expect_error(
    flags(described(), file = inherits, arguments = character()),
    class = "tfdistribute_unsupported_error"
  )
  expect_match(refused$problem, "only tfruns reads")
})

test_that("a file that does not hold names and values is refused soon", {
  skip_beside("tfruns")
  skip_if_not_installed("yaml")
  texts <- list(
    "steps: [1",
    "steps:\t1\n\tb",
    "steps: 1\nsteps: 2",
    "- 1\n- 2",
    "3",
    paste0("steps: ", strrep("[", 20000), strrep("]", 20000)),
    "steps: {b: 1}\nother: 1",
    paste0("steps: ", strrep("9", 5000))
  )
  for (text in texts) {
    file <- withr::local_tempfile(lines = text, fileext = ".yml")
    error <- expect_error(
      flags(described(), file = file, arguments = character()),
      class = "tfdistribute_argument_error"
    )
    expect_lt(nchar(conditionMessage(error)), 2000)
  }
  file <- withr::local_tempfile(lines = character(), fileext = ".yml")
  expect_identical(flags(described(), file = file, arguments = character())$steps, 100L)
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
