# Missing values: found, refused, or replaced by values of the user.

# TRUE for each missing element. NaN and a factor's level NA are missing.
missing_in <- function(values) {
  if (inherits(values, "integer64")) {
    # bit64's NA has the bits of the double -0, whose inverse is negative. Negative integers have those of NaN.
    bits <- as.vector(unclass(values))
    return(!is.nan(bits) & bits == 0 & 1 / bits < 0)
  }
  if (is.list(values) && !is.object(values)) {
    return(is.na(unlist(values)))
  }
  if (is.factor(values)) {
    return(is.na(as.vector(values)))
  }
  is.na(values)
}

# anyNA() needs no memory, but does not see missing values of integer64 and factors.
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
    problem = "Missing values{if (any(in_response)) ', also in the response'}: {listed}.",
    remedy = if (any(in_response)) {
      "Remove these rows, for example those where is.na({response})."
    } else {
      c(
        "Remove these rows, or give a value to take instead: ",
        "impute = list(`{unfilled[[1]]}` = {impute_example(columns[[unfilled[[1]]]])})."
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

# Fill values for the features that have missing values, as the columns store them.
check_impute <- function(impute, data, columns, response) {
  features <- setdiff(names(columns), response)
  if (is.null(impute)) {
    return(list())
  }
  if (is.null(names(impute)) && length(impute) == 1) {
    value <- if (is.list(impute)) impute[[1]] else impute
    fits <- Filter(
      function(name) !is.null(as_fill_value(value, columns[[name]], input_column(data, name))),
      features
    )
    return(needed_fill_values(lapply(rlang::set_names(fits), function(name) value), data, columns))
  }
  named <- !is.null(names(impute)) && all(nzchar(names(impute))) && !anyDuplicated(names(impute))
  if (!named) {
    abort_argument(impute, "one value, a named list or NULL")
  }
  unknown <- setdiff(names(impute), features)
  if (length(unknown) > 0) {
    abort_tfdistribute(
      "input",
      problem = c(
        "`impute` names `{unknown[[1]]}`, which is ",
        "{if (unknown[[1]] %in% response) 'the response' else 'not a feature'}."
      ),
      remedy = "Name only features: {backquoted(utils::head(features, 10))}.",
      argument = "impute",
      value = unknown[[1]]
    )
  }
  for (name in names(impute)) {
    check_fill_value(impute[[name]], columns[[name]], input_column(data, name))
  }
  needed_fill_values(as.list(impute), data, columns)
}

needed_fill_values <- function(impute, data, columns) {
  used <- Filter(function(name) has_missing(input_column(data, name)), names(impute))
  lapply(rlang::set_names(used), function(name) {
    as_fill_value(impute[[name]], columns[[name]], input_column(data, name))
  })
}

check_fill_value <- function(value, column, values) {
  if (is.null(as_fill_value(value, column, values))) {
    expected <- if (is.factor(values)) {
      paste0("one of its levels (", toString(utils::head(levels(values), 5)), ")")
    } else {
      paste0("one value like ", impute_example(column))
    }
    abort_argument(value, expected, argument = paste0("impute$", column$name))
  }
}

# The value as the column stores it, or NULL if it does not fit.
as_fill_value <- function(value, column, values) {
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

fill_missing <- function(values, fill_value) {
  if (is.factor(values)) {
    codes <- as.integer(values)
    codes[missing_in(values)] <- match(fill_value, levels(values))
    return(structure(codes, levels = levels(values), class = "factor"))
  }
  missing <- missing_in(values)
  if (inherits(values, "integer64")) {
    # integer64 keeps its bits in doubles, so the fill value must be converted by bit64.
    fill_value <- unclass(bit64::as.integer64(fill_value))
    values <- unclass(values)
    values[missing] <- fill_value
    return(structure(values, class = "integer64"))
  }
  values[missing] <- fill_value
  values
}
