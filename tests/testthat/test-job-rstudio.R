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
  expect_true("asked again: FALSE " %in% said)
})

test_that("addins train in the background, and open the page of what is selected", {
  said <- in_rstudio()
  expect_snapshot(writeLines(said[-seq_len(grep("asked again", said))]))
})

test_that("the selected code may have several lines, and is one call of a verb", {
  code <- background_code("train(model, function() {\n  1\n}, wait = TRUE)")
  call <- parse(text = code)[[1]][[3]]
  expect_false(call[["wait"]])
  for (selection in c("", "train(", "train(a); train(b)", "predict(model)")) {
    expect_error(background_code(selection), class = "tfdistribute_argument_error")
  }
})

test_that("the template of a report has the parts of a training, and its code runs", {
  folder <- system.file("rmarkdown", "templates", "training-report", package = "tfdistribute")
  expect_match(
    readLines(file.path(folder, "template.yaml")),
    "^name: Training report$",
    all = FALSE
  )
  file <- file.path(folder, "skeleton", "skeleton.Rmd")
  expect_identical(
    grep("^## ", readLines(file), value = TRUE),
    c("## Data", "## Model", "## Training", "## Evaluation", "## Session and versions")
  )
  skip_if_no_tensorflow()
  skip_if_not_installed("rmarkdown")
  skip_if_not(rmarkdown::pandoc_available())
  output <- withr::local_tempdir()
  page <- rmarkdown::render(
    file,
    output_dir = output,
    intermediates_dir = output,
    quiet = TRUE,
    envir = new.env(parent = globalenv())
  )
  text <- paste(readLines(page), collapse = "\n")
  expect_match(text, "48,546 rows", fixed = TRUE)
  expect_identical(lengths(regmatches(text, gregexpr("<img[^>]*data:image/png", text))), 2L)
})

test_that("outside RStudio a job has no place but its handle", {
  job <- structure(list(model_dir = "/runs/cars"), class = "tfdistribute_job")
  expect_null(rstudio_function("jobAdd"))
  expect_identical(show_in_rstudio(job), job)
})
