# R vectors as typed columns: what each kind becomes, what is refused, and how its values reach Python.

input_column <- function(data, name) {
  if (is.matrix(data)) data[, name] else data[[name]]
}

#' Describe one column
#'
#' @param values Vector, factor, array or list of vectors; one element, row or slice per example.
#' @param name Its name.
#' @param factors Whether factors become `"labels"` or `"codes"`.
#' @param is_response Whether it is what is learnt.
#' @return List of `name`, `type` (as in `columns.py`), `shape` of one example, and `levels` or NULL.
#' @noRd
describe_column <- function(values, name, factors, is_response) {
  if (is.list(values) && !is.object(values)) {
    values <- stack_rows(values, name)
  }
  type <- column_type(values, factors)
  if (is.null(type)) {
    abort_kind(values, name)
  }
  if (type == "float") {
    check_magnitude(values, name, is_response)
  }
  list(
    name = enc2utf8(name),
    type = type,
    shape = as.integer(dim(values)[-1]),
    levels = if (type == "string" && is.factor(values)) enc2utf8(levels(values)[!is.na(levels(values))])
  )
}

# The type, or NULL where there is no right answer. Classes come before storage: integer64 are stored as doubles.
column_type <- function(values, factors) {
  if (inherits(values, c("difftime", "POSIXlt")) || is_python_object(values)) {
    return(NULL)
  }
  classes <- c(integer64 = "integer64", Date = "date", POSIXct = "datetime")
  known <- intersect(class(values), names(classes))
  if (length(known) > 0) {
    return(classes[[known[[1]]]])
  }
  if (is.factor(values)) {
    return(if (factors == "labels") "string" else "integer")
  }
  types <- c(double = "float", integer = "integer", logical = "logical", character = "string")
  type <- typeof(values)
  if (type %in% names(types)) types[[type]]
}

# A list of numeric vectors of one length is a matrix in other words.
stack_rows <- function(values, name) {
  lengths <- lengths(values)
  numeric <- vapply(values, function(value) is.numeric(value) && !is.object(value), logical(1))
  if (!all(numeric)) {
    abort_kind(values, name)
  }
  if (length(unique(lengths)) > 1) {
    odd <- which(lengths != lengths[[1]])[[1]]
    abort_tfdistribute(
      "input",
      problem = paste0(
        "The column `", name, "` is a list of vectors of different lengths: ", lengths[[1]], " in row 1, ",
        lengths[[odd]], " in row ", odd, "."
      ),
      remedy = "Give all rows the same length, for example by padding them.",
      argument = name
    )
  }
  matrix(unlist(values), nrow = length(values), byrow = TRUE)
}

abort_kind <- function(values, name) {
  remedy <- if (inherits(values, "difftime")) {
    paste0("Choose a unit first: as.numeric(", name, ", units = \"secs\").")
  } else if (inherits(values, "POSIXlt")) {
    paste0("Use as.POSIXct(", name, ") instead.")
  } else if (is.complex(values)) {
    paste0("Use columns of Re(", name, ") and Im(", name, ") instead.")
  } else if (is.raw(values)) {
    paste0("Use as.integer(", name, ") instead.")
  } else if (is.data.frame(values)) {
    "Use its columns, or as.matrix() of it."
  } else {
    "Turn it into numbers, strings or a factor, or leave it out."
  }
  abort_tfdistribute(
    "input",
    problem = paste0("The column `", name, "` is ", show_kind(values), ", for which TensorFlow has no type."),
    remedy = remedy,
    argument = name,
    value = show_kind(values)
  )
}

# A value in an error text that is about its kind.
show_kind <- function(value) {
  if (is.null(value)) {
    return("NULL")
  }
  if (is.function(value)) {
    return("a function")
  }
  if (is.list(value) && !is.object(value)) {
    return("a list")
  }
  paste("of class", class(value)[[1]])
}

# float32 ends at 3.4e38, and an infinite response has an infinite loss. Infinite features are left to the model:
# bucketized columns take them.
check_magnitude <- function(values, name, is_response) {
  # Not range(), which copies the column twice; NaN alone leaves Inf and -Inf.
  range <- suppressWarnings(c(min(values, na.rm = TRUE), max(values, na.rm = TRUE)))
  problem <- if (is_response && any(is.infinite(range)) && !all(is.na(values))) {
    "has infinite values, from which nothing can be learnt"
  } else if (any(is.finite(range) & abs(range) > 3.4028234e38)) {
    "has values beyond 3.4e38, the largest 32-bit number"
  }
  if (!is.null(problem)) {
    abort_tfdistribute(
      "input",
      problem = paste0(if (is_response) "The response `" else "The column `", name, "` ", problem, "."),
      remedy = "Rescale the column or remove these rows.",
      argument = name
    )
  }
}

