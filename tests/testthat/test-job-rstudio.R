# The jobs pane of RStudio: the real rstudioapi in an R process of its own, with a stand-in for RStudio's side.

in_rstudio <- function() {
  skip_if_not_installed("rstudioapi")
  skip_if_not_installed("later")
  script <- normalizePath(test_path("rstudio-session.R"))
  result <- callr::rscript(script, libpath = .libPaths(), show = FALSE, timeout = 60)
  strsplit(result$stdout, "\n")[[1]]
}

test_that("RStudio gets the text and the final state of a job once, and can stop it", {
  said <- in_rstudio()
  count <- function(start) sum(startsWith(said, start))
  expect_match(
    said[[1]],
    "addJob(name = Training in cars, status = starting, progressUnits = 100, running = TRUE",
    fixed = TRUE
  )
  expect_identical(count("backend: stop_job x"), 1L)
  expect_gte(count("setJobStatus(job = job-1, status = training, step 40)"), 1L)
  expect_identical(
    said[startsWith(said, "addJobOutput") | startsWith(said, "setJobState")],
    c(
      "addJobOutput(job = job-1, output = worker 0 restarts., error = FALSE)",
      "addJobOutput(job = job-1, output = The loss is NaN., error = TRUE)",
      "setJobState(job = job-1, state = failed)"
    )
  )
  expect_identical(said[[length(said)]], "asked again: FALSE ")
})

test_that("outside RStudio a job has no place but its handle", {
  job <- structure(list(model_dir = "/runs/cars"), class = "tfdistribute_job")
  expect_null(rstudio_function("jobAdd"))
  expect_identical(show_in_rstudio(job), job)
})
