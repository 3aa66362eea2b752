said <- function(code) {
  error <- rlang::catch_cnd(code, "tfdistribute_error")
  cat(paste0("<", class(error)[[1]], ">\n", error$problem, "\n", error$remedy, "\n"))
}

every_kind <- function() {
  data <- data.frame(
    double = c(0.5, -1, Inf),
    integer = c(1L, -2L, .Machine$integer.max),
    logical = c(TRUE, FALSE, TRUE),
    factor = factor(c("high", "low", "high"), levels = c("low", "high", "never")),
    character = c("b", "gr\u00f6\u00dfe", "b"),
    date = as.Date("2020-01-01") + c(0, -1, 1),
    datetime = as.POSIXct("2020-01-01 00:00:00.25", tz = "UTC") + 0:2
  )
  data$matrix <- matrix(1:6, 3)
  data$list <- list(c(1, 2), c(3, 4), c(5, 6))
  data$as_is <- I(c(1.5, 2.5, 3.5))
  data
}

# All examples as TensorFlow would get them, in the order of the rows, as Python's values.
python_batch <- function(input) {
  path <- system.file("python", package = "tfdistribute")
  import <- function(name) reticulate::import_from_path(name, path, convert = FALSE)
  described <- import("tfdistribute.descriptions")$read(
    import("tfdistribute.inputs")$Input,
    as_wire(input)
  )
  dataset <- reticulate::py_call(described$input_fn("evaluate"))
  batches <- reticulate::import_builtins(convert = FALSE)$list(dataset$as_numpy_iterator())
  expect_length(batches, 1)
  batches[[0]]
}

handed_over <- function(input) {
  reticulate::py_to_r(python_batch(input))
}

decoded <- function(strings) {
  vapply(strings, function(string) string$decode(), character(1), USE.NAMES = FALSE)
}

long_columns <- function(rows = 2e4) {
  data <- list(
    double = seq(-1, 1, length.out = rows),
    integer = rev(seq_len(rows)) - 7L,
    logical = rep(c(TRUE, FALSE), rows / 2),
    as_is = I(stats::qnorm(stats::ppoints(rows))),
    date = as.Date("2020-01-01") + seq(0, 1, length.out = rows),
    datetime = as.POSIXct("2020-01-01", tz = "UTC") + rev(seq_len(rows)) / 4
  )
  data$integer64 <- structure(data$double, class = "integer64")
  data
}

test_that("Python reads the numbers of long vectors in R's memory", {
  skip_if_no_tensorflow()
  data <- long_columns()
  namespace <- asNamespace("tfdistribute")
  suppressMessages(trace("plain_array", quote(stop("copied")), where = namespace, print = FALSE))
  withr::defer(suppressMessages(untrace("plain_array", where = namespace)))
  rows <- length(data$double)
  input <- input_fn(data, tidyselect::everything(), batch_size = rows, shuffle = FALSE)
  read <- python_batch(input)
  for (name in c("double", "integer", "logical", "as_is", "date", "datetime")) {
    expect_equal(
      as.vector(reticulate::py_to_r(read[name])),
      as.numeric(data[[name]]),
      tolerance = 1e-6,
      label = name
    )
  }
  # The same 64 bits.
  bits <- reticulate::py_to_r(read["integer64"]$view("float64"))
  expect_identical(as.vector(bits), as.vector(data$double))
})

test_that("a long vector that R has not computed yet is copied", {
  skip_if_no_tensorflow()
  rows <- 2e4
  data <- list(sequence = seq_len(rows), sorted = sort(as.numeric(rows:1)))
  input <- input_fn(data, tidyselect::everything(), batch_size = rows, shuffle = FALSE)
  read <- handed_over(input)
  expect_equal(as.vector(read$sequence), data$sequence)
  expect_equal(as.vector(read$sorted), data$sorted)
  # The memory of R's vectors is not written to.
  expect_identical(data$sorted, as.numeric(seq_len(rows)))
})

