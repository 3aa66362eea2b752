# The code of README.md runs as it stands there.

readme_code <- function() {
  lines <- readLines(file.path(source_root(), "README.md"), encoding = "UTF-8")
  begins <- which(lines == "```r")[[1]]
  ends <- which(lines == "```")
  lines[(begins + 1):(ends[ends > begins][[1]] - 1)]
}

test_that("a newcomer's first model trains in two processes and has learnt something", {
  skip_if_no_tensorflow()
  session <- new.env(parent = globalenv())
  withr::local_pdf(withr::local_tempfile())
  eval(parse(text = readme_code()), session)
  expect_s3_class(session$history, "tfdistribute_history")
  metrics <- evaluate(session$model, session$diamonds[-session$rows, ])
  expect_lt(metrics$average_loss, stats::var(session$diamonds$price) / 2)
})
