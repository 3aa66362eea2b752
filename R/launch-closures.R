# What functions take along to another process: the variables that they use, and nothing else.
#
# A function is saved with its environment, and that with everything in it. So the environments of functions ("frames")
# are replaced by marks in the file, and the variables that some function uses are saved beside them, as values: no
# promise, and no large object that merely stands beside. Variables of the global environment travel likewise.

# Find what a named list of values needs in another process: `frames`, each a list of `environment` and `variables`
# (names); `globals`, names of variables of the global environment; and `large`, names of objects larger than 100 MB.
# Raises an argument error for what cannot be sent: Python objects other than modules, external pointers, connections.
find_luggage <- function(values) {
  trip <- new.env(parent = emptyenv())
  trip$frames <- list()
  trip$globals <- character()
  trip$large <- character()
  trip$seen <- list()
  for (name in names(values)) {
    visit(values[[name]], list(root = name), trip)
  }
  list(frames = trip$frames, globals = trip$globals, large = trip$large)
}

# Attributes that are not looked at: what is lost of them is not missed.
harmless_attributes <- c(
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
visit <- function(value, place, trip) {
  check_travels(value, place)
  if (is_python_object(value) || is_seen(value, trip)) {
    return(invisible())
  }
  if (is.function(value)) {
    visit_code(names_used_by(value), environment(value), place, trip)
  } else if (inherits(value, "formula")) {
    visit_code(all.vars(value), environment(value), place, trip)
  } else if (is.environment(value)) {
    visit_environment(value, place, trip)
  } else if (is.list(value)) {
    for (index in seq_along(value)) {
      visit(.subset2(value, index), step_into(place, element_name(value, index)), trip)
    }
  }
  for (name in setdiff(names(attributes(value)), harmless_attributes)) {
    visit(attr(value, name, exact = TRUE), step_into(place, paste0("@", name)), trip)
  }
}

# Only what can hold something else, or be met again, is worth remembering.
is_seen <- function(value, trip) {
  if (!is.function(value) && !is.environment(value)) {
    return(FALSE)
  }
  address <- rlang::obj_address(value)
  seen <- !is.null(trip$seen[[address]])
  # The object is kept too, so that no other takes its address.
  trip$seen[[address]] <- list(value)
  seen
}

# The variables that code uses, in the environments around it.
visit_code <- function(names, home, place, trip) {
  # Functions of packages find their variables where they are loaded; those of scripts are in .GlobalEnv.
  if (is.null(home) || (travels_by_name(home) && !identical(home, globalenv()))) {
    return(invisible())
  }
  for (frame in frames_of(home)) {
    note_frame(frame, trip)
    if (any(names %in% dynamic_functions)) {
      visit_environment(frame, place, trip)
    }
  }
  for (name in setdiff(names, "...")) {
    found <- find_variable(name, home)
    if (!is.null(found)) {
      visit_variable(name, found, place, trip)
    }
  }
  if ("..." %in% names) {
    note_dots(home, place, trip)
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
  while (!travels_by_name(environment)) {
    frames <- c(frames, list(environment))
    environment <- parent.env(environment)
  }
  frames
}

travels_by_name <- function(environment) {
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
      is_everywhere <- travels_by_name(environment) && !identical(environment, globalenv())
      return(if (!is_everywhere) environment)
    }
    if (isNamespace(environment)) {
      return(NULL)
    }
    environment <- parent.env(environment)
  }
  NULL
}

visit_variable <- function(name, environment, place, trip) {
  place <- use_variable(place, name)
  # What was attached as data is found by name in the other process, too.
  if (identical(environment, globalenv()) || is_attached(environment)) {
    trip$globals <- union(trip$globals, name)
  } else {
    note_frame(environment, trip, name)
  }
  value <- variable_of(environment, name, place)
  if (!rlang::is_missing(value)) {
    note_size(value, name, trip)
    visit(value, place, trip)
  }
}

is_attached <- function(environment) {
  any(vapply(search()[-1], function(name) identical(as.environment(name), environment), NA))
}

# An environment that is a value, or whose variables cannot be told from the code: all of it.
visit_environment <- function(environment, place, trip) {
  if (travels_by_name(environment)) {
    return(invisible())
  }
  for (frame in frames_of(environment)) {
    note_frame(frame, trip)
  }
  for (name in setdiff(ls(environment, all.names = TRUE, sorted = FALSE), "...")) {
    if (bindingIsActive(name, environment)) {
      next
    }
    note_frame(environment, trip, name)
    inside <- step_into(place, name)
    value <- variable_of(environment, name, inside)
    if (!rlang::is_missing(value)) {
      visit(value, inside, trip)
    }
  }
}

# Objects that are environments keep their class: they are saved as R saves them.
note_frame <- function(environment, trip, variable = NULL) {
  if (is.object(environment)) {
    return(invisible())
  }
  address <- rlang::obj_address(environment)
  frame <- trip$frames[[address]] %||% list(environment = environment, variables = character())
  frame$variables <- union(frame$variables, variable)
  trip$frames[[address]] <- frame
}

note_dots <- function(environment, place, trip) {
  frame <- find_variable("...", environment)
  if (!is.null(frame)) {
    note_frame(frame, trip, "...")
    for (value in dots_of(frame)) {
      visit(value, use_variable(place, "..."), trip)
    }
  }
}

note_size <- function(value, name, trip) {
  if (!is.function(value) && as.double(utils::object.size(value)) > 100e6) {
    trip$large <- union(trip$large, name)
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

# What cannot travel ------------------------------------------------------------------------------

check_travels <- function(value, place) {
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
    abort_stays(what, place)
  }
}

abort_stays <- function(what, place) {
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
