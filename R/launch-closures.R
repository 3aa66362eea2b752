# Captures of functions: the variables that they need in another process, and nothing else.
#
# R saves a function with its environment and everything in it. Here the environments of functions ("frames") become
# placeholders in the file, and only the variables that some function uses are saved, as values: no promises, and no
# large objects that no function uses. Variables of the global environment are saved in the same way.

# Find what a named list of values needs in another process: `frames`, each a list of `environment` and `variables`
# (names); `globals`, names of variables of the global environment; and `large`, names of objects larger than 100 MB.
# Raises an argument error for what cannot be sent: Python objects other than modules, external pointers, connections.
find_captures <- function(values) {
  state <- new.env(parent = emptyenv())
  state$frames <- list()
  state$globals <- character()
  state$large <- character()
  state$seen <- list()
  for (name in names(values)) {
    walk_value(values[[name]], list(root = name), state)
  }
  list(frames = state$frames, globals = state$globals, large = state$large)
}

# Attributes that can safely be skipped.
skipped_attributes <- c(
  "names",
  "class",
  "dim",
  "dimnames",
  "row.names",
  "levels",
  "srcref",
  ".Environment",
  ".internal.selfref",
  "problems"
)

# Functions that reach variables by other ways than their names in the code.
dynamic_functions <- c(
  "as.environment",
  "dynGet",
  "environment",
  "eval",
  "exists",
  "get",
  "get0",
  "ls",
  "mget",
  "parent.frame",
  "sys.function"
)

# `place` says where the value was found: `root`, an argument of the user's, and `used`, a variable of a function.
walk_value <- function(value, place, state) {
  check_serialisable(value, place)
  if (is_python_object(value) || is_seen(value, state)) {
    return(invisible())
  }
  if (is.function(value)) {
    walk_code(names_used_by(value), environment(value), place, state)
  } else if (inherits(value, "formula")) {
    walk_code(all.vars(value), environment(value), place, state)
  } else if (is.environment(value)) {
    walk_environment(value, place, state)
  } else if (is.list(value)) {
    for (index in seq_along(value)) {
      walk_value(.subset2(value, index), step_into(place, element_name(value, index)), state)
    }
  }
  for (name in setdiff(names(attributes(value)), skipped_attributes)) {
    walk_value(attr(value, name, exact = TRUE), step_into(place, paste0("@", name)), state)
  }
}

# Only what can hold something else, or be met again, is worth remembering.
is_seen <- function(value, state) {
  if (!is.function(value) && !is.environment(value)) {
    return(FALSE)
  }
  address <- rlang::obj_address(value)
  seen <- !is.null(state$seen[[address]])
  # The object is kept too, so that no other takes its address.
  state$seen[[address]] <- list(value)
  seen
}

# The variables that code uses, in the environments around it.
walk_code <- function(names, home, place, state) {
  # Functions of packages find their variables where they are loaded; those of scripts are in .GlobalEnv.
  if (is.null(home) || (is_in_every_process(home) && !identical(home, globalenv()))) {
    return(invisible())
  }
  for (frame in frames_of(home)) {
    note_frame(frame, state)
    if (any(names %in% dynamic_functions)) {
      walk_environment(frame, place, state)
    }
  }
  for (name in setdiff(names, "...")) {
    found <- find_variable(name, home)
    if (!is.null(found)) {
      walk_variable(name, found, place, state)
    }
  }
  if ("..." %in% names) {
    note_dots(home, place, state)
  }
}

names_used_by <- function(callback) {
  used <- tryCatch(
    suppressWarnings(codetools::findGlobals(callback, merge = TRUE)),
    error = function(error) all.names(body(callback))
  )
  # codetools does not tell of the `...` that a function has from around it.
  takes_dots <- "..." %in% all.names(body(callback)) && !"..." %in% names(formals(callback))
  c(used, if (takes_dots) "...")
}

# The environments around a function, from its own to the first that every process has.
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

# The environment that has a variable, unless every process has it.
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

walk_variable <- function(name, environment, place, state) {
  place <- use_variable(place, name)
  # What was attached as data is found by name in the other process, too.
  if (identical(environment, globalenv()) || is_attached(environment)) {
    state$globals <- union(state$globals, name)
  } else {
    note_frame(environment, state, name)
  }
  value <- variable_of(environment, name, place)
  if (!rlang::is_missing(value)) {
    note_size(value, name, state)
    walk_value(value, place, state)
  }
}

