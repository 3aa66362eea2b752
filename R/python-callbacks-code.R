# The code of a function and the values that it uses, as plain values, so that the tasks of a cluster can compare their
# trainings. callbacks/code.py reads the result.

# Values that differ between processes, and values that cannot be compared (environments, pointers, Python objects), are
# omitted.
code_of_function <- function(callback) {
  comparable(callback, rlang::new_environment(list(seen = list())))
}

# Times of this process, and numbers of its open files.
of_one_process <- c("POSIXt", "difftime", "proc_time", "connection")

comparable <- function(value, state) {
  if (is_python_object(value) || inherits(value, of_one_process)) {
    NULL
  } else if (is.null(value)) {
    "NULL"
  } else if (is.function(value)) {
    if (!is_seen(value, state)) comparable_function(value, state)
  } else if (is.language(value)) {
    checksum_of(deparse(value, control = code_format))
  } else if (is.list(value)) {
    comparable_list(value, state)
  } else if (is.atomic(value)) {
    comparable_vector(value)
  }
}

# Without the places in files, and with unchanged numbers.
code_format <- c("keepNA", "keepInteger", "digits17")

comparable_function <- function(callback, state) {
  list(
    language = paste0("R ", R.version$major, ".", sub("[.].*", "", R.version$minor)),
    code = checksum_of(deparse(callback, control = code_format)),
    uses = used_values(callback, state)
  )
}

used_values <- function(callback, state) {
  home <- environment(callback)
  # Functions of packages find their variables in the packages.
  if (is.null(home) || (is_in_every_process(home) && !identical(home, globalenv()))) {
    return(list())
  }
  names <- names_used_by(callback)
  if (any(names %in% dynamic_functions)) {
    names <- c(names, unlist(lapply(frames_of(home), ls, all.names = TRUE)))
  }
  names <- setdiff(unique(names), c("...", names_counted_by(callback)))
  values <- lapply(rlang::set_names(names), function(name) {
    frame <- find_variable(name, home)
    if (!is.null(frame) && !bindingIsActive(name, frame)) {
      value <- get(name, envir = frame, inherits = FALSE)
      if (!rlang::is_missing(value)) comparable(value, state)
    }
  })
  Filter(Negate(is.null), values)
}

# Variables that a function sets for its next call, because tasks may have called it more or less often.
names_counted_by <- function(callback) {
  targets <- lapply(calls_to("<<-", body(callback)), function(call) call[[2]])
  as.character(Filter(is.symbol, targets))
}

comparable_list <- function(value, state) {
  value <- unclass_list(value)
  known <- lapply(value, comparable, state)
  is_known <- !vapply(known, is.null, NA)
  if (is.null(names(value))) known[is_known] else known[is_known & nzchar(names(value))]
}

# Short vectors are shown in an error. Other vectors are compared by a checksum.
comparable_vector <- function(value) {
  kept <- attributes(value)[c("names", "dim", "dimnames", "levels", "class")]
  attributes(value) <- Filter(Negate(is.null), kept)
  is_plain <- all(names(attributes(value)) == "names") && !anyNA(value)
  if (is_plain && length(value) <= 8 && is_text_or_numbers(value)) {
    as_wire(if (is.null(names(value))) value else as.list(value))
  } else {
    checksum_of(value, length(value))
  }
}

is_text_or_numbers <- function(value) {
  is.numeric(value) || is.logical(value) || (is.character(value) && all(validUTF8(value)))
}

checksum_of <- function(value, length = NULL) {
  paste0(
    if (!is.null(length)) paste0(length, " values, "),
    "checksum ",
    substr(rlang::hash(value), 1, 8)
  )
}