test_that("every kind of column has a type, a shape, and levels where it is a factor", {
  columns <- input_fn(every_kind(), tidyselect::everything())$columns
  expect_identical(
    vapply(columns, function(column) column$type, character(1)),
    c(
      double = "float",
      integer = "integer",
      logical = "logical",
      factor = "string",
      character = "string",
      date = "date",
      datetime = "datetime",
      matrix = "integer",
      list = "float",
      as_is = "float"
    )
  )
  shapes <- lapply(columns, function(column) column$shape)
  expect_identical(Filter(length, shapes), list(matrix = 2L, list = 2L))
  levels <- lapply(columns, function(column) column$levels)
  expect_identical(Filter(length, levels), list(factor = c("low", "high", "never")))
})

test_that("a factor as codes is a column of integers", {
  column <- input_fn(iris, Species, factors = "codes")$columns$Species
  expect_identical(column$type, "integer")
  expect_null(column$levels)
})

test_that("a list of strings is a matrix of strings, if all rows have one length", {
  rows <- list(c("a", "b"), c("b", "c"), c("c", ""))
  expect_identical(stack_rows(rows, "words"), do.call(rbind, rows))
  data <- data.frame(y = 1:3)
  data$words <- rows
  column <- input_fn(data, response = "y", features = "words")$columns$words
  expect_identical(column$type, "string")
  expect_identical(column$shape, 2L)
})

test_that("columns without a right answer are refused by name", {
  with_column <- function(column) list(x = 1:2, bad = column)
  time <- as.POSIXct(c(0, 60), origin = "1970-01-01", tz = "UTC")
  expect_snapshot({
    said(input_fn(with_column(complex(2)), "bad"))
    said(input_fn(with_column(raw(2)), "bad"))
    said(input_fn(with_column(time - time[[1]]), "bad"))
    said(input_fn(with_column(as.POSIXlt(time)), "bad"))
    said(input_fn(with_column(data.frame(a = 1:2)), "bad"))
    said(input_fn(with_column(list("a", 1)), "bad"))
    said(input_fn(with_column(list(1:3, 1:2)), "bad"))
    said(input_fn(with_column(list(mean, sum)), "bad"))
    said(input_fn(with_column(c(1, 1e39)), "bad"))
    said(input_fn(with_column(c(1, Inf)), "x", "bad"))
  })
})

test_that("missing values are refused by column and number", {
  data <- data.frame(
    double = c(1, NA, NaN),
    integer = c(NA, 2L, 3L),
    logical = c(NA, NA, NA),
    factor = addNA(factor(c("a", NA, "b"))),
    character = c("a", NA, NA),
    date = as.Date(c(NA, 1, 2), origin = "1970-01-01"),
    datetime = as.POSIXct(c(NA, 1, 2), origin = "1970-01-01"),
    complete = 1:3
  )
  data$matrix <- matrix(c(1, NA, 3, NA, NA, 6), 3)
  data$list <- list(c(1, NA), c(3, 4), c(5, 6))
  expect_snapshot({
    said(input_fn(data, tidyselect::everything()))
    said(input_fn(data, complete, double))
    said(input_fn(data, character))
    said(input_fn(list(x = structure(c(5e-324, -0.0), class = "integer64")), "x"))
  })
  expect_identical(input_fn(data, complete)$rows, 3)
})

test_that("what stands for missing values has to fit", {
  data <- data.frame(
    number = c(1, NA),
    count = c(NA, 1L),
    word = c("a", NA),
    group = factor(c("a", NA)),
    y = c(1, NA)
  )
  expect_snapshot({
    said(input_fn(data, number, impute = list(number = "none")))
    said(input_fn(data, count, impute = list(count = "0")))
    said(input_fn(data, word, impute = list(word = 0)))
    said(input_fn(data, group, impute = list(group = 1)))
    said(input_fn(data, number, impute = list(num = 0)))
    said(input_fn(data, number, y, impute = list(number = 0, y = 0)))
    said(input_fn(data, number, impute = c(1, 2)))
    said(input_fn(data, c(number, word), impute = 0))
  })
  expect_identical(
    input_fn(data, c(number, count), impute = 0)$impute,
    list(number = 0, count = 0L)
  )
})

