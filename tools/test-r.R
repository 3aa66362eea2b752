# Run the R tests against the installed package. Arguments: a filter of file names (may be empty), and the file that
# names the running test. Fails if a test fails, leaves something behind, or, in continuous integration, is skipped.
source("tools/leak-reporter.R")

arguments <- commandArgs(trailingOnly = TRUE)
filter <- if (nzchar(arguments[[1]])) arguments[[1]]
Sys.setenv(TESTTHAT_MAX_FAILS = "Inf")

# Another run may write the snapshots of other tests meanwhile.
snapshots <- function() {
  files <- list.files("tests/testthat/_snaps", recursive = TRUE, full.names = TRUE)
  tests <- sub("([.]new)?[.]md$", "", basename(files))
  tools::md5sum(if (is.null(filter)) files else files[grepl(filter, tests)])
}
snapshots_before <- snapshots()

leak_reporter <- LeakReporter$new(normalizePath(arguments[[2]], mustWork = FALSE))
results <- testthat::test_dir(
  "tests/testthat",
  package = "tfdistribute",
  load_package = "installed",
  filter = filter,
  reporter = testthat::MultiReporter$new(
    reporters = list(testthat::ProgressReporter$new(update_interval = Inf), leak_reporter)
  ),
  stop_on_failure = FALSE
)
results <- as.data.frame(results)

failed <- results$failed > 0 | results$error
skipped <- results$skipped & !failed
leaks <- leak_reporter$leaks
in_integration <- identical(Sys.getenv("CI"), "true")

for (leak in leaks) {
  cat("Leak:", leak, "\n")
}
if (any(skipped)) {
  cat(sprintf("Skipped: %s: %s\n", results$file[skipped], results$test[skipped]), sep = "")
}
cat(sprintf(
  "testthat: %d passed, %d failed%s%s\n",
  sum(!failed & !skipped),
  sum(failed),
  if (any(skipped)) sprintf(", %d skipped", sum(skipped)) else "",
  if (length(leaks) > 0) sprintf(", %d leaks", length(leaks)) else ""
))
snapshots_changed <- !identical(snapshots(), snapshots_before)
if (snapshots_changed) {
  cat("Snapshots were written: review and commit tests/testthat/_snaps.\n")
}
if (any(failed) || length(leaks) > 0 || (in_integration && (any(skipped) || snapshots_changed))) {
  quit(status = 1)
}
