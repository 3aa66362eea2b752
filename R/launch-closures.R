# Variables that functions need in another process.
#
# R saves a function with its environment and everything in it. Here the environments of functions ("frames") become
# placeholders in the file, and only variables that a function uses are saved, as values instead of promises. Variables
# of the global environment are saved in the same way.

# Find the objects that a named list of values needs in another process: `frames`, each a list of `environment` and
# `variables` (names), `globals`, names of variables of the global environment, `large`, names of objects larger than
# 100 MB, and `options`, the places where options are used, by their names. Raises an argument error for Python objects
# other than modules, external pointers, weak references and connections, which includes the `purpose`.
find_captures <- function(values, purpose = "sent to the processes of a cluster") {
  found <- list(frames = list(), globals = character(), large = character(), options = list())
  state <- rlang::new_environment(c(found, list(seen = list())))
  for (name in names(values)) {
    walk_value(values[[name]], list(root = name, purpose = purpose), state)
  }
  mget(names(found), envir = state)
}

# Attributes that are not walked. In objects of data.table and readr, they are pointers that other processes do not
# need.
# fmt: skip
skipped_attributes <- c(
  "names", "class", "dim", "dimnames", "row.names", "levels", "srcref", ".Environment",
  ".internal.selfref", "problems"
)

# `place` is the location of the value: `root`, an argument of the user's call, `used`, a variable of a function, and
# `through`, the variable that contains this function. `purpose` is for errors.
walk_value <- function(value, place, state) {
  check_serialisable(value, place)
  if (is_python_object(value) || is_seen(value, state)) {
    return(invisible())
  }
  if (is.function(value)) {
    add_options(value, place, state)
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

# Walk the variables that code uses. The code looks them up in the environment `home`.
walk_code <- function(names, home, place, state) {
  # R saves namespaces by name, so functions of packages find their variables. Functions of scripts use .GlobalEnv.
  if (is.null(home) || (is_in_every_process(home) && !identical(home, globalenv()))) {
    return(invisible())
  }
  for (frame in frames_of(home)) {
    add_frame(frame, state)
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
    add_dots(home, place, state)
  }
}

walk_variable <- function(name, environment, place, state) {
  place <- use_variable(place, name)
  # Attached data frames and lists become variables of the global environment.
  if (identical(environment, globalenv()) || is_attached(environment)) {
    state$globals <- union(state$globals, name)
  } else {
    add_frame(environment, state, name)
  }
  value <- variable_of(environment, name, place)
  if (!rlang::is_missing(value)) {
    add_large(value, name, state)
    walk_value(value, place, state)
  }
}

is_attached <- function(environment) {
  any(vapply(search()[-1], function(name) identical(as.environment(name), environment), NA))
}

# Walk all variables of an environment that is a value, or whose code reads variables by computed names.
walk_environment <- function(environment, place, state) {
  if (is_in_every_process(environment)) {
    return(invisible())
  }
  for (frame in frames_of(environment)) {
    add_frame(frame, state)
  }
  for (name in setdiff(ls(environment, all.names = TRUE, sorted = FALSE), "...")) {
    if (bindingIsActive(name, environment)) {
      next
    }
    add_frame(environment, state, name)
    inside <- step_into(place, name)
    value <- variable_of(environment, name, inside)
    if (!rlang::is_missing(value)) {
      walk_value(value, inside, state)
    }
  }
}

# Environments with a class are not frames, because R saves them whole, with their class.
add_frame <- function(environment, state, variable = NULL) {
  if (is.object(environment)) {
    return(invisible())
  }
  address <- rlang::obj_address(environment)
  frame <- state$frames[[address]] %||% list(environment = environment, variables = character())
  frame$variables <- union(frame$variables, variable)
  state$frames[[address]] <- frame
}

add_dots <- function(environment, place, state) {
  frame <- find_variable("...", environment)
  if (!is.null(frame)) {
    add_frame(frame, state, "...")
    for (value in dots_of(frame)) {
      walk_value(value, use_variable(place, "..."), state)
    }
  }
}

# Note the options that a function of the user reads by their names.
add_options <- function(callback, place, state) {
  home <- environment(callback) %||% baseenv()
  if (is_in_every_process(home) && !identical(home, globalenv())) {
    return(invisible())
  }
  calls <- c(calls_to("getOption", formals(callback)), calls_to("getOption", body(callback)))
  for (name in unlist(lapply(calls, function(call) Filter(is.character, as.list(call)[2])))) {
    state$options[[name]] <- state$options[[name]] %||% place
  }
}

add_large <- function(value, name, state) {
  if (!is.function(value) && as.double(utils::object.size(value)) > 100e6) {
    state$large <- union(state$large, name)
  }
}

# The value of a variable, after forcing its promise. The empty symbol for a missing argument.
variable_of <- function(environment, name, place) {
  tryCatch(
    get(name, envir = environment, inherits = FALSE),
    error = function(error) {
      if (is_missing_argument(environment, name)) {
        return(quote(expr = ))
      }
      abort_tfdistribute(
        "argument",
        problem = "{show_place(place)}, which cannot be evaluated: {conditionMessage(error)}",
        remedy = "Evaluate it before you create the model.",
        argument = place$root,
        parent = error
      )
    }
  )
}

is_missing_argument <- function(environment, name) {
  tryCatch(
    isTRUE(eval(call("missing", as.name(name)), environment)),
    error = function(error) FALSE
  )
}

# Values that cannot be serialized ------------------------------------------------------------------------

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
      "{show_place(place)}{if (is.null(place$used)) ' is' else ', which is'} {what} ",
      "and cannot be {place$purpose}."
    ),
    remedy = if (is.null(place$used)) {
      "Pass a description from this package, or an R function that creates it."
    } else {
      "Create it inside `{place$root}`, so that every process has its own."
    },
    argument = place$root,
    value = place$used
  )
}

# "`hooks[[1]]`", "`model_fn` uses `con`", or "`model_fn` uses `con` (in `helper`)"
show_place <- function(place) {
  interpolate(c(
    "`{place$root}`",
    if (!is.null(place$used)) " uses `{place$used}`",
    if (!is.null(place$through)) " (in `{place$through}`)"
  ))
}

use_variable <- function(place, name) {
  list(root = place$root, used = name, through = place$used, purpose = place$purpose)
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
