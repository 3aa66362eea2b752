# A job that is not started: its private directory, which is removed when the test ends.
local_job_directory <- function(frame = parent.frame()) {
  directory <- call_backend("open_job", cluster = ssh_cluster("localhost"))
  remove <- function() call_backend("remove_job_directory", directory = directory)
  withr::defer(remove(), envir = frame)
  directory
}

sha256 <- function(path) {
  sub(" .*", "", system2("sha256sum", shQuote(path), stdout = TRUE))
}
