# The file that says what the tasks of a job do: written here, checked and read by each task.

# Write what tasks do: the verb and its arguments, including the estimator as `object`. Returns the path of the file.
write_task <- function(directory, verb, arguments) {
  captures <- find_captures(named_by_users(arguments))
  for (name in captures$large) {
    cli::cli_inform(c(
      i = paste0(
        "{.code {name}} is larger than 100 MB, and every process gets a copy of it. ",
        "Data that is given to {.fn input_fn} is shared."
      )
    ))
  }
  task <- list(
    verb = verb,
    arguments = arguments,
    globals = lapply(rlang::set_names(captures$globals), get, envir = globalenv()),
    frames = lapply(captures$frames, function(frame) {
      list(parent = parent.env(frame$environment), variables = frame_values(frame))
    }),
    packages = attached_packages(),
    options = shared_options(),
    seed = seed_of_session()
  )
  path <- task_file(directory)
  saveRDS(task, path, compress = FALSE, refhook = placeholder_of(captures$frames))
  path
}

task_file <- function(directory) {
  file.path(directory, "task.rds")
}

# The fields of descriptions by the names of the arguments that users gave.
named_by_users <- function(arguments) {
  object <- unclass_list(arguments$object)
  c(object, arguments[setdiff(names(arguments), "object")])
}

frame_values <- function(frame) {
  names <- frame$variables
  values <- lapply(rlang::set_names(setdiff(names, "...")), function(name) {
    variable_of(frame$environment, name, list(root = name))
  })
  list(values = values, dots = if ("..." %in% names) dots_of(frame$environment))
}

# Environments of functions, and modules of Python, are written as placeholders.
placeholder_of <- function(frames) {
  addresses <- names(frames)
  function(x) {
    module <- if (is_python_object(x)) python_module_name(x)
    if (!is.null(module)) {
      return(paste0("module:", module))
    }
    index <- if (is.environment(x)) match(rlang::obj_address(x), addresses)
    if (!is.null(index) && !is.na(index)) paste0("frame:", index)
  }
}

attached_packages <- function() {
  attached <- sub("^package:", "", grep("^package:", search(), value = TRUE))
  rev(setdiff(attached, "base"))
}

shared_options <- function() {
  names <- c("OutDec", "contrasts", "digits", "encoding", "stringsAsFactors", "warn")
  own <- grep("^tfdistribute[.]", names(options()), value = TRUE)
  options()[intersect(c(names, own), names(options()))]
}

# All tasks begin with the same random numbers, so that batches which R draws are the same batches everywhere.
seed_of_session <- function() {
  if (!exists(".Random.seed", envir = globalenv(), inherits = FALSE)) {
    stats::runif(1)
  }
  get(".Random.seed", envir = globalenv(), inherits = FALSE)
}

# Read a task's `verb` and `arguments` from the file, after Python has checked its digest. Attaches packages, and sets
# options, variables of the global environment and the state of the random number generator.
read_task <- function(directory, digest) {
  path <- task_file(directory)
  call_backend("check_digest", path = path, digest = digest)
  frames <- new.env(parent = emptyenv())
  task <- readRDS(path, refhook = value_of_placeholder(frames))
  for (package in task$packages) {
    suppressPackageStartupMessages(
      library(package, character.only = TRUE, warn.conflicts = FALSE, quietly = TRUE)
    )
  }
  options(task$options)
  restore_frames(task$frames, frames)
  global <- globalenv()
  list2env(task$globals, envir = global)
  assign(".Random.seed", task$seed, envir = global)
  task[c("verb", "arguments")]
}

value_of_placeholder <- function(frames) {
  function(placeholder) {
    if (startsWith(placeholder, "module:")) {
      return(python_module(sub("^module:", "", placeholder)))
    }
    if (is.null(frames[[placeholder]])) {
      assign(placeholder, new.env(), envir = frames)
    }
    frames[[placeholder]]
  }
}

restore_frames <- function(written, frames) {
  value_of <- value_of_placeholder(frames)
  for (index in seq_along(written)) {
    frame <- value_of(paste0("frame:", index))
    parent.env(frame) <- written[[index]]$parent
    variables <- written[[index]]$variables
    list2env(variables$values, envir = frame)
    if (!is.null(variables$dots)) {
      with_dots <- do.call(function(...) environment(), variables$dots, quote = TRUE)
      assign("...", get("...", envir = with_dots), envir = frame)
    }
  }
}