check_rows <- function(data) {
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
      problem = paste0(
        "The columns have different numbers of rows: `", names(data)[[1]], "` ", rows[[1]], ", `",
        names(data)[[odd]], "` ", rows[[odd]], "."
      ),
      remedy = "Give every column one element per example.",
      argument = names(data)[[odd]]
    )
  }
  if (rows[[1]] == 0) {
    abort_tfdistribute(
      "input",
      problem = "The data has no rows.",
      remedy = "Give data with at least one row.",
      argument = "object"
    )
  }
  rows[[1]]
}

# Missing values ---------------------------------------------------------------------------------

# Which elements are missing, as a logical vector; NaN is, and a factor's level NA.
missing_in <- function(values) {
  if (inherits(values, "integer64")) {
    # bit64's NA has the bits of the double -0; as a double it is 0 and its inverse negative.
    bits <- as.vector(unclass(values))
    return(bits == 0 & 1 / bits < 0)
  }
  if (is.list(values) && !is.object(values)) {
    return(is.na(unlist(values)))
  }
  if (is.factor(values)) {
    return(is.na(as.vector(values)))
  }
  is.na(values)
}

# anyNA() needs no memory; only integer64 and factors have missing values that it does not see.
has_missing <- function(values) {
  if (inherits(values, "integer64") || (is.factor(values) && anyNA(levels(values)))) {
    return(any(missing_in(values)))
  }
  anyNA(values, recursive = is.list(values))
}

check_missing <- function(data, columns, response, impute) {
  unfilled <- Filter(
    function(name) has_missing(input_column(data, name)),
    setdiff(names(columns), names(impute))
  )
  if (length(unfilled) == 0) {
    return(invisible())
  }
  counts <- vapply(unfilled, function(name) sum(missing_in(input_column(data, name))), numeric(1))
  listed <- paste0("`", unfilled, "` ", counts, collapse = ", ")
  in_response <- response %in% unfilled
  abort_tfdistribute(
    "input",
    problem = paste0(if (any(in_response)) "Missing values, also in the response: " else "Missing values: ", listed, "."),
    remedy = if (any(in_response)) {
      paste0("Remove these rows, for example those where is.na(", response, ").")
    } else {
      paste0(
        "Remove these rows, or say what to take instead: impute = list(`", unfilled[[1]], "` = ",
        impute_example(columns[[unfilled[[1]]]]), ")."
      )
    },
    argument = unfilled[[1]],
    value = listed
  )
}

impute_example <- function(column) {
  switch(
    column$type,
    string = "\"unknown\"",
    logical = "FALSE",
    date = "as.Date(\"1970-01-01\")",
    datetime = "as.POSIXct(0, origin = \"1970-01-01\")",
    "0"
  )
}

# One value per feature that has missing values, as the column stores it.
check_impute <- function(impute, data, columns, response) {
  features <- setdiff(names(columns), response)
  if (is.null(impute)) {
    return(list())
  }
  if (is.null(names(impute)) && length(impute) == 1) {
    value <- if (is.list(impute)) impute[[1]] else impute
    fits <- Filter(function(name) !is.null(filling(value, columns[[name]], input_column(data, name))), features)
    return(used_fillings(lapply(rlang::set_names(fits), function(name) value), data, columns))
  }
  named <- !is.null(names(impute)) && all(nzchar(names(impute))) && !anyDuplicated(names(impute))
  if (!named) {
    abort_argument("impute", impute, "one value, a named list or NULL")
  }
  unknown <- setdiff(names(impute), features)
  if (length(unknown) > 0) {
    abort_tfdistribute(
      "input",
      problem = paste0(
        "`impute` names `", unknown[[1]], "`, which is ",
        if (unknown[[1]] %in% response) "the response." else "no feature."
      ),
      remedy = paste0("Name only features: ", backquoted(utils::head(features, 10)), "."),
      argument = "impute",
      value = unknown[[1]]
    )
  }
  for (name in names(impute)) {
    check_filling(impute[[name]], columns[[name]], input_column(data, name))
  }
  used_fillings(as.list(impute), data, columns)
}

used_fillings <- function(impute, data, columns) {
  used <- Filter(function(name) has_missing(input_column(data, name)), names(impute))
  lapply(rlang::set_names(used), function(name) filling(impute[[name]], columns[[name]], input_column(data, name)))
}

