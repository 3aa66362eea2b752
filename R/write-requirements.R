#' Write the Python packages that a model needs
#'
#' Writes the exact version of every Python package with which a model works, in this session, or for a model of
#' [load_estimator()] in the session that saved it. pip, uv and Posit Connect read the file, and
#' `install_tfdistribute(requirements = )` makes the same environment again.
#'
#' @param object An estimator, such as a [dnn_regressor()].
#' @param path Path of the file that is written, a string.
#' @returns It returns the path, a string, invisibly.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type.
#' * `tfdistribute_backend_error` if Python is not available.
#' @references <https://pip.pypa.io/en/stable/reference/requirements-file-format>
#' @seealso [install_tfdistribute()], [save_estimator()]
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(column_numeric("wt"))
#' path <- write_requirements(model, tempfile(fileext = ".txt"))
#' readLines(path)
#' @export
write_requirements <- function(object, path = "requirements.txt", ...) {
  check_call(...)
  path <- path.expand(check_string(path))
  check_estimator(object)
  saved <- attr(object, "requirements")
  write_lines(if (length(saved) > 0) saved else session_requirements(), path)
  invisible(path)
}

session_requirements <- function() {
  as.character(unlist(call_backend("locked_requirements")))
}

# Says which packages of a saved model have other versions in this session. Files of earlier versions list none.
note_other_versions <- function(saved, here = session_requirements()) {
  if (length(saved) == 0) {
    return(invisible())
  }
  other <- setdiff(saved, here)
  if (length(other) > 0) {
    names <- sub("==.*", "", here)
    found <- here[match(sub("==.*", "", other), names)]
    differences <- paste(other, ifelse(is.na(found), "(missing here)", sprintf("(here %s)", found)))
    shown <- toString(first_of(differences, 3))
    cli::cli_inform(c(
      i = paste0("The model was saved with ", shown, "."),
      i = "install_tfdistribute(requirements = ) installs the packages of write_requirements()."
    ))
  }
}

write_lines <- function(lines, path) {
  # The warning before R's error has the reason.
  reason <- tryCatch(writeLines(lines, path), warning = conditionMessage, error = conditionMessage)
  if (!is.null(reason)) {
    abort_tfdistribute(
      "argument",
      problem = "`path` {show_value(path)} cannot be written: {sub(\".*': \", \"\", reason)}.",
      remedy = "Give a file in a folder that exists and that you may write to.",
      argument = "path",
      value = path
    )
  }
}
