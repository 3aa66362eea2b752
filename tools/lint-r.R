# Lint the R code, with the package loaded so that its own names are known. Prints the lints and fails if there are any.
suppressMessages(pkgload::load_all(".", quiet = TRUE))

# The linters of .lintr hold everywhere. These hold in the package's own code only.
package_linters <- list(
  calls = lintr::undesirable_function_linter(c(
    stop = "use one of the abort functions in R/errors.R",
    sapply = "use vapply(): its result has one type",
    setwd = "pass paths",
    Sys.setenv = "pass the environment to the process that needs it"
  )),
  operators = lintr::undesirable_operator_linter(c(
    `<<-` = "return the value",
    `:::` = "use what is exported"
  ))
)

from_source <- function(name, xpath, message) {
  lintr::Linter(name = name, function(source_expression) {
    if (!lintr::is_lint_level(source_expression, "file")) {
      return(list())
    }
    found <- xml2::xml_find_all(source_expression$full_xml_parsed_content, xpath)
    lintr::xml_nodes_to_lints(found, source_expression, message, type = "warning")
  })
}

# lintr's own linter of complexity takes as long as all others together.
package_linters$branches <- from_source(
  "branches_linter",
  "//expr[FUNCTION and count(.//IF | .//FOR | .//WHILE | .//REPEAT) > 15]",
  "a function has at most 15 branches and loops"
)

package_linters$reticulate <- from_source(
  "reticulate_linter",
  "//SYMBOL_PACKAGE[text() = 'reticulate']",
  "only R/python-backend.R speaks to reticulate"
)

everywhere <- eval(str2lang(read.dcf(".lintr")[[1, "linters"]]), asNamespace("lintr"))
# What air lays out, everywhere but in vignettes.
layout <- c("brace", "commas", "infix_spaces", "no_tab", "spaces_left_parentheses")
layout <- paste0(c(layout, "trailing_blank_lines", "trailing_whitespace"), "_linter")
lint_folder <- function(folder) {
  linters <- c(everywhere, if (folder == "R") package_linters)
  if (folder != "vignettes") {
    linters <- linters[setdiff(names(linters), layout)]
  }
  as.list(lintr::lint_dir(folder, linters = linters, relative_path = FALSE))
}
folders <- Filter(dir.exists, c("R", "tests", "inst/examples", "bench", "vignettes"))
lints <- unlist(lapply(folders, lint_folder), recursive = FALSE)

# lintr knows the generics of other packages and of NAMESPACE, but not those that the package keeps to itself, and not
# base's `$<-`.
namespace <- asNamespace("tfdistribute")
own_functions <- Filter(is.function, mget(ls(namespace, all.names = TRUE), envir = namespace))
is_generic <- function(object) "UseMethod" %in% all.names(body(object))
# Two are generics of DALEX.
own_generics <- c(names(Filter(is_generic, own_functions)), "model_info", "yhat")
# What base's generics call their arguments.
base_arguments <- c("row.names", "na.rm", "na.action", "check.names")

is_allowed <- function(lint) {
  if (lint$linter == "object_name_linter") {
    if (startsWith(substring(lint$line, lint$column_number), "`$<-.tfdistribute_")) {
      return(TRUE)
    }
    name <- sub("^`?([[:alnum:]._]+).*$", "\\1", substring(lint$line, lint$column_number))
    return(name %in% base_arguments || any(startsWith(name, paste0(own_generics, "."))))
  }
  lint$linter == "reticulate" && basename(lint$filename) == "python-backend.R"
}
lints <- Filter(Negate(is_allowed), lints)

for (lint in lints) {
  cat(sprintf(
    "%s:%d:%d: [%s] %s\n",
    lint$filename,
    lint$line_number,
    lint$column_number,
    lint$linter,
    lint$message
  ))
}

# Links of help pages to topics that are not there.
missing_links <- format(tools:::.check_Rd_xrefs(dir = "."))
writeLines(missing_links)
if (length(lints) > 0 || length(missing_links) > 0) {
  quit(status = 1)
}
