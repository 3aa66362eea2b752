# Descriptions: plain R lists with a kind and a family that can be printed, compared, saved and sent.

# A list of class tfdistribute_<kind>_<family> and tfdistribute_<family>. `family` is "strategy", "feature_column",
# "input" or "estimator", as in Python. Python recognizes the member by its `kind`. The fields are already checked, and
# have the names of the Python dataclass.
new_description <- function(family, kind, ...) {
  structure(
    list(kind = kind, ...),
    class = c(paste0("tfdistribute_", kind, "_", family), paste0("tfdistribute_", family))
  )
}

# Methods that several families share.
#' @rawNamespace
#' S3method("$<-", tfdistribute_hook, set_field)
#' S3method("$<-", tfdistribute_strategy, set_field)
#' S3method("$<-", tfdistribute_tracker, set_field)
#' S3method("[[<-", tfdistribute_hook, set_field)
#' S3method("[[<-", tfdistribute_strategy, set_field)
#' S3method("[[<-", tfdistribute_tracker, set_field)
#' S3method(print, tfdistribute_cluster, print_lines)
#' S3method(print, tfdistribute_estimator, print_lines)
#' S3method(print, tfdistribute_history_summary, print_lines)
#' S3method(print, tfdistribute_input, print_lines)
#' S3method(print, tfdistribute_model_summary, print_lines)
#' S3method(print, tfdistribute_hook, print_line)
#' S3method(print, tfdistribute_optimizer, print_line)
#' S3method(print, tfdistribute_strategy, print_line)
#' S3method(print, tfdistribute_tracker, print_line)
NULL

print_lines <- function(x, ...) {
  print_description(x, format(x, ...))
}

# A line such as <strategy> mirrored over 2 devices, after the family.
print_line <- function(x, ...) {
  print_description(x, paste0("<", family_of(x), "> ", format(x)))
}

family_of <- function(x) {
  sub("^tfdistribute_", "", utils::tail(class(x), 1))
}

# Print the lines of a description. A list that has only the class of a description is printed as a list.
print_description <- function(x, lines) {
  lines <- tryCatch(lines, error = function(error) NULL)
  if (length(lines) == 0) {
    print(unclass(x))
  } else {
    writeLines(lines)
  }
  invisible(x)
}

# A table of rows, lists of values. `...` are the columns, each with the value for a row without it.
table_of <- function(rows, ...) {
  missing <- list(...)
  columns <- Map(
    function(name, missing) {
      value_of <- function(row) as.vector(row[[name]] %||% missing, typeof(missing))
      vapply(rows, value_of, missing, USE.NAMES = FALSE)
    },
    names(missing),
    missing
  )
  tibble::as_tibble(columns)
}

several <- function(number, what) {
  interpolate("{number} {what}{cli::qty(number)}{?s}")
}

first_of <- function(texts, shown = 20) {
  more <- length(texts) - shown
  c(utils::head(texts, shown), if (more > 0) paste("... and", more, "more"))
}

# Change one field of a description with the checks of its constructor, for `$<-` and `[[<-`. Code of this package that
# has a valid value uses `[<-`, which checks nothing. `arguments` are the constructor's arguments, by name.
change_field <- function(arguments, name, value, constructor) {
  known <- setdiff(names(formals(constructor)), "...")
  name <- if (rlang::is_string(name)) own_name(name) else ""
  if (!name %in% known) {
    abort_unknown_argument(rlang::set_names(list(value), name), known, paste0(constructor, "()"))
  }
  arguments[name] <- list(value)
  do.call(constructor, arguments[intersect(names(arguments), known)])
}

set_field <- function(x, name, value) {
  constructor <- c(hook = "hook_", strategy = "strategy_", tracker = "track_")[[family_of(x)]]
  change_field(unclass_list(x), name, value, paste0(constructor, x$kind))
}

format_number <- function(x) {
  vapply(x, function(number) format(signif(number, 4), trim = TRUE), "")
}

format_count <- function(x) {
  format(round(x), big.mark = ",", scientific = FALSE, trim = TRUE)
}
