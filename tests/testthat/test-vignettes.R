# What vignettes say of the package as a whole.

test_that("the vignette on failures explains every class of error, and no other", {
  lines <- readLines(file.path(source_root(), "vignettes", "when-it-hangs-or-fails.Rmd"))
  explained <- sub("^\\| `(tfdistribute_[a-z_]+_error)` \\|.*", "\\1", lines)
  explained <- explained[grepl("^tfdistribute_[a-z_]+_error$", explained)]
  tree <- readLines(file.path(source_root(), "inst", "python", "tfdistribute", "errors.py"))
  names <- sub("^class (\\w+)Error.*", "\\1", grep("^class \\w+Error", tree, value = TRUE))
  kinds <- tolower(gsub("(?<=[a-z])(?=[A-Z])", "_", names, perl = TRUE))
  expect_setequal(explained, paste0("tfdistribute_", setdiff(kinds, "tfdistribute"), "_error"))
})

test_that("errors have the fields that the vignette on failures names", {
  lines <- readLines(file.path(source_root(), "vignettes", "when-it-hangs-or-fails.Rmd"))
  found <- regmatches(
    lines,
    regexpr("problem[$][a-z_]+|the field `[a-z_]+|`[a-z]*traceback`", lines)
  )
  fields <- unique(gsub("problem[$]|the field |`", "", found))
  expect_true(all(c("argument", "value", "python_traceback") %in% fields))
  error <- tryCatch(input_fn(mpg ~ nothing, mtcars), error = identity)
  # The error of a job has its task's backtrace of R, too.
  expect_identical(setdiff(fields, c(names(error), "r_traceback")), character())
})

test_that("the vignette's table of accepted values is true for data in R", {
  lines <- readLines(file.path(source_root(), "vignettes", "input-pipelines.Rmd"))
  rows <- strsplit(grep("^\\| an? .*\\| .*\\|$|^\\| NaN .*\\|$", lines, value = TRUE), " *\\| *")
  cells <- rlang::set_names(vapply(rows, `[[`, "", 3), vapply(rows, `[[`, "", 2))
  values <- list(
    "a missing feature (NA)" = list("x", NA),
    "NaN in a feature" = list("x", NaN),
    "an infinite feature" = list("x", Inf),
    "a feature beyond 3.4e38" = list("x", 1e39),
    "a missing response (NA)" = list("y", NA),
    "NaN in the response" = list("y", NaN),
    "an infinite response" = list("y", Inf)
  )
  expect_named(cells, names(values))
  for (value in names(values)) {
    data <- data.frame(x = c(1, 2), y = c(1, 2))
    data[2, values[[value]][[1]]] <- values[[value]][[2]]
    if (cells[[value]] == "kept") {
      expect_s3_class(input_fn(y ~ x, data), "tfdistribute_input")
    } else {
      expect_error(input_fn(y ~ x, data), class = "tfdistribute_input_error", info = value)
    }
    if (grepl("impute", cells[[value]])) {
      expect_s3_class(input_fn(y ~ x, data, impute = 7), "tfdistribute_input")
    }
  }
})
