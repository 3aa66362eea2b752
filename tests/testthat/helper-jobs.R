# A job that is checked but not started: its private directory, which is removed when the test ends.
local_job_directory <- function(frame = parent.frame()) {
  prepared <- call_backend(
    "prepare_job",
    cluster = local_cluster(2),
    strategy = strategy_multi_worker(),
    verb = "train",
    workload = list(model_dir = "model")
  )
  remove <- function() call_backend("remove_job_directory", directory = prepared$directory)
  withr::defer(remove(), envir = frame)
  prepared$directory
}

sha256 <- function(path) {
  sub(" .*", "", system2("sha256sum", shQuote(path), stdout = TRUE))
}
