# Options of the session for the processes of a job: all options except for options about this session itself.

# Regular expressions for names of options that are not sent, by the subject of the options.
# fmt: skip
unsent_options <- list(
  "the programs and windows of this session" = c(
    "askpass", "asksecret", "bitmapType", "browser", "device", "device[.]ask[.]default",
    "dvips(cmd)?", "editor", "mailer", "menu[.]graphics", "page_viewer", "pager", "papersize",
    "pdfviewer", "printcmd", "texi2dvi", "unzip", "viewer"
  ),
  "the console, editor or document that runs this session" = c(
    "connectionObserver", "echo", "jupyter[._].*", "knitr[.].*", "rstudio[.].*", "testthat[.].*",
    "vsc[.].*"
  ),
  "the text that this session shows" = c(
    "cli[.].*", "continue", "crayon[.].*", "keep[.]source([.]pkgs)?", "prompt", "verbose", "width"
  ),
  "the errors of this session" = c(
    "browserNLdisabled", "callr[.].*", "error", "rlang_.*", "show[.]error[.]messages",
    "warning[.]expression"
  ),
  "the cores of this machine" = c("mc[.]cores", "Ncpus"),
  "the packages that this session installs" = c(
    "download[.]file[.].*", "HTTPUserAgent", "install[.].*", "pkgType", "repos", "url[.]method"
  ),
  "a secret" = "(?i).*(token|secret|passw(or)?d|credentials?|(api|access|secret)[._]?key|[._]pat)"
)

shared_options <- function() {
  all <- options()
  is_sent <- vapply(names(all), function(name) is.null(reason_not_sent(name, all[[name]])), NA)
  all[is_sent]
}

# The subject of an option that is not sent. NULL for other options.
reason_not_sent <- function(name, value) {
  is_about <- vapply(
    unsent_options,
    function(names) matches_whole(name, paste(names, collapse = "|")),
    NA
  )
  if (any(is_about)) {
    paste("it is about", names(unsent_options)[is_about][[1]])
  } else if (!can_be_shared(value)) {
    "its value belongs to this session"
  }
}

# Not environments, Python objects, connections, pointers, and functions of RStudio.
can_be_shared <- function(value) {
  if (is.list(value)) {
    return(all(vapply(unclass_list(value), can_be_shared, NA)))
  }
  if (is.function(value) && !is_python_object(value)) {
    home <- environment(value) %||% baseenv()
    names <- vapply(frames_of(home), function(frame) attr(frame, "name") %||% "", "")
    return(!any(startsWith(names, "tools:")) && is_serialisable(value))
  }
  !is.environment(value) && is_serialisable(value)
}

is_serialisable <- function(value) {
  found <- tryCatch(find_captures(list(value = value)), tfdistribute_argument_error = identity)
  !inherits(found, "error")
}

# Report options that are not sent, but that sent functions use. `used` are places by the name of the option.
note_unsent_options <- function(used) {
  for (name in names(used)) {
    value <- getOption(name)
    reason <- if (!is.null(value)) reason_not_sent(name, value)
    if (!is.null(reason)) {
      place <- use_variable(used[[name]], paste0("getOption(\"", name, "\")"))
      note_unsent_option(show_place(place), reason)
    }
  }
}

note_unsent_option <- function(place, reason) {
  cli::cli_inform(c(
    i = "{place}, which the processes do not get: {reason}.",
    " " = "Assign its value to a variable, and use that in the function."
  ))
}
