# What the machine has. Where something is missing, a visitor's test is skipped; in continuous integration it fails.

is_continuous_integration <- function() {
  identical(Sys.getenv("CI"), "true")
}

skip_or_fail <- function(reason) {
  if (is_continuous_integration()) {
    rlang::abort(paste0("This test must run in continuous integration: ", reason))
  }
  testthat::skip(reason)
}

# Whether the Python that reticulate would start has TensorFlow; asked once, of a child process, so that
# tests of descriptions start no Python.
tensorflow_is_available <- local({
  known <- NULL
  function() {
    if (is.null(known)) {
      python <- Sys.getenv("RETICULATE_PYTHON", Sys.which("python3"))
      query <- paste(
        "from importlib.util import find_spec;",
        "import sys;",
        "sys.exit(not (find_spec('tensorflow') and find_spec('tensorflow_estimator')))"
      )
      known <<- nzchar(python) &&
        system2(python, c("-c", shQuote(query)), stdout = FALSE, stderr = FALSE) == 0
    }
    known
  }
})

# `make test` runs those that prove a promise of README, and for each part one that uses it ("smoke").
# `make check-all` alone runs those that show in R what a Python test shows ("check-all").
skip_if_no_tensorflow <- function(kept_for = c("check", "smoke", "promise", "check-all")) {
  kept_for <- match.arg(kept_for)
  if (kept_for == "check-all" && !checks_all()) {
    testthat::skip("Left to `make check-all`.")
  }
  if (kept_for == "check") {
    leave_to_check()
  }
  if (!tensorflow_is_available()) {
    skip_or_fail("TensorFlow is not installed in the Python that RETICULATE_PYTHON names.")
  }
}

# The folder of the sources. Tests that read them run where there are sources: in a checkout.
source_root <- function() {
  candidates <- c(Sys.getenv("TFDISTRIBUTE_SOURCE"), testthat::test_path("..", ".."))
  is_source <- function(folder) {
    nzchar(folder) &&
      file.exists(file.path(folder, "DESCRIPTION")) &&
      dir.exists(file.path(folder, "tools"))
  }
  found <- Filter(is_source, candidates)
  if (length(found) == 0) {
    testthat::skip("The sources of the package are not here.")
  }
  normalizePath(found[[1]])
}

# Whether the tests that `make check` leaves out run too, as in `make check-all`.
checks_all <- function() {
  identical(Sys.getenv("TFDISTRIBUTE_TESTS"), "all")
}

# Leave the rest of a test to `make check`, if this is `make test`: it is slow even without TensorFlow.
leave_to_check <- function() {
  if (identical(Sys.getenv("TFDISTRIBUTE_TESTS"), "test")) {
    testthat::skip("Left to `make check`.")
  }
}

# Whether the tests that need a GPU run, as in `make test-gpu`.
checks_gpu <- function() {
  identical(Sys.getenv("TFDISTRIBUTE_CHECK_GPU"), "true")
}
