# Settings of a script that the command line can change, and with tfruns a file.

#' Settings of a script, from a file or the command line
#'
#' These functions are for scripts of tfestimators. They declare the settings of a script, with their types and
#' defaults, which the command line (`Rscript train.R --learning-rate=0.1`) overrides. If the R package tfruns is
#' installed, its `flags()` reads the settings, so that its runs can set and record them. It also reads a file
#' `flags.yml` in the working directory, which overrides the defaults.
#'
#' @param name A string that names the flag.
#' @param default Value if neither the file nor the command line sets it.
#' @param description A string that describes the flag, or NULL.
#' @param ... `flags()`: results of `flag_numeric()`, `flag_integer()`, `flag_boolean()` and `flag_string()`, or a list
#'   of them. Otherwise must be empty.
#' @param config Section of the file to use, in addition to `default`. Files without sections have one value per flag.
#' @param file Path of the YAML file, which requires the R package tfruns. NULL reads no file.
#' @param arguments Arguments of the command line, strings: `--name=value` or `--name value`, with `-` for `_` in names.
#'   `flags()` ignores arguments that do not begin with `--`.
#' @returns `flags()`: a named list of values. `flag_*()`: a description of one flag.
#' @section Errors:
#' * `tfdistribute_argument_error` if a value has the wrong type, or a flag was not declared.
#' * `tfdistribute_unsupported_error` if there is a file but tfruns is not installed.
#' * The errors of tfruns, if it is installed.
#' @references The functions of the same names in tfruns.
#' @examples
#' flags(
#'   flag_numeric("learning_rate", 0.01, "Size of a step."),
#'   flag_boolean("shuffle", TRUE),
#'   arguments = c("--learning-rate=0.1", "--shuffle", "no")
#' )
#' @name flags
NULL

#' @rdname flags
#' @export
flags <- function(
  ...,
  config = Sys.getenv("R_CONFIG_ACTIVE", unset = "default"),
  file = "flags.yml",
  arguments = commandArgs(TRUE)
) {
  described <- list(...)
  if (length(described) == 1 && !inherits(described[[1]], "tfdistribute_flag")) {
    described <- described[[1]]
  }
  check_flags(described)
  # Not assigned, because the arguments of the call are needed later.
  check_string(config)
  check_path(file)
  if (!is.character(arguments) || anyNA(arguments)) {
    abort_argument(arguments, "strings")
  }
  if (has_tfruns()) {
    # tfruns asks the run for values that are not in the call.
    given <- list(config = if (!missing(config)) config, file = if (!missing(file)) file)
    given <- Filter(Negate(is.null), given)
    return(do.call(tfruns::flags, c(described, given, list(arguments = arguments))))
  }
  if (!is.null(file) && (!missing(file) || file.exists(file))) {
    abort_tfdistribute(
      "unsupported",
      problem = "`file` \"{file}\" cannot be read without the R package tfruns.",
      remedy = "Install tfruns, or give the flags on the command line with `file = NULL`.",
      value = file
    )
  }
  names(described) <- vapply(described, function(flag) flag$name, "")
  values <- lapply(described, function(flag) flag$default)
  found <- flags_in_command_line(arguments)
  for (name in names(found)) {
    flag <- described[[name]] %||% abort_unknown_flag(name, names(described))
    values[[name]] <- flag_value(flag, found[[name]])
  }
  structure(values, class = "tfdistribute_flags")
}

#' @rdname flags
#' @export
flag_numeric <- function(name, default, description = NULL, ...) {
  check_call(...)
  new_flag("numeric", name, default, description)
}

#' @rdname flags
#' @export
flag_integer <- function(name, default, description = NULL, ...) {
  check_call(...)
  new_flag("integer", name, default, description)
}

#' @rdname flags
#' @export
flag_boolean <- function(name, default, description = NULL, ...) {
  check_call(...)
  new_flag("boolean", name, default, description)
}

#' @rdname flags
#' @export
flag_string <- function(name, default, description = NULL, ...) {
  check_call(...)
  new_flag("string", name, default, description)
}

# The fields and the second class are the same as in tfruns, which accepts such an object.
new_flag <- function(type, name, default, description) {
  flag <- list(
    name = check_string(name),
    type = type,
    default = NULL,
    description = check_string(description, null = TRUE)
  )
  flag$default <- flag_value(flag, default, "default")
  structure(flag, class = c("tfdistribute_flag", "tfruns_flag"))
}

flag_value <- function(flag, value, argument = flag$name) {
  is_plain <- is.numeric(value) || is.character(value) || is.logical(value)
  is_value <- is_plain && length(value) == 1 && !is.na(value)
  converted <- if (is_value && (!is.character(value) || validEnc(value))) {
    number <- suppressWarnings(as.double(value))
    switch(
      flag$type,
      numeric = number,
      integer = if (is_number(number) && is_whole(number)) as.integer(number) else NA,
      boolean = as_boolean(value),
      string = as.character(value)
    )
  } else {
    NA
  }
  if (is.na(converted)) {
    abort_argument(value, "one value of type {flag$type}", argument)
  }
  converted
}

as_boolean <- function(value) {
  word <- tolower(as.character(value))
  is_true <- word %in% c("true", "t", "yes", "on", "1")
  if (is_true || word %in% c("false", "f", "no", "off", "0")) is_true else NA
}

check_flags <- function(described) {
  for (flag in described) {
    check_class(flag, "tfdistribute_flag", "flags, such as flag_numeric() makes", argument = "...")
  }
  names <- vapply(described, function(flag) flag$name, "")
  if (anyDuplicated(names) > 0) {
    abort_argument(names[[anyDuplicated(names)]], "flags with different names", "...")
  }
}

abort_unknown_flag <- function(name, known) {
  abort_tfdistribute(
    "argument",
    problem = "`{name}` is not a flag of this script.",
    remedy = "Its flags are {paste0('--', gsub('_', '-', known), collapse = ', ')}."
  )
}

flags_in_command_line <- function(arguments) {
  found <- list()
  for (index in which(startsWith(arguments, "--"))) {
    parts <- regmatches(arguments[[index]], regexpr("=", arguments[[index]]), invert = TRUE)[[1]]
    name <- gsub("-", "_", substring(parts[[1]], 3), fixed = TRUE)
    found[[name]] <- if (length(parts) == 2) parts[[2]] else arguments[index + 1]
  }
  found
}

#' @export
print.tfdistribute_flags <- function(x, ...) {
  values <- vapply(unclass(x), show_value, "")
  cat(paste0("--", format(gsub("_", "-", names(values))), "  ", values, "\n"), sep = "")
  invisible(x)
}
