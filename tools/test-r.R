# Run the R tests against the installed package. Arguments: the file that names the running test, a filter of file names
# and the name of a test (both may be empty). Fails if a test fails, leaves something behind, or, in continuous
# integration, is skipped.
source("tools/leak-reporter.R")

arguments <- commandArgs(trailingOnly = TRUE)
filter <- if (nzchar(arguments[[2]])) arguments[[2]]
name <- arguments[[3]]
Sys.setenv(TESTTHAT_MAX_FAILS = "Inf")

# Another run may write the snapshots of other tests meanwhile.
snapshots <- function() {
  files <- list.files("tests/testthat/_snaps", recursive = TRUE, full.names = TRUE)
  tests <- sub("([.]new)?[.]md$", "", basename(files))
  tools::md5sum(if (is.null(filter)) files else files[grepl(filter, tests)])
}
snapshots_before <- snapshots()
# testthat drops the snapshots of tests that are left out.
if (nzchar(name)) {
  saved <- tempfile("snapshots")
  dir.create(saved)
  file.copy("tests/testthat/_snaps", saved, recursive = TRUE)
}

leak_reporter <- LeakReporter$new(normalizePath(arguments[[1]], mustWork = FALSE))
environment_of_tests <- testthat::test_env("tfdistribute")
if (nzchar(name)) {
  environment_of_tests$test_that <- function(desc, code) {
    if (identical(desc, name)) {
      call <- sys.call()
      call[[1]] <- quote(testthat::test_that)
      eval(call, parent.frame())
    }
  }
}
results <- testthat::test_dir(
  "tests/testthat",
  env = environment_of_tests,
  package = "tfdistribute",
  load_package = "installed",
  filter = filter,
  reporter = testthat::MultiReporter$new(
    reporters = list(testthat::ProgressReporter$new(update_interval = Inf), leak_reporter)
  ),
  stop_on_failure = FALSE
)
outcomes <- lapply(results, function(result) result$results)
messages <- lapply(outcomes, function(conditions) lapply(conditions, conditionMessage))
chosen <- !grepl("Left to `make (check|check-all|test-real)`", messages)
results <- as.data.frame(results)[chosen, ]
outcomes <- outcomes[chosen]

# The table of testthat misses an error that is followed by a warning.
is_broken <- function(condition) {
  inherits(condition, c("expectation_failure", "expectation_error"))
}
failed <- vapply(outcomes, function(conditions) any(vapply(conditions, is_broken, NA)), NA)
skipped <- results$skipped & !failed
leaks <- leak_reporter$leaks
in_integration <- identical(Sys.getenv("CI"), "true")

for (leak in leaks) {
  cat("Leak:", leak, "\n")
}
if (any(skipped)) {
  cat(sprintf("Skipped: %s: %s\n", results$file[skipped], results$test[skipped]), sep = "")
}
if (is.null(filter)) {
  slowest <- utils::head(results[order(-results$real), ], 40)
  cat(sprintf("%.2fs call     %s: %s\n", slowest$real, slowest$file, slowest$test), sep = "")
}
for (row in which(failed)) {
  cat(sprintf("FAILED %s: %s\n", results$file[[row]], results$test[[row]]))
  for (condition in Filter(is_broken, outcomes[[row]])) {
    lines <- strsplit(conditionMessage(condition), "\n", fixed = TRUE)[[1]]
    cat(paste0("  ", utils::head(lines, 15)), sep = "\n")
  }
}
# In `make test`, a file proves its promise by the tests that are kept for it.
leaves_to_check <- identical(Sys.getenv("TFDISTRIBUTE_TESTS"), "test")
for (file in setdiff(results$file, results$file[failed | skipped])) {
  lines <- readLines(file.path("tests/testthat", file))
  if (!leaves_to_check || any(grepl("skip_if_no_tensorflow(\"promise\")", lines, fixed = TRUE))) {
    proved <- grep("^# Proves: ", lines, value = TRUE)
    cat(sprintf("PROVED %s\n", sub("^# Proves: ", "", proved)), sep = "")
  }
}
cat(sprintf(
  "testthat: %d passed, %d failed%s%s\n",
  sum(!failed & !skipped),
  sum(failed),
  if (any(skipped)) sprintf(", %d skipped", sum(skipped)) else "",
  if (length(leaks) > 0) sprintf(", %d leaks", length(leaks)) else ""
))
if (nzchar(name)) {
  file.copy(file.path(saved, "_snaps"), "tests/testthat", recursive = TRUE)
  unlink(saved, recursive = TRUE)
}
snapshots_changed <- !identical(snapshots(), snapshots_before)
if (snapshots_changed) {
  cat("Snapshots were written: review and commit tests/testthat/_snaps.\n")
}
if (any(failed) || length(leaks) > 0 || (in_integration && (any(skipped) || snapshots_changed))) {
  quit(status = 1)
}
