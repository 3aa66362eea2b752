# Code in an R process of its own, for what might abort R or wait for ever. `code` sees the values of `with` and saves
# what it ends with; the process and all that it started are ended after `timeout_s`.
in_child_r <- function(code, with = list(), timeout_s = 120) {
  folder <- withr::local_tempdir()
  saveRDS(with, file.path(folder, "with.rds"))
  script <- file.path(folder, "script.R")
  writeLines(
    c(
      "folder <- commandArgs(trailingOnly = TRUE)",
      "options(tfdistribute.progress = FALSE, keep.source = TRUE)",
      "library(tfdistribute)",
      "with_values <- readRDS(file.path(folder, 'with.rds'))",
      "for (name in names(with_values)) assign(name, with_values[[name]])",
      "source(file.path(folder, 'code.R'), keep.source = TRUE)",
      "saveRDS(result, file.path(folder, 'result.rds'))"
    ),
    script
  )
  writeLines(c(code), file.path(folder, "code.R"))
  child <- processx::run(
    file.path(R.home("bin"), "Rscript"),
    c(script, folder),
    timeout = timeout_s,
    error_on_status = FALSE,
    stderr_to_stdout = TRUE,
    cleanup_tree = TRUE
  )
  if (child$timeout || child$status != 0) {
    reason <- if (child$timeout) paste("not finished after", timeout_s, "s") else child$status
    rlang::abort(paste0("The child R process failed (", reason, "):\n", child$stdout))
  }
  readRDS(file.path(folder, "result.rds"))
}
