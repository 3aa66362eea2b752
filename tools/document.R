# Write man/ and NAMESPACE of the package in the given directory from the comments in its R files.
package <- commandArgs(trailingOnly = TRUE)[[1]]
options(cli.unicode = TRUE, crayon.enabled = FALSE)

# `...` that no comment describes must be empty: every function checks it with check_call().
process_empty_dots <- function(x, blocks, env, base_path) {
  topics <- NextMethod()
  for (topic in topics) {
    arguments <- unique(topic$get_value("formals"))
    described <- topic$get_value("param")
    names_of <- strsplit(as.character(names(described)), ",", fixed = TRUE)
    if ("..." %in% setdiff(arguments, unlist(names_of))) {
      firsts <- vapply(names_of, `[[`, "", 1L)
      described <- c(described, ... = "Must be empty.")
      position <- match(c(firsts, "..."), arguments)
      topic$add(roxygen2::rd_section("param", described[order(position)]), overwrite = TRUE)
    }
  }
  topics
}
registerS3method(
  "roclet_process",
  "roclet_rd_of_empty_dots",
  process_empty_dots,
  asNamespace("roxygen2")
)

rd_of_empty_dots <- function() {
  roclet <- roxygen2::rd_roclet()
  structure(roclet, class = c("roclet_rd_of_empty_dots", class(roclet)))
}

roxygen2::roxygenise(package, c("collate", "namespace", "rd_of_empty_dots"))
