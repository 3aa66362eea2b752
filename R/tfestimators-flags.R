# Settings of a script that a file and the command line can change.

#' Settings of a script, from a file or the command line
#'
#' These functions are for scripts of tfestimators. They declare the settings of a script, with their types and
#' defaults. A file `flags.yml` in the working directory overrides the defaults, and the command line
#' (`Rscript train.R --learning-rate=0.1`) overrides both. If the R package tfruns is installed, its `flags()` reads the
#' settings, so that its runs can set and record them.
#'
#' @param name A string that names the flag.
#' @param default Value if neither the file nor the command line sets it.
#' @param description A string that describes the flag, or NULL.
#' @param ... `flags()`: results of `flag_numeric()`, `flag_integer()`, `flag_boolean()` and `flag_string()`, or a list
#'   of them. Otherwise must be empty.
#' @param config Section of the file to use, in addition to `default`. Files without sections have one value per flag.
#' @param file Path of the YAML file, which requires the R package yaml.
#' @param arguments Arguments of the command line, strings: `--name=value` or `--name value`, with `-` for `_` in names.
#'   `flags()` ignores arguments that do not begin with `--`.
#' @returns `flags()`: a named list of values. `flag_*()`: a description of one flag.
#' @section Errors:
#' * `tfdistribute_argument_error` if a value has the wrong type, a flag was not declared, or `file` does not exist or
#'   does not contain names and values.
#' * `tfdistribute_unsupported_error` if there is a file but yaml is not installed, or its sections inherit from each
#'   other but tfruns is not installed.
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
  if (!missing(file) && !is.null(file) && !file.exists(file)) {
    abort_argument(file, "the path of a file that exists")
  }
  names(described) <- vapply(described, function(flag) flag$name, "")
  values <- lapply(described, function(flag) flag$default)
  said <- utils::modifyList(flags_in_file(file, config), flags_in_command_line(arguments))
  for (name in names(said)) {
    flag <- described[[name]] %||% abort_unknown_flag(name, names(described))
    values[[name]] <- flag_value(flag, said[[name]])
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
    switch(
      flag$type,
      numeric = suppressWarnings(as.double(value)),
      integer = as_whole(value),
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

as_whole <- function(value) {
  number <- suppressWarnings(as.double(value))
  if (is_number(number) && is_whole(number)) as.integer(number) else NA
}

as_boolean <- function(value) {
  if (is.logical(value)) {
    return(value)
  }
  word <- tolower(as.character(value))
  if (word %in% c("true", "t", "yes", "on", "1")) {
    TRUE
  } else if (word %in% c("false", "f", "no", "off", "0")) {
    FALSE
  } else {
    NA
  }
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

flags_in_file <- function(file, config) {
  if (is.null(file) || !file.exists(file)) {
    return(list())
  }
  if (!requireNamespace("yaml", quietly = TRUE)) {
    abort_tfdistribute(
      "unsupported",
      problem = "`file` \"{file}\" cannot be read without the R package yaml.",
      remedy = "Install yaml, or give the flags on the command line.",
      value = file
    )
  }
  read <- read_flags(file)
  if (!all(vapply(read, is.list, NA))) {
    return(read)
  }
  if (any(vapply(read, function(section) "inherits" %in% names(section), NA))) {
    abort_tfdistribute(
      "unsupported",
      problem = "Sections of \"{file}\" inherit from others, which only tfruns reads.",
      remedy = "Install the R package tfruns, or write the values into each section.",
      argument = "file",
      value = file
    )
  }
  utils::modifyList(as.list(read$default), as.list(read[[config]]))
}

read_flags <- function(file) {
  text <- readLines(file, warn = FALSE, encoding = "UTF-8")
  # The time that yaml takes grows with the square of the depth.
  if (sum(nchar(gsub("[^[{]", "", text, useBytes = TRUE))) > 1000) {
    abort_flags_file(file, "it is nested too deeply")
  }
  # A number beyond R's integers becomes NA, which the flag rejects.
  read <- tryCatch(
    suppressWarnings(yaml::yaml.load(paste(text, collapse = "\n"), eval.expr = FALSE)),
    error = function(error) {
      abort_flags_file(file, strsplit(conditionMessage(error), "\n")[[1]][[1]])
    }
  )
  if (length(read) > 0 && !(is.list(read) && has_own_names(read))) {
    abort_flags_file(file, "it is not a list of names and values")
  }
  as.list(read)
}

abort_flags_file <- function(file, reason) {
  abort_tfdistribute(
    "argument",
    problem = "`file` \"{file}\" cannot be read: {substr(reason, 1, 200)}.",
    remedy = "Write one line for each flag, such as steps: 100.",
    value = file
  )
}

flags_in_command_line <- function(arguments) {
  said <- list()
  index <- 1
  while (index <= length(arguments)) {
    argument <- arguments[[index]]
    if (startsWith(argument, "--")) {
      has_value <- grepl("=", argument, fixed = TRUE)
      name <- gsub("-", "_", sub("=.*$", "", substring(argument, 3)), fixed = TRUE)
      if (has_value) {
        said[[name]] <- sub("^[^=]*=", "", argument)
      } else {
        index <- index + 1
        said[[name]] <- if (index <= length(arguments)) arguments[[index]] else NA
      }
    }
    index <- index + 1
  }
  said
}

#' @export
print.tfdistribute_flags <- function(x, ...) {
  values <- vapply(unclass(x), show_value, "")
  cat(paste0("--", format(gsub("_", "-", names(values))), "  ", values, "\n"), sep = "")
  invisible(x)
}
