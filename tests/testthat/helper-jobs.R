# A job that is not started: its private directory, which is removed when the test ends.
local_job_directory <- function(frame = parent.frame()) {
  directory <- tempfile("tfdistribute-job-")
  dir.create(directory, mode = "0700")
  withr::defer(unlink(directory, recursive = TRUE), envir = frame)
  directory
}

sha256 <- function(path) {
  sub(" .*", "", system2("sha256sum", shQuote(path), stdout = TRUE))
}
