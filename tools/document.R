# Write man/ and NAMESPACE of the package in the given directory from the comments in its R files.
package <- commandArgs(trailingOnly = TRUE)[[1]]
options(cli.unicode = TRUE, crayon.enabled = FALSE)
roxygen2::roxygenise(package)
