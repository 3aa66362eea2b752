#' Describe examples in binary files with fixed-length records
#'
#' The files hold packed numbers, as [write_fixed_length()] writes them. They are read in blocks of about a megabyte
#' while a model trains, and may be larger than memory. This is the fastest input from disk. The files are not opened
#' until a verb runs. Compressed files are not supported.
#'
#' Rows are ordered and sharded as described in [input_parquet()].
#'
#' @inheritParams input_parquet
#' @param paths Paths, strings: the directory that [write_fixed_length()] or [write_tfrecord()] wrote, files, or
#'   patterns such as `"data/part-*.bin"`; on this machine or with a scheme that TensorFlow knows, such as `gs://`.
#' @param columns Columns of a record, for files without an index: a named vector of dtypes in the order of the record,
#'   optionally with shapes, such as `c(label = "uint8", pixels = "uint8[28, 28]")`. Numbers are little-endian: float16,
#'   float32 and float64 (read as float32); int8, uint8, int16, uint16 and int32 (read as int32); uint32 and int64 (read
#'   as int64); and bool. NULL reads the index.
#' @inherit input_fn return
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' * `tfdistribute_input_error`, when a verb runs: a file is missing, has another format, has no rows, cannot be read,
#'   is cut off, has an infinite response (the message names the record), or changes while it is read; or a column does
#'   not exist.
#' * `tfdistribute_sharding_error`, when a verb runs: the batch or the rows cannot be divided over the replicas.
#' @references <https://www.tensorflow.org/api_docs/python/tf/data/FixedLengthRecordDataset>, which reads one row at a
#'   time.
#' @seealso [write_fixed_length()]; [input_tfrecord()] for files with any number of different strings.
#' @examples
#' input_fixed_length("data/diamonds", response = "price", batch_size = 512)
#' input_fixed_length(
#'   "cifar/*.bin",
#'   response = "label",
#'   columns = c(label = "uint8", pixels = "uint8[3, 32, 32]")
#' )
#' @export
input_fixed_length <- function(
  paths,
  response = NULL,
  features = NULL,
  batch_size = 128,
  num_epochs = 1,
  shuffle = "auto",
  seed = NULL,
  columns = NULL,
  weights = NULL,
  transform = NULL,
  ...
) {
  check_call()
  new_record_input(
    "fixed_length",
    paths = paths,
    response = response,
    features = features,
    batch_size = batch_size,
    num_epochs = num_epochs,
    shuffle = shuffle,
    seed = seed,
    columns = columns,
    weights = weights,
    transform = transform,
    dtypes = c(
      paste0("float", c(16, 32, 64)),
      paste0(rep(c("int", "uint"), each = 3), c(8, 16, 32)),
      "int64",
      "bool"
    )
  )
}

# Describe records in files of a `kind` that can have these `dtypes`. The other arguments are the user's; those in
# `...` are checked.
new_record_input <- function(
  kind,
  paths,
  response,
  features,
  batch_size,
  num_epochs,
  shuffle,
  seed,
  columns,
  weights,
  transform,
  dtypes,
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
    columns = check_record_columns(columns, dtypes),
    ...
  )
  transformed_input(source, weights, transform)
}

check_record_columns <- function(columns, dtypes, argument = "columns") {
  if (is.null(columns)) {
    return(list())
  }
  values <- unlist(columns)
  named <- has_own_names(columns) && length(values) == length(columns)
  if (!named || !is.character(values)) {
    abort_argument(columns, "a named vector of dtypes or NULL")
  }
  pattern <- paste0("^(", paste(dtypes, collapse = "|"), ")(\\[[0-9]+( *, *[0-9]+)*\\])?$")
  unknown <- values[!grepl(pattern, values)]
  if (length(unknown) > 0) {
    abort_tfdistribute(
      "argument",
      problem = c(
        "`{if (argument == 'columns') paste0('columns$', names(unknown)[[1]]) else argument}` ",
        "is {show_value(unknown[[1]])}, which is not a dtype."
      ),
      remedy = c(
        "Use one of {toString(dtypes)}, ",
        "with a shape such as \"{dtypes[[1]]}[28, 28]\" if it has one."
      ),
      argument = argument,
      value = unknown[[1]]
    )
  }
  as.list(rlang::set_names(as.vector(values), names(columns)))
}

format_record_input <- function(x, what) {
  columns <- toString(paste(names(x$columns), "=", unlist(x$columns)))
  format_input(
    x,
    paste(what, format_paths(x$paths)),
    columns = if (length(x$columns) > 0) columns
  )
}

#' @export
format.tfdistribute_fixed_length_input <- function(x, ...) {
  format_record_input(x, "records of fixed length in")
}
