# R vectors as typed columns.

input_column <- function(data, name) {
  if (is.matrix(data)) data[, name] else data[[name]]
}

# Describe a column, which has one element, row or slice per example, by `name`, `type` (as in columns.py), `shape` of
# one example, and `levels` or NULL. `factors` is "labels", "codes", or NULL if the model decides.
describe_column <- function(values, name, factors, is_response) {
  if (is.list(values) && !is.object(values)) {
    values <- stack_rows(values, name)
  }
  type <- column_type(values, factors)
  if (is.null(type)) {
    abort_no_type(values, name)
  }
  if (type == "float") {
    check_magnitude(values, name, is_response)
  } else if (type == "string") {
    check_column_text(values, name)
  }
  list(
    name = enc2utf8(name),
    type = type,
    shape = as.integer(dim(values)[-1]),
    levels = if (type == "string" && is.factor(values)) {
      # A response has no missing values, which the level NA would stand for.
      enc2utf8(
        if (is_response) c(stats::na.omit(levels(values))) else levels(with_named_levels(values))
      )
    },
    as_labels = identical(factors, "labels")
  )
}

# The type, or NULL if TensorFlow has none. Classes are checked before storage, because integer64 is stored as double.
# Numbers of an S4 object may be only a part of it, such as the seconds of lubridate's periods.
column_type <- function(values, factors) {
  if (inherits(values, c("difftime", "POSIXlt")) || isS4(values) || is_python_object(values)) {
    return(NULL)
  }
  classes <- c(integer64 = "integer64", Date = "date", POSIXct = "datetime")
  known <- intersect(class(values), names(classes))
  if (length(known) > 0) {
    return(classes[[known[[1]]]])
  }
  if (is.factor(values)) {
    return(if (identical(factors, "codes")) "integer" else "string")
  }
  types <- c(double = "float", integer = "integer", logical = "logical", character = "string")
  type <- typeof(values)
  if (type %in% names(types)) types[[type]]
}

# No values of a type of columns. integer64 has no form of its own in requests.
empty_column <- function(type) {
  switch(
    type,
    string = character(),
    integer = integer(),
    logical = logical(),
    date = as.Date(character()),
    datetime = as.POSIXct(character(), tz = "UTC"),
    double()
  )
}

# A NumPy array as an R array, and anything else unchanged.
as_r_array <- function(x) {
  if (inherits(x, "numpy.ndarray")) array_of_python(x) else x
}

# A list of numeric or character vectors of equal length is a matrix, and nested lists of equal lengths are an array.
stack_rows <- function(values, name) {
  sizes <- length(values)
  rows <- values
  while (any(vapply(rows, is.list, NA))) {
    sizes <- c(sizes, common_length(rows, name))
    rows <- unlist(lapply(rows, as.list), recursive = FALSE)
  }
  is_of <- function(is_kind) all(vapply(rows, function(row) is_kind(row) && !is.object(row), NA))
  if (!is_of(is.numeric) && !is_of(is.character)) {
    abort_no_type(values, name)
  }
  width <- common_length(rows, name)
  # A list of single numbers is a vector.
  sizes <- c(sizes, if (width > 1 || length(sizes) == 1) width)
  aperm(array(unlist(rows), rev(sizes)))
}

common_length <- function(rows, name) {
  lengths <- lengths(rows)
  other <- which(lengths != lengths[[1]])
  if (length(other) > 0) {
    abort_tfdistribute(
      "input",
      problem = c(
        "The column `{name}` is a list of vectors of different lengths: ",
        "{lengths[[1]]} in row 1, {lengths[[other[[1]]]]} in row {other[[1]]}."
      ),
      remedy = "Give all rows the same length, for example by padding them with 0 or \"\".",
      argument = name
    )
  }
  lengths[[1]]
}

abort_no_type <- function(values, name) {
  kind <- sub("^an object ", "", show_kind(values))
  abort_tfdistribute(
    "input",
    problem = "The column `{name}` is {kind}, for which TensorFlow has no type.",
    remedy = if (isS4(values)) {
      "Turn it into numbers first: as.numeric({name})."
    } else if (inherits(values, "difftime")) {
      "Choose a unit first: as.numeric({name}, units = \"secs\")."
    } else if (inherits(values, "POSIXlt")) {
      "Use as.POSIXct({name}) instead."
    } else if (is.complex(values)) {
      "Use columns of Re({name}) and Im({name}) instead."
    } else if (is.raw(values)) {
      "Use as.integer({name}) instead."
    } else if (is.data.frame(values)) {
      "Use its columns, or as.matrix() of it."
    } else {
      "Turn it into numbers, strings or a factor, or leave it out."
    },
    argument = name,
    value = kind
  )
}

# The class of values that a column may have, which show_value() would list.
show_kind <- function(value) {
  is_vector <- is.atomic(value) && !is.null(value)
  if (is_vector) paste("an object of class", class(value)[[1]]) else show_value(value)
}

# float32 ends at 3.4e38, and an infinite response results in an infinite loss. Infinite features are allowed, because
# bucketized columns can use them.
check_magnitude <- function(values, name, is_response) {
  # Not range(), which copies the column twice. If all values are NaN, Inf and -Inf remain.
  values <- unclass(values)
  range <- suppressWarnings(c(min(values, na.rm = TRUE), max(values, na.rm = TRUE)))
  problem <- if (is_response && any(is.infinite(range)) && !all(is.na(values))) {
    "has infinite values, from which nothing can be learnt"
  } else if (any(is.finite(range) & abs(range) > 3.4028234e38)) {
    "has values beyond 3.4e38, the largest 32-bit number"
  }
  if (!is.null(problem)) {
    abort_tfdistribute(
      "input",
      problem = "The {if (is_response) 'response' else 'column'} `{name}` {problem}.",
      remedy = "Rescale the column or remove these rows.",
      argument = name
    )
  }
}

# `may_be_empty` is for data without rows, which only predict() takes, as predict.lm() does.
check_rows <- function(data, may_be_empty = FALSE) {
  rows <- if (is.matrix(data)) {
    nrow(data)
  } else {
    vapply(data, function(values) as.double(NROW(values)), numeric(1))
  }
  different <- which(rows != rows[[1]])
  if (length(different) > 0) {
    odd <- different[[1]]
    abort_tfdistribute(
      "input",
      problem = c(
        "The columns have different numbers of rows: ",
        "`{names(data)[[1]]}` {rows[[1]]}, `{names(data)[[odd]]}` {rows[[odd]]}."
      ),
      remedy = "Give every column one element per example.",
      argument = names(data)[[odd]]
    )
  }
  # A list of no vectors has no width.
  if (rows[[1]] == 0 && !(may_be_empty && !any(vapply(data, is.list, NA)))) {
    abort_tfdistribute(
      "input",
      problem = "The data has no rows.",
      remedy = "Give data with at least one row.",
      argument = "object"
    )
  }
  rows[[1]]
}
