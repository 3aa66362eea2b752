# Descriptions as trees of plain values, which JSON can store without loss, with separate files and R values that are
# not plain, such as functions.

# The classes that a model may consist of. Methods of other classes could read files or call functions.
model_classes <- paste0(
  "^tf_estimator$|^tfdistribute_([a-z0-9_]+_)?",
  "(estimator|feature_columns?|initializer|optimizer|warm_start|run_config|strategy|cluster|tracker)$"
)

plain_types <- c("logical", "integer", "double", "character", "list")

# The tree of a description as `description`, with `files`, paths by their names in a model directory, and `code`, a
# list of the values that are not plain.
encode_description <- function(description) {
  kept <- rlang::new_environment(list(files = character(), code = list()))
  tree <- encode_value(description, kept)
  list(description = tree, files = kept$files, code = kept$code)
}

# A node: a list of `type`, `values` (texts, or the nodes of a list) and `attributes` (nodes by name).
encode_value <- function(value, kept) {
  if (is.null(value)) {
    return(list(type = "NULL"))
  }
  if (!is_plain(value)) {
    kept$code <- c(kept$code, list(value))
    return(list(type = "code", index = length(kept$code)))
  }
  list(
    type = typeof(value),
    values = if (is.list(value)) encode_elements(value, kept) else as.list(encode_atomic(value)),
    attributes = lapply(attributes(value), encode_value, kept)
  )
}

encode_elements <- function(value, kept) {
  elements <- unclass_list(value)
  nodes <- lapply(unname(elements), encode_value, kept)
  for (field in intersect(file_fields(value), names(elements))) {
    if (is.character(elements[[field]])) {
      name <- add_file(elements[[field]], elements$kind, kept)
      nodes[[match(field, names(elements))]] <- list(type = "file", name = name)
    }
  }
  nodes
}

# The fields of a description that are paths of files, see Fact.FILE in Python.
file_fields <- function(value) {
  kind <- unclass_list(value)$kind
  family <- Find(function(name) inherits(value, paste0("tfdistribute_", name)), names(schema))
  if (!is.null(family) && rlang::is_string(kind)) {
    names(Filter(function(field) isTRUE(field$file), schema[[family]][[kind]]))
  }
}

# Unique names, because two vocabulary files may have the same name, or a name with letters that archives do not allow.
add_file <- function(path, kind, kept) {
  ending <- regmatches(basename(path), regexpr("[.][A-Za-z0-9]+$", basename(path)))
  folder <- if (kind == "keras") "keras/model" else "vocabularies/"
  name <- paste0(folder, if (kind != "keras") length(kept$files) + 1, ending)
  kept$files[name] <- path
  name
}

# Numbers with 15 digits or, if these are not enough, in hexadecimal. Both are restored to the bit.
encode_atomic <- function(value) {
  value <- as.vector(value)
  if (!is.double(value)) {
    return(enc2utf8(as.character(value)))
  }
  text <- sprintf("%.15g", value)
  rounded <- is.finite(value)
  rounded[rounded] <- as.double(text[rounded]) != value[rounded]
  ifelse(rounded, sprintf("%a", value), text)
}

# If two values have one name, R reads the first and Python the last.
is_plain <- function(value) {
  classes <- attr(value, "class", exact = TRUE)
  typeof(value) %in%
    plain_types &&
    !is_python_object(value) &&
    all(grepl(model_classes, classes)) &&
    !(is.character(value) && anyNA(value)) &&
    !(is.list(value) && anyDuplicated(Filter(nzchar, names(value))) > 0)
}

# The value of a node. `given` contains the `directory` and the `files` that nodes name, and the values that are `code`.
decode_value <- function(node, given) {
  type <- node$type
  stopifnot("it has a value without a type." = rlang::is_string(type))
  if (type == "code") {
    stopifnot("it has no functions." = is.list(given$code))
    return(given$code[[node$index]])
  }
  if (type == "file") {
    folders <- dirname(given$files)
    stopifnot("it names a file that it does not have." = node$name %in% c(given$files, folders))
    return(file.path(given$directory, node$name))
  }
  if (type == "NULL") {
    return(NULL)
  }
  stopifnot("it has a value of an unknown type." = type %in% plain_types)
  value <- if (type == "list") {
    lapply(unname(as.list(node$values)), decode_value, given)
  } else {
    decode_atomic(as.character(unlist(node$values)), type)
  }
  attributes(value) <- lapply(node$attributes, decode_value, given)
  stopifnot("it has a value of an unknown class." = is_plain(value))
  value
}

# as.double() warns of the text "NA".
decode_atomic <- function(text, type) {
  if (type != "character") {
    text[text == "NA"] <- NA
  }
  as.vector(text, mode = type)
}

# R values that are not plain ------------------------------------------------------------------------------

# `code` is a part of `description`, whose fields errors name.
write_code <- function(code, description, path) {
  captures <- find_captures(unclass_list(description), purpose = "saved in a file")
  write_captured(list(code = code), captures, path)
}

# The values, in a separate environment for the global variables that they use, so that the session's variables do not
# change.
read_code <- function(path) {
  globals <- new.env(parent = globalenv())
  written <- read_captured(path, globals)
  list2env(lapply(written$globals, rehome, globals), envir = globals)
  lapply(written$code, rehome, globals)
}
