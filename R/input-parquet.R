#' Describe examples in Parquet files
#'
#' The files are read piece by piece while a model trains; only the current row groups are in memory. Every row is read
#' once per epoch, with any number of devices and workers. The files are not opened until a verb runs.
#'
#' **Row groups are the blocks** that are shuffled, see "Order and sharding of rows". A row group larger than 64 MB
#' needs twice its size in memory, but is read in pieces, so that no step waits for it.
#'
#' @inheritParams input_fn
#' @param paths Paths of files, strings, or patterns such as `"data/part-*.parquet"`; on this machine or with a scheme
#'   that TensorFlow knows, such as `gs://`. A directory means its files, in the order of their names, without those
#'   that begin with `.` or `_`. A remote file is downloaded whole for every block that is read: mount or copy large
#'   files.
#' @param response Name of the column to learn, a string; NULL if there is none, as for predicting.
#' @param features Names of the columns to use as features, strings; NULL for all but the response.
#' @param types Types of columns, instead of those of the file: a named list or vector of `"float"`, `"integer"`,
#'   `"integer64"`, `"string"`, `"logical"`, `"date"` or `"datetime"`.
#' @param impute Replacement for missing values in features: a named list with a value per feature. NULL (default) makes
#'   missing values an error. Missing responses are always an error.
#' @param weights Name of the column that holds the weight of each row, a string; NULL for equal weights. See
#'   [input_transform].
#' @param on_bad_row What to do with a row that has a value that does not fit its column's type, a number beyond 3.4e38,
#'   an infinite response, or a missing value that `impute` does not fill: `"error"` or `"skip"`. Skipping reads all
#'   files once more each time a verb runs. The verb ends with a warning that gives the number of skipped rows.
#' @param ... Must be empty.
#' @inherit input_fn return
#' @section Types:
#' Signed integers of up to 32 bits become int32, other integers int64, decimals and floating-point numbers float32,
#' logicals int32, strings and dictionaries (R's factors) strings, dates days since 1970-01-01 as float32, timestamps
#' seconds since then as float64, and fixed-size lists one row of a matrix. Every file must have the same
#' types; the order of columns may differ. NULL and NaN are missing values. Numbers beyond 3.4e38 are an error, and
#' those closer to 0 than 1.2e-38 become 0.
#' @section Order and sharding of rows:
#' Every row is read once per epoch. Before anything is shuffled, each worker gets a contiguous range of the rows; the
#' sizes of the ranges differ by one row at most. All workers take the same number of steps, and no row is dropped,
#' repeated or padded: see "Last batch" of [input_fn()].
#'
#' Shuffling puts the blocks of a worker's range (about 1 MB of a file, a row group of Parquet, a record batch of Arrow)
#' into random order, groups them into windows of 64 MB, and shuffles the rows of each window. Therefore:
#'
#' * A range of up to 64 MB in memory is shuffled completely: every order is equally likely.
#' * In a larger range, a row can come anywhere in the epoch, but the rows of one block stay in the same window, mixed
#'   with rows from random other blocks. A block larger than 64 MB is a window of its own.
#' * Data that is sorted, for example by class or by day, should be shuffled once before it is written.
#'
#' Each epoch and worker has another order, which depends only on the seed and their numbers. Two windows are in memory.
#' Evaluation and prediction keep the order of the files.
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' * `tfdistribute_input_error`, when a verb runs: a file is missing, cannot be read, has no rows, lacks a column, has
#'   rows that cannot be used (such as another type than the first file, or missing or infinite values), or changes
#'   while it is read. The message gives the file and the row or line.
#' * `tfdistribute_sharding_error`, when a verb runs: the batch or the rows cannot be divided over the replicas.
#' * `tfdistribute_backend_error`, when a verb runs: Python's pyarrow is not installed.
#' * `tfdistribute_skipped_rows_warning`, a warning: a verb skipped rows. It has the fields `count` and `places` (the
#'   first five).
#' @references <https://arrow.apache.org/docs/python/parquet.html>
#' @seealso [input_arrow()], [input_csv()], [check_sharding()]
#' @examples
#' input_parquet("data/part-*.parquet", response = "price", batch_size = 512)
#' input_parquet("flights.parquet", "arr_delay", c("distance", "origin"), impute = list(distance = 0))
#'
#' @examplesIf tfdistribute_available()
#' # A file written through Python.
#' path <- tempfile(fileext = ".parquet")
#' arrow <- reticulate::import("pyarrow")
#' reticulate::import("pyarrow.parquet")$write_table(
#'   arrow$table(list(wt = mtcars$wt, mpg = mtcars$mpg)),
#'   path
#' )
#' check_sharding(input_parquet(path, response = "mpg", batch_size = 8), 2)
#' @export
input_parquet <- function(
  paths,
  response = NULL,
  features = NULL,
  batch_size = 128,
  num_epochs = 1,
  shuffle = "auto",
  seed = NULL,
  types = NULL,
  impute = NULL,
  weights = NULL,
  transform = NULL,
  on_bad_row = c("error", "skip"),
  ...
) {
  check_call()
  new_table_input(
    "parquet",
    paths = paths,
    response = response,
    features = features,
    types = types,
    impute = impute,
    batch_size = batch_size,
    num_epochs = num_epochs,
    shuffle = shuffle,
    seed = seed,
    weights = weights,
    transform = transform,
    on_bad_row = check_default_choice(on_bad_row, c("error", "skip"))
  )
}

