# Descriptions: plain R lists with a kind and a family, which can be printed, compared, saved and sent.

# A list of class tfdistribute_<kind>_<family> and tfdistribute_<family>. `family` is as in Python: "strategy",
# "feature_column", "input", "estimator". Python recognises the member by its `kind`. The fields are checked, and named
# as in the Python dataclass.
new_description <- function(family, kind, ...) {
  structure(
    list(kind = kind, ...),
    class = c(paste0("tfdistribute_", kind, "_", family), paste0("tfdistribute_", family))
  )
}

# Print a description by its lines. A list that only has the class of one is printed as a list.
print_description <- function(x, lines) {
  lines <- tryCatch(lines, error = function(error) NULL)
  if (length(lines) == 0) {
    print(unclass(x))
  } else {
    writeLines(lines)
  }
  invisible(x)
}

first_of <- function(texts, shown = 20) {
  more <- length(texts) - shown
  c(utils::head(texts, shown), if (more > 0) paste("... and", more, "more"))
}

# Change one field of a description as its constructor would make it: for `$<-` and `[[<-`. Code of this package that
# knows the value to be right uses `[<-`, which checks nothing. `arguments` are the constructor's arguments, by name.
change_field <- function(arguments, name, value, constructor) {
  known <- setdiff(names(formals(constructor)), "...")
  if (!rlang::is_string(name) || !name %in% known) {
    name <- if (rlang::is_string(name)) name else ""
    abort_unknown_argument(rlang::set_names(list(value), name), known, paste0(constructor, "()"))
  }
  arguments[name] <- list(value)
  do.call(constructor, arguments[intersect(names(arguments), known)])
}
