# What vignettes say of the package as a whole.

test_that("the vignette on failures explains every class of error, and no other", {
  lines <- readLines(file.path(source_root(), "vignettes", "when-it-hangs-or-fails.Rmd"))
  explained <- sub("^\\| `(tfdistribute_[a-z_]+_error)` \\|.*", "\\1", lines)
  explained <- explained[grepl("^tfdistribute_[a-z_]+_error$", explained)]
  tree <- readLines(file.path(source_root(), "inst", "python", "tfdistribute", "errors.py"))
  kinds <- sub('^    kind = "([a-z_]+)"$', "\\1", grep('^    kind = "', tree, value = TRUE))
  expect_setequal(explained, paste0("tfdistribute_", setdiff(kinds, "error"), "_error"))
})