# Describe rows in files of a `kind`. The arguments are the user's; those in `...` are checked.
new_file_input <- function(
  kind,
  paths,
  response,
  features,
  batch_size,
  num_epochs,
  shuffle,
  seed,
  weights,
  transform,
  ...
) {
  paths <- check_strings(paths)
  check_names_of_columns(response)
  check_names_of_columns(features)
  check_names_of_columns(weights)
  response <- check_string(response, null = TRUE)
  features <- check_strings(features, null = TRUE)
  check_chosen(NULL, features %||% "", response)
  weights <- check_weights(weights, features, response)
  source <- new_description(
    "input",
    kind,
    paths = ifelse(grepl("://", paths, fixed = TRUE), paths, path.expand(paths)),
    response = response,
    features = if (!is.null(features)) c(features, weights),
    batch_size = check_count(batch_size),
    num_epochs = check_count(num_epochs, null = TRUE),
    shuffle = check_shuffle(shuffle),
    seed = check_seed(seed),
    ...
  )
  transformed_input(source, weights, transform)
}

new_table_input <- function(kind, response, types, impute, ...) {
  new_file_input(
    kind,
    response = response,
    types = check_column_types(types),
    impute = check_table_impute(impute, response),
    ...
  )
}

without_details <- function(message) {
  sub("[.]?\n.*$", "", message)
}

# The columns of a file are not known yet. So bare names and tidyselect helpers, which input_fn() takes, fail here.
check_names_of_columns <- function(value, argument = rlang::caller_arg(value)) {
  tryCatch(
    force(value),
    error = function(error) {
      abort_tfdistribute(
        "argument",
        problem = "`{argument}` cannot be evaluated: {without_details(root_message(error))}.",
        remedy = "Name columns of files by strings, as in {argument} = \"x\".",
        argument = argument
      )
    }
  )
}

check_column_types <- function(types) {
  known <- c("float", "integer", "integer64", "string", "logical", "date", "datetime")
  if (is.null(types)) {
    return(list())
  }
  values <- as.list(types)
  fits <- has_own_names(values) &&
    all(vapply(values, function(type) is.character(type) && length(type) == 1, NA)) &&
    all(unlist(values) %in% known)
  if (!fits) {
    abort_argument(unlist(types), "a named list of {quoted(known)}", "types")
  }
  lapply(values, as.vector)
}

# Dates and times become numbers, as in their columns.
check_table_impute <- function(impute, response) {
  if (is.null(impute)) {
    return(list())
  }
  usable <- function(value) is.atomic(value) && length(value) == 1 && !is.na(value)
  if (!has_own_names(impute) || !all(vapply(as.list(impute), usable, NA))) {
    abort_argument(impute, "a named list of single values, or NULL")
  }
  if (any(names(impute) %in% response)) {
    abort_tfdistribute(
      "input",
      problem = "`impute` names `{response}`, which is the response.",
      remedy = "Name only features; remove the rows without a response.",
      argument = "impute",
      value = response
    )
  }
  lapply(as.list(impute), function(value) {
    if (is.character(value)) {
      as_utf8(value, "impute")
    } else if (is.numeric(value) || inherits(value, c("Date", "POSIXct"))) {
      as.double(value)
    } else {
      value
    }
  })
}

# The fields, and the function that Python calls when it has skipped rows.
table_wire <- function(x) {
  fields <- lapply(unclass_list(x), as_wire)
  c(fields, list(on_skipped = as_wire(warn_of_skipped)))
}

# Called by Python, once for each verb.
warn_of_skipped <- function(count, places) {
  places <- unlist(places)
  shown <- utils::head(places, 5)
  message <- c(
    interpolate("{count_rows(count)} {cli::qty(count)}{?was/were} skipped."),
    rlang::set_names(shown, rep("*", length(shown))),
    if (count > length(shown)) c("*" = "...")
  )
  keep_warning(rlang::warning_cnd(
    "tfdistribute_skipped_rows_warning",
    message = rlang::format_error_bullets(message),
    count = as.integer(count),
    places = places
  ))
}

format_table_input <- function(x, what, ...) {
  format_input(
    x,
    paste(what, format_paths(x$paths)),
    types = if (length(x$types) > 0) format_values(x$types),
    ...
  )
}

#' @export
as_wire.tfdistribute_parquet_input <- function(x) {
  table_wire(x)
}

#' @export
format.tfdistribute_parquet_input <- function(x, ...) {
  format_table_input(x, "Parquet files")
}
