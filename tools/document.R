# Write man/ and NAMESPACE of the package in the given directory from the comments in its R files.
package <- commandArgs(trailingOnly = TRUE)[[1]]
options(cli.unicode = TRUE, crayon.enabled = FALSE)

# The help of the arguments that are fields of dataclasses, for `#' @eval help_of("constructor")`. Names with the same
# help are listed together.
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
printed <- system2("python", c(file.path(dirname(script), "schema.py"), "--help"), TRUE, FALSE)
field_help <- jsonlite::fromJSON(utils::tail(printed, 1), simplifyVector = FALSE)
help_of <- function(...) {
  texts <- unlist(unname(field_help[c(...)]))
  if (length(texts) == 0) {
    return(character())
  }
  texts <- texts[!duplicated(names(texts))]
  names <- tapply(names(texts), factor(texts, unique(texts)), paste, collapse = ",")
  paste("@param", names, unique(texts))
}

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