test_that("every kind of column reaches TensorFlow exactly", {
  skip_if_no_tensorflow()
  data <- every_kind()
  given <- handed_over(input_fn(data, tidyselect::everything(), batch_size = 3))
  expect_identical(as.vector(given$double), data$double)
  expect_identical(as.vector(given$integer), data$integer)
  expect_identical(as.vector(given$logical), c(1L, 0L, 1L))
  expect_identical(decoded(given$factor), as.character(data$factor))
  expect_identical(decoded(given$character), data$character)
  expect_identical(as.vector(given$date), as.numeric(data$date))
  expect_identical(as.vector(given$datetime), as.numeric(data$datetime))
  expect_identical(given$matrix, data$matrix)
  expect_identical(given$list, do.call(rbind, data$list))
  expect_identical(as.vector(given$as_is), c(1.5, 2.5, 3.5))
})

test_that("what stands for missing values takes their place", {
  skip_if_no_tensorflow()
  data <- data.frame(
    double = c(1, NA, NaN),
    logical = c(NA, TRUE, NA),
    factor = addNA(factor(c("b", NA, "a"), levels = c("a", NA, "b"), exclude = NULL)),
    character = c("x", NA, "x"),
    date = as.Date(c(NA, 1, 2), origin = "1970-01-01")
  )
  impute <- list(
    double = -1,
    logical = FALSE,
    factor = "b",
    character = "none",
    date = as.Date("1970-01-11")
  )
  given <- handed_over(input_fn(data, tidyselect::everything(), batch_size = 3, impute = impute))
  expect_identical(as.vector(given$double), c(1, -1, -1))
  expect_identical(as.vector(given$logical), c(0L, 1L, 0L))
  expect_identical(decoded(given$factor), c("b", "b", "a"))
  expect_identical(decoded(given$character), c("x", "none", "x"))
  expect_identical(as.vector(given$date), c(10, 1, 2))
})

test_that("factors as codes count from 0 in the order of their levels", {
  skip_if_no_tensorflow()
  data <- data.frame(x = factor(c("c", "a", "b")))
  given <- handed_over(input_fn(data, x, factors = "codes", batch_size = 3))
  expect_identical(as.vector(given$x), c(2L, 0L, 1L))
})

test_that("integer64 is exact", {
  skip_if_no_tensorflow()
  skip_if_not_installed("bit64")
  digits <- c("9007199254740993", "-3", NA)
  data <- list(x = bit64::as.integer64(digits))
  expect_error(input_fn(data, "x"), "Missing values: `x` 1.", class = "tfdistribute_input_error")
  given <- python_batch(input_fn(data, "x", impute = list(x = 7), batch_size = 3))
  expect_identical(reticulate::py_str(given[["x"]]$tolist()), "[9007199254740993, -3, 7]")
})

test_that("arrays, matrices and single rows keep their shape", {
  skip_if_no_tensorflow()
  image <- array(as.numeric(1:24), c(2, 3, 4))
  given <- handed_over(numpy_input_fn(list(image = image), y = 1:2, batch_size = 2))
  expect_identical(given[[1]]$image, image)
  expect_identical(as.vector(given[[2]]), 1:2)
  matrix <- cbind(a = c(1, 2), b = c(3, 4))
  given <- handed_over(input_fn(matrix, a, b, batch_size = 2))
  expect_identical(as.vector(given[[1]]$a), c(1, 2))
  expect_identical(as.vector(given[[2]]), c(3, 4))
  given <- handed_over(input_fn(s ~ x, data.frame(x = 1.5, s = "only")))
  expect_identical(as.vector(given[[1]]$x), 1.5)
  expect_identical(decoded(given[[2]]), "only")
})

test_that("a selection that Ctrl-C ended does not change the meaning of the next one", {
  # tidyselect is left within the selection, where its helpers return positions.
  tidyselect::scoped_vars(names(mtcars))
  expect_identical(input_fn(mpg ~ wt, mtcars)$response, "mpg")
  expect_identical(input_fn(mtcars, wt, response = tidyselect::all_of("mpg"))$response, "mpg")
})
