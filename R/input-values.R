# Values of columns as arrays for Python, one column at a time.

# Python reads vectors of at least this length in R's memory. Copying a shorter vector takes no longer.
least_read_in_place <- 2^13

# A function that returns one column's values to Python: an array of numbers, `codes` and `labels` of strings, or the
# `address` of a long vector and a function `array`. Columns are copied one at a time, so that no two conversions are in
# memory together. `fill_value` replaces missing values. `collect` is called with the number of bytes that the
# conversion leaves as garbage.
column_reader <- function(data, column, fill_value = NULL, collect = new_garbage_collector()) {
  force(data)
  force(column)
  force(fill_value)
  force(collect)
  function() {
    values <- input_column(data, column$name)
    as_array <- function() {
      collect(8 * length(values))
      column_values(values, column, fill_value)
    }
    # A column of a matrix is already a copy.
    in_place <- length(values) >= least_read_in_place &&
      typeof(values) %in% c("double", "integer", "logical") &&
      !is.factor(values) &&
      is.null(dim(values)) &&
      is.null(fill_value) &&
      !is.matrix(data)
    if (in_place) {
      list(address = rlang::obj_address(values), array = guard_callback(as_array, compared = FALSE))
    } else {
      as_array()
    }
  }
}

column_values <- function(values, column, fill_value) {
  if (is.list(values) && !is.object(values)) {
    values <- stack_rows(values, column$name)
  }
  if (!is.null(fill_value)) {
    values <- fill_missing(values, fill_value)
  }
  switch(
    column$type,
    string = encode_strings(values),
    integer = plain_array(if (is.factor(values)) factor_codes(values) else values),
    logical = plain_array(values + 0L),
    plain_array(values)
  )
}

# A function that frees the memory of conversions when they exceed `limit` bytes, because R itself would wait until
# there is as much garbage as data. Python has released the arrays of the last columns by then, and a collection of R's
# new values, which takes milliseconds, is enough.
new_garbage_collector <- function(limit = 64 * 2^20) {
  state <- new.env(parent = emptyenv())
  state$bytes <- 0
  function(bytes) {
    state$bytes <- state$bytes + bytes
    if (state$bytes > limit) {
      gc(full = FALSE)
      state$bytes <- bytes
    }
  }
}

factor_codes <- function(values) {
  as.integer(with_named_levels(values)) - 1L
}

# Codes from 0 and their strings.
encode_strings <- function(values) {
  if (is.factor(values)) {
    labels <- enc2utf8(levels(with_named_levels(values)))
    return(list(codes = plain_array(factor_codes(values)), labels = plain_array(labels)))
  }
  values <- plain_array(values)
  labels <- unique(as.vector(values))
  codes <- match(values, labels) - 1L
  dim(codes) <- dim(values)
  list(codes = plain_array(codes), labels = plain_array(enc2utf8(labels)))
}

# The values as an array without other attributes, copied at most once. reticulate converts it to a NumPy array that
# shares its memory.
plain_array <- function(values) {
  plain <- list(dim = dim(values) %||% length(values))
  if (!identical(attributes(values), plain)) {
    attributes(values) <- plain
  }
  values
}