check_filling <- function(value, column, values) {
  if (is.null(filling(value, column, values))) {
    expected <- if (is.factor(values)) {
      paste0("one of its levels (", paste(utils::head(levels(values), 5), collapse = ", "), ")")
    } else {
      paste0("one value like ", impute_example(column))
    }
    abort_argument(paste0("impute$", column$name), value, expected)
  }
}

# The value as the column stores it, or NULL where it does not fit.
filling <- function(value, column, values) {
  if (length(value) != 1 || !is.atomic(value) || anyNA(value)) {
    return(NULL)
  }
  if (is.factor(values)) {
    return(if (as.character(value) %in% levels(values)) as.character(value))
  }
  plain_number <- is.numeric(value) && !is.object(value)
  fits <- switch(
    column$type,
    float = plain_number,
    integer = plain_number && is_whole(value),
    integer64 = inherits(value, "integer64") || (plain_number && is_whole(value)),
    logical = is.logical(value),
    string = is.character(value),
    date = inherits(value, "Date"),
    datetime = inherits(value, "POSIXct")
  )
  if (!fits) {
    return(NULL)
  }
  switch(column$type, integer = as.integer(value), string = enc2utf8(value), value)
}

# Values for Python ------------------------------------------------------------------------------

#' Make the function by which Python asks for one column's values
#'
#' Columns are handed over one at a time and copied at once, so that no two conversions are in memory together.
#'
#' @param data Where the column is.
#' @param column Its description.
#' @param filling What stands for missing values, or NULL.
#' @param tidy Function from `new_tidier()`, called with the bytes that a conversion leaves behind.
#' @return Function without arguments: an array of numbers, or `codes` and `labels` of strings.
#' @noRd
column_reader <- function(data, column, filling = NULL, tidy = new_tidier()) {
  force(data)
  force(column)
  force(filling)
  force(tidy)
  function() {
    values <- input_column(data, column$name)
    tidy(8 * length(values))
    if (is.list(values) && !is.object(values)) {
      values <- stack_rows(values, column$name)
    }
    if (!is.null(filling)) {
      values <- fill_missing(values, filling)
    }
    switch(
      column$type,
      string = coded_strings(values),
      integer = as_numpy(if (is.factor(values)) as.integer(values) - 1L else bare(values)),
      logical = as_numpy(bare(values) + 0L),
      as_numpy(bare(values))
    )
  }
}

#' Make the function that frees the memory of conversions
#'
#' A converted column is a copy that R frees only after Python's array is gone, and that array only when R has noticed
#' that nobody refers to it: two collections. Left to itself R waits until there is as much garbage as data.
#'
#' @param limit Bytes that may be left behind before R is asked to collect.
#' @noRd
new_tidier <- function(limit = 64 * 2^20) {
  state <- new.env(parent = emptyenv())
  state$bytes <- 0
  function(bytes) {
    state$bytes <- state$bytes + bytes
    if (state$bytes > limit) {
      gc()
      gc()
      state$bytes <- bytes
    }
  }
}

fill_missing <- function(values, filling) {
  if (is.factor(values)) {
    codes <- as.integer(values)
    codes[missing_in(values)] <- match(filling, levels(values))
    return(structure(codes, levels = levels(values), class = "factor"))
  }
  missing <- missing_in(values)
  if (inherits(values, "integer64")) {
    # The bits are kept as doubles: small integers are denormal ones, so the value is converted, not its bits.
    filling <- unclass(bit64::as.integer64(filling))
    values <- unclass(values)
    values[missing] <- filling
    return(structure(values, class = "integer64"))
  }
  values[missing] <- filling
  values
}

# Codes from 0 and the strings they stand for; a factor's levels that are NA are not handed on.
coded_strings <- function(values) {
  if (is.factor(values)) {
    labels <- levels(values)
    kept <- !is.na(labels)
    codes <- as.integer(values)
    if (!all(kept)) {
      codes <- cumsum(kept)[codes]
    }
    return(list(codes = as_numpy(codes - 1L), labels = as_numpy(enc2utf8(labels[kept]))))
  }
  values <- bare(values)
  labels <- unique(as.vector(values))
  codes <- match(values, labels) - 1L
  dim(codes) <- dim(values)
  list(codes = as_numpy(codes), labels = as_numpy(enc2utf8(labels)))
}

# The numbers or strings without classes, names and the like; only the dimensions stay.
bare <- function(values) {
  dimensions <- dim(values)
  attributes(values) <- NULL
  dim(values) <- dimensions
  values
}
