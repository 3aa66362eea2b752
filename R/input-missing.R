# Missing values, which are found, rejected, or replaced by the user's values.

# NaN and a factor's level NA, which `impute` can replace, are missing.
missing_in <- function(values) {
  if (inherits(values, "integer64")) {
    # bit64's NA has the bits of the double -0, whose inverse is negative. Negative integers have the bits of NaN.
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

# anyNA() needs no memory, but does not detect missing values of integer64 and factors.
has_missing <- function(values) {
  if (inherits(values, "integer64") || (is.factor(values) && anyNA(levels(values)))) {
    return(any(missing_in(values)))
  }
  anyNA(values, recursive = is.list(values))
}

# `impute` is the user's argument, and `filled` contains the features whose missing values it replaces.
check_missing <- function(data, columns, response, impute, filled) {
  unfilled <- incomplete(data, setdiff(names(columns), filled), response)
  if (length(unfilled) == 0) {
    return(invisible())
  }
  in_response <- response %in% unfilled
  values <- c(impute_values(impute, filled), impute_examples(columns[unfilled], data))
  is_median <- values == "\"median\""
  if (length(filled) == 0 && all(is_median)) {
    values[[1]] <- "0"
    values <- values[1]
  }
  abort_missing(
    data,
    unfilled,
    also = if (any(in_response)) ", also in the response",
    remedy = if (any(in_response)) {
      "Remove these rows, for example those where is.na({response})."
    } else {
      labels <- Filter(function(name) is.factor(input_column(data, name)), unfilled)
      c(
        "Remove these rows, ",
        if (length(labels) > 0) {
          "make missing a label before feature_columns(), as in addNA(`{labels[[1]]}`), "
        },
        "or give a value to take instead: ",
        if (all(is_median)) "impute = \"median\", or ",
        "impute = list({toString(paste0('`', names(values), '` = ', values))})."
      )
    }
  )
}

# The `impute` of a model that reads missing values itself.
keep_missing <- structure(list(), class = "tfdistribute_keep_missing")

keeps_missing <- function(impute) {
  inherits(impute, "tfdistribute_keep_missing")
}

# The label of a missing label, which belongs to no category, as an empty string in TensorFlow. "NA" is a label, such as
# the code of Namibia.
missing_label <- ""

# A feature whose missing values are NaN or `missing_label`. TRUE and FALSE are labels, because they may also be
# missing.
with_missing <- function(values) {
  if (is.logical(values)) {
    values <- factor(values, c(FALSE, TRUE))
  }
  if (is.factor(values) && anyNA(values)) {
    addNA(values)
  } else if (is.character(values)) {
    replace(values, is.na(values), missing_label)
  } else {
    with_missing_number(values)
  }
}

with_missing_number <- function(values) {
  if (inherits(values, "integer64")) {
    return(bit64::as.double.integer64(values))
  }
  if ((is.integer(values) || is.logical(values)) && !is.factor(values)) {
    # Dates may be stored as integers, too.
    storage.mode(values) <- "double"
  }
  values
}

incomplete <- function(data, names, response = NULL) {
  lacks <- function(name) {
    values <- input_column(data, name)
    has_missing(if (name %in% response) values else with_named_levels(values))
  }
  Filter(lacks, names)
}

# A level NA, which addNA() makes, is a label.
with_named_levels <- function(values) {
  if (is.factor(values) && anyNA(levels(values))) {
    levels(values)[is.na(levels(values))] <- missing_label
  }
  values
}

# `remedy` is a template that is evaluated by the caller.
abort_missing <- function(data, unfilled, remedy, also = NULL, .envir = parent.frame()) {
  count <- function(name) sum(missing_in(input_column(data, name)))
  counts <- vapply(unfilled, count, numeric(1))
  listed <- paste0("`", unfilled, "` ", counts, collapse = ", ")
  remedy <- interpolate(remedy, .envir)
  abort_tfdistribute(
    "input",
    problem = "Missing values{also}: {listed}.",
    remedy = "{remedy}",
    argument = unfilled[[1]],
    value = listed
  )
}

# The values of the user's `impute` for features, as code.
impute_values <- function(impute, features) {
  values <- if (rlang::is_named(impute)) impute[features] else rep(list(impute), length(features))
  vapply(rlang::set_names(values, features), impute_value, "")
}

impute_value <- function(value) {
  value <- if (is.list(value)) value[[1]] else value
  if (is.function(value)) "\"median\"" else deparse1(value)
}

# Values that fit columns with missing values, as code. A model may know no other labels than the data has.
impute_examples <- function(columns, data) {
  vapply(
    columns,
    function(column) {
      values <- input_column(data, column$name)
      if ((is.factor(values) || column$type == "string") && !all(missing_in(values))) {
        deparse1(names(which.max(table(as.vector(values)))))
      } else if (column$type %in% c("float", "integer")) {
        "\"median\""
      } else {
        impute_example(column)
      }
    },
    ""
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

# `values` are the fill values for the features that have missing values, as the columns store them, and `columns` are
# the columns that contain them. The mean of whole numbers results in a column of numbers, and a new label of a factor
# adds a level. `computed` are the functions, or their names, of the features whose values are computed.
check_impute <- function(impute, data, columns, response) {
  features <- setdiff(names(columns), response)
  given <- impute_by_feature(impute, data, columns[features])
  check_imputed_names(names(given), features, response)
  values <- list()
  is_computed <- vapply(
    names(given),
    function(name) !is.null(summary_function(given[[name]], columns[[name]])),
    NA
  )
  for (name in names(given)) {
    column <- columns[[name]]
    stored <- input_column(data, name)
    # Functions are called only if there are missing values to replace, and others to compute with.
    if (is_computed[[name]] && (!has_missing(stored) || all(missing_in(stored)))) {
      next
    }
    computed <- computed_value(given[[name]], column, stored)
    value <- as_fill_value(computed, column, stored) %||%
      abort_fill_value(computed, column, stored)
    if (has_missing(stored)) {
      values[[name]] <- value
      columns[[name]] <- column_with(column, value, stored)
    }
  }
  list(values = values, columns = columns, computed = given[is_computed])
}

# The argument as a list by feature. A single value or function applies to every feature that it fits.
impute_by_feature <- function(impute, data, columns) {
  if (is.null(impute)) {
    return(list())
  }
  if (is.function(impute) || (is.null(names(impute)) && length(impute) == 1)) {
    value <- if (is.list(impute)) impute[[1]] else impute
    fits <- Filter(
      function(column) fits_column(value, column, input_column(data, column$name)),
      columns
    )
    if (length(fits) == 0) {
      abort_no_fit(impute, columns)
    }
    return(lapply(fits, function(column) value))
  }
  if (!has_own_names(impute)) {
    abort_argument(
      impute,
      "one value, \"mean\", \"median\", a function, a named list of these, or NULL"
    )
  }
  as.list(impute)
}

abort_no_fit <- function(impute, columns) {
  abort_tfdistribute(
    "argument",
    problem = "`impute` is {show_value(impute)}, which fits no feature.",
    remedy = c(
      "Functions, \"mean\" and \"median\" are for numbers and dates; for one feature give ",
      "impute = list(`{columns[[1]]$name}` = {impute_example(columns[[1]])})."
    ),
    value = show_value(impute)
  )
}

# Functions are for numbers, dates and times, unless features are named.
fits_column <- function(value, column, values) {
  if (is.function(value) || rlang::is_string(value, names(summary_functions))) {
    column$type %in% c("float", "integer", "integer64", "date", "datetime") && !is.factor(values)
  } else {
    !is.null(as_fill_value(value, column, values))
  }
}

check_imputed_names <- function(names, features, response) {
  unknown <- setdiff(names, features)
  if (length(unknown) > 0) {
    abort_tfdistribute(
      "input",
      problem = c(
        "`impute` names `{unknown[[1]]}`, which is ",
        "{if (unknown[[1]] %in% response) 'the response' else 'not a feature'}."
      ),
      remedy = "Name only features: {backquoted(utils::head(features, 10))}.",
      value = unknown[[1]]
    )
  }
}

abort_fill_value <- function(value, column, values) {
  expected <- if (is.factor(values)) {
    "a label, such as {quoted(levels(values)[[1]])}"
  } else {
    "one value like {impute_example(column)}"
  }
  abort_argument(value, expected, argument = paste0("impute$", column$name))
}

# The value as the column stores it, or NULL if it does not fit.
as_fill_value <- function(value, column, values) {
  if (length(value) != 1 || !is.atomic(value) || anyNA(value)) {
    return(NULL)
  }
  if (is.factor(values)) {
    label <- as.character(value)
    return(if (is.character(value) || label %in% levels(values)) as_utf8(label, "impute"))
  }
  plain_number <- is.numeric(value) && !is.object(value)
  fits <- switch(
    column$type,
    float = ,
    integer = plain_number,
    integer64 = inherits(value, "integer64") || (plain_number && is_whole(value)),
    logical = is.logical(value),
    string = is.character(value),
    date = inherits(value, "Date"),
    datetime = inherits(value, "POSIXct")
  )
  if (fits) as_stored(value, column$type)
}

as_stored <- function(value, type) {
  if (type == "integer" && is_whole(value)) {
    as.integer(value)
  } else if (type == "string") {
    as_utf8(value, "impute")
  } else {
    value
  }
}

column_with <- function(column, value, values) {
  if (column$type == "integer" && !is.factor(values) && is.double(value)) {
    column$type <- "float"
  }
  if (!is.null(column$levels)) {
    column$levels <- union(setdiff(column$levels, if (anyNA(levels(values))) missing_label), value)
  }
  column
}

fill_missing <- function(values, fill_value) {
  if (is.factor(values)) {
    labels <- union(levels(values), fill_value)
    codes <- as.integer(values)
    codes[missing_in(values)] <- match(fill_value, labels)
    return(structure(codes, levels = labels, class = "factor"))
  }
  missing <- missing_in(values)
  if (inherits(values, "integer64")) {
    # integer64 stores its bits in doubles, so bit64 must convert the fill value.
    fill_value <- unclass(bit64::as.integer64(fill_value))
    values <- unclass(values)
    values[missing] <- fill_value
    return(structure(values, class = "integer64"))
  }
  values[missing] <- fill_value
  values
}
