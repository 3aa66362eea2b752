# Variables that functions use, and the environments in which they find them.

# Functions that read variables whose names are not in the code.
# fmt: skip
dynamic_functions <- c(
  "as.environment", "dynGet", "environment", "eval", "exists", "get", "get0", "ls", "mget",
  "parent.frame", "sys.function"
)

names_used_by <- function(callback) {
  used <- tryCatch(
    suppressWarnings(codetools::findGlobals(callback, merge = TRUE)),
    error = function(error) all.names(body(callback))
  )
  # codetools does not report a `...` of an enclosing function.
  uses_outer_dots <- "..." %in% all.names(body(callback)) && !"..." %in% names(formals(callback))
  c(used, if (uses_outer_dots) "...")
}

# The calls of a function by its name in code, such as formals() or a body().
calls_to <- function(name, code) {
  is_inner <- vapply(as.list(code), function(part) is.call(part) || is.pairlist(part), NA)
  inner <- lapply(as.list(code)[is_inner], function(part) calls_to(name, part))
  c(if (rlang::is_call(code, name)) list(code), unlist(unname(inner), recursive = FALSE))
}

# An environment and its parents, up to the first that exists in every process.
frames_of <- function(environment) {
  frames <- list()
  while (!is_in_every_process(environment)) {
    frames <- c(frames, list(environment))
    environment <- parent.env(environment)
  }
  frames
}

is_in_every_process <- function(environment) {
  identical(environment, globalenv()) ||
    identical(environment, baseenv()) ||
    identical(environment, emptyenv()) ||
    isNamespace(environment) ||
    grepl("^(package|imports):", attr(environment, "name") %||% "")
}

# The environment that has a variable. NULL if the variable exists in every process, or nowhere.
find_variable <- function(name, environment) {
  while (!identical(environment, emptyenv())) {
    if (exists(name, envir = environment, inherits = FALSE)) {
      is_everywhere <- is_in_every_process(environment) && !identical(environment, globalenv())
      return(if (!is_everywhere) environment)
    }
    if (isNamespace(environment)) {
      return(NULL)
    }
    environment <- parent.env(environment)
  }
  NULL
}

dots_of <- function(environment) {
  eval(quote(list(...)), environment)
}

# Functions and environments can contain themselves, so each is walked once.
is_seen <- function(value, state) {
  if (!is.function(value) && !is.environment(value)) {
    return(FALSE)
  }
  address <- rlang::obj_address(value)
  seen <- !is.null(state$seen[[address]])
  # Keeping the object prevents the reuse of its address.
  state$seen[[address]] <- list(value)
  seen
}