is_attached <- function(environment) {
  any(vapply(search()[-1], function(name) identical(as.environment(name), environment), NA))
}

# An environment that is a value, or whose variables cannot be told from the code: all of it.
walk_environment <- function(environment, place, state) {
  if (is_in_every_process(environment)) {
    return(invisible())
  }
  for (frame in frames_of(environment)) {
    note_frame(frame, state)
  }
  for (name in setdiff(ls(environment, all.names = TRUE, sorted = FALSE), "...")) {
    if (bindingIsActive(name, environment)) {
      next
    }
    note_frame(environment, state, name)
    inside <- step_into(place, name)
    value <- variable_of(environment, name, inside)
    if (!rlang::is_missing(value)) {
      walk_value(value, inside, state)
    }
  }
}

# Objects that are environments keep their class: they are saved as R saves them.
note_frame <- function(environment, state, variable = NULL) {
  if (is.object(environment)) {
    return(invisible())
  }
  address <- rlang::obj_address(environment)
  frame <- state$frames[[address]] %||% list(environment = environment, variables = character())
  frame$variables <- union(frame$variables, variable)
  state$frames[[address]] <- frame
}

note_dots <- function(environment, place, state) {
  frame <- find_variable("...", environment)
  if (!is.null(frame)) {
    note_frame(frame, state, "...")
    for (value in dots_of(frame)) {
      walk_value(value, use_variable(place, "..."), state)
    }
  }
}

note_size <- function(value, name, state) {
  if (!is.function(value) && as.double(utils::object.size(value)) > 100e6) {
    state$large <- union(state$large, name)
  }
}

dots_of <- function(environment) {
  eval(quote(list(...)), environment)
}

# The value of a variable, a promise's included; the empty symbol for an argument that was not given.
variable_of <- function(environment, name, place) {
  tryCatch(
    get(name, envir = environment, inherits = FALSE),
    error = function(error) {
      if (was_not_given(environment, name)) {
        return(quote(expr = ))
      }
      abort_tfdistribute(
        "argument",
        problem = "{show_place(place)}, whose value cannot be found: {conditionMessage(error)}",
        remedy = "Compute it before the model is described.",
        argument = place$root,
        parent = error
      )
    }
  )
}

was_not_given <- function(environment, name) {
  tryCatch(
    isTRUE(eval(call("missing", as.name(name)), environment)),
    error = function(error) FALSE
  )
}

# What cannot be serialised ------------------------------------------------------------------------------

check_serialisable <- function(value, place) {
  what <- if (is_python_object(value)) {
    if (is.null(python_module_name(value))) {
      paste0("a Python object (", sub("^.*[.]", "", class(value)[[1]]), ")")
    }
  } else if (inherits(value, "connection")) {
    "a connection"
  } else if (typeof(value) == "externalptr") {
    "an external pointer"
  } else if (typeof(value) == "weakref") {
    "a weak reference"
  }
  if (!is.null(what)) {
    abort_not_serialisable(what, place)
  }
}

abort_not_serialisable <- function(what, place) {
  abort_tfdistribute(
    "argument",
    problem = c(
      "{show_place(place)}{if (is.null(place$used)) ' is' else ', which is'} {what}: ",
      "it cannot be sent to the processes of a cluster."
    ),
    remedy = if (is.null(place$used)) {
      "Give it as a description of this package, or as a function of R that makes it."
    } else {
      "Make it inside `{place$root}`, so that every process has its own."
    },
    argument = place$root,
    value = place$used
  )
}

# "`model_fn` uses `con`", or "`hooks[[1]]`"
show_place <- function(place) {
  if (is.null(place$used)) {
    return(paste0("`", place$root, "`"))
  }
  paste0(
    "`",
    place$root,
    "` uses `",
    place$used,
    "`",
    if (!is.null(place$through)) paste0(" (in `", place$through, "`)")
  )
}

use_variable <- function(place, name) {
  list(root = place$root, used = name, through = place$used)
}

step_into <- function(place, name) {
  last <- if (is.null(place$used)) "root" else "used"
  place[[last]] <- paste0(
    place[[last]],
    if (!startsWith(name, "[") && !startsWith(name, "@")) "$",
    name
  )
  place
}

element_name <- function(value, index) {
  name <- names(value)[index]
  if (is.null(name) || is.na(name) || !nzchar(name)) paste0("[[", index, "]]") else name
}
