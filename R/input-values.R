# The values of columns as Python asks for them: one column at a time, as arrays.

# A function that returns one column's values to Python: an array of numbers, or `codes` and `labels` of strings.
# Columns are copied one at a time, so that no two conversions are in memory together. `filling` replaces missing
# values. `tidy` is called with the bytes that the conversion leaves behind.
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

# A function that frees the memory of conversions when they exceed `limit` bytes. R frees a converted column only after
# Python's array, and the array only when R finds that nothing refers to it: two garbage collections. R itself would
# wait until there is as much garbage as data.
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
