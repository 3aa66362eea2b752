#' Describe examples in memory
#'
#' Describes which columns are features, which one is the response, and how rows are batched. Nothing is computed. The
#' data stays in R until a verb such as [train()] copies the selected columns once, as 32-bit numbers, into the training
#' process. Every row is read once per epoch, with any number of devices and workers. It does not split data into
#' training and test rows.
#'
#' @param object The examples, one per row: a data frame, a matrix with column names, or a named list of vectors and
#'   arrays. Or a formula `response ~ feature + feature`, in which `.` means all other columns and `-` leaves one out
#'   (`~ feature` without a response). Or a dataset of tfdatasets; see "Datasets".
#' @param data The data frame, matrix, list or dataset of a formula.
#' @param features Columns to use as features: bare names, strings, or tidyselect helpers such as `starts_with("x")`.
#' @param response Column to learn, selected in the same way; NULL if there is none, as for predicting.
#' @param batch_size Global batch: examples of one training step over all devices and workers, a count. Must be a
#'   multiple of the number of replicas, over which it is divided.
#' @param shuffle Whether each epoch has its own random order: TRUE, FALSE, or `"auto"` for training only. Predictions
#'   always keep the order of the rows.
#' @param num_epochs Passes over the rows, a count; NULL repeats without end, for training with `steps`. Predicting
#'   takes one pass.
#' @param queue_capacity,num_threads Ignored; accepted for scripts written for tfestimators.
#' @param impute Replacement for missing values in features: a value; `"mean"`, `"median"` or another function of the
#'   values that are not missing, computed from this data; or a named list with one of these per feature. One without a
#'   name is for every feature that it fits. A new label becomes a level of the factor. NULL (default) makes missing
#'   values an error. Missing responses are always an error.
#' @param factors Whether factors become their `"labels"` (strings) or `"codes"` (0, 1, ...). NULL (default): what the
#'   model reads; see "Factors".
#' @param seed Seed of the shuffle, a whole number; NULL for `tf_random_seed` of the run configuration.
#' @param weights Column that holds the weight of each row, selected like `response`; NULL for equal weights. See
#'   [input_transform]. Unlike in [lm()], a vector of weights has to be put into the data first.
#' @param transform Function of `features` and `labels` that changes whole batches in TensorFlow, or NULL. See
#'   [input_transform].
#' @param epochs Taken as `num_epochs`, with a warning: tfestimators ignored it.
#' @param ... For formulas: the arguments from `batch_size` on. Otherwise must be empty.
#' @returns A description of class `tfdistribute_input`, which can be printed, saved and sent to other processes.
#' @section Types of columns:
#' | R | TensorFlow |
#' |---|---|
#' | double | float32; infinite values only in features |
#' | integer | int32 |
#' | logical | int32, 0 and 1 |
#' | factor | string (its label), or int32 (its code, from 0); see "Factors" |
#' | character | string |
#' | Date | float32, days since 1970-01-01 |
#' | POSIXct | float64, seconds since 1970-01-01 UTC |
#' | integer64 (bit64) | int64, exactly |
#' | matrix or array of these, or of NumPy | the same, one row per example |
#' | list of numeric vectors of equal length, or nested lists of numbers | the same, one element per example |
#'
#' Numbers closer to 0 than 1.2e-38, the smallest normal 32-bit number, become 0: TensorFlow does not compute with them.
#' NA and NaN are missing values. Columns of other types (complex, raw, difftime, POSIXlt, ...) raise an error, and so
#' does text that is marked as bytes or is not valid UTF-8: convert it with [iconv()].
#' @section Factors:
#' The model decides how it reads a factor. Columns with a vocabulary or hash buckets, crosses, the classes of canned
#' classifiers and Python functions read its labels. Identity columns, [column_numeric()], R model functions and Keras
#' models read its codes, which a message lists. The codes are those of the training: in other data, the same label has
#' the same code, whatever levels that factor has, and a label that training did not know is an error. A `transform`
#' gets labels.
#' @section Last batch:
#' Rows are neither dropped nor padded. Batches continue across epochs. The rows left at the end form a smaller step,
#' divided as evenly as possible over the devices and workers, so that all workers take the same number of steps. If
#' fewer rows are left than there are devices, they are added to the previous step. Padding with rows of weight zero was
#' ruled out because every loss and metric would have to handle them; dropping, because evaluation would skip rows.
#' (With parameter servers, workers train asynchronously, and each ends with its own rows.)
#' @section Datasets:
#' A `tf.data.Dataset` of named columns in batches, as `dataset_batch()` of tfdatasets makes it, is stored as its graph.
#' It can be saved and sent to other processes, where the files that it names must exist. Each of its batches is a
#' global batch, which is divided over the replicas, and its rows stay in its own order. A dataset that calls functions
#' of R while it is read needs [input_dataset()].
#' @section Errors:
#' * `tfdistribute_input_error`: a column is unknown, duplicated, of a type or size that cannot be used, or has missing
#'   values; the response is missing or also a feature; or the data has no rows or no features.
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' * `tfdistribute_sharding_error`, when a verb runs: the batch cannot be divided over the replicas.
#' @references <https://www.tensorflow.org/guide/estimator>. The interface is that of tfestimators' `input_fn()`.
#' @seealso [numpy_input_fn()] for arrays, [input_dataset()] for a `tf.data.Dataset` of your own.
#' @examples
#' input_fn(mtcars, features = c(wt, hp), response = mpg, batch_size = 16)
#' input_fn(mpg ~ . - qsec, mtcars, num_epochs = NULL, seed = 1)
#'
#' # Missing values are an error unless `impute` replaces them.
#' input_fn(airquality, features = c(Solar.R, Wind), response = Temp, impute = list(Solar.R = 0))
#' @export
input_fn <- function(object, ...) {
  check_required()
  UseMethod("input_fn")
}

#' @export
input_fn.default <- function(object, ...) {
  if (is_dataset(object)) {
    return(input_fn.tf_dataset(object, ...))
  }
  abort_not_data(
    object,
    "object",
    expected = "a data frame, a matrix, a named list or a formula",
    remedy = if (is.function(object) || is_python_object(object)) {
      "Give a function that returns a tf.data.Dataset to input_dataset(), or straight to the verb."
    } else {
      "Put the examples into a data frame, one per row."
    }
  )
}

# Describe columns in memory. Only the columns named by `features`, `response` and `weights` are kept, without a copy.
# `source` is for printing; the other arguments are the user's.
new_in_memory_input <- function(
  data,
  features,
  response,
  source,
  batch_size = 128,
  shuffle = "auto",
  num_epochs = 1,
  impute = NULL,
  factors = NULL,
  seed = NULL,
  weights = NULL,
  transform = NULL
) {
  batch_size <- check_count(batch_size)
  num_epochs <- check_count(num_epochs, null = TRUE)
  shuffle <- check_shuffle(shuffle)
  if (!is.null(factors)) {
    check_choice(factors, c("labels", "codes"))
  }
  seed <- check_seed(seed)
  check_chosen(data, features, response)
  check_weights_apart(weights, features, response)
  features <- c(features, weights)
  if (!is.matrix(data)) {
    data <- lapply(unclass_list(as.list(data))[c(features, response)], as_r_array)
  }
  rows <- check_rows(data)
  columns <- lapply(c(features, response), function(name) {
    describe_column(
      input_column(data, name),
      name,
      factors,
      is_response = identical(name, response)
    )
  })
  names(columns) <- c(features, response)
  imputed <- check_impute(impute, data, columns, response)
  columns <- imputed$columns
  check_missing(data, columns, response, impute, names(imputed$values))
  check_weight_values(data, weights)
  source <- new_description(
    "input",
    "in_memory",
    data = data,
    columns = columns,
    response = response,
    batch_size = batch_size,
    num_epochs = num_epochs,
    shuffle = shuffle,
    seed = seed,
    impute = imputed$values,
    rows = rows,
    source = source
  )
  transformed_input(source, weights, transform)
}

# TRUE, FALSE, or NULL if the verb decides.
check_shuffle <- function(shuffle) {
  if (is.null(shuffle) || identical(shuffle, "auto")) {
    return(NULL)
  }
  if (!is.logical(shuffle) || length(shuffle) != 1 || is.na(shuffle)) {
    abort_argument(shuffle, "TRUE, FALSE or \"auto\"")
  }
  shuffle
}

check_seed <- function(seed) {
  if (!is.null(seed) && !(length(seed) == 1 && is_whole(seed))) {
    abort_argument(
      seed,
      "a whole number between {-.Machine$integer.max} and {.Machine$integer.max}, or NULL"
    )
  }
  if (is.null(seed)) NULL else as.integer(seed)
}

check_chosen <- function(data, features, response) {
  if (length(features) == 0) {
    abort_tfdistribute(
      "input",
      problem = "No features were chosen.",
      remedy = "Name at least one column in `features`.",
      argument = "features"
    )
  }
  both <- intersect(features, response)
  if (length(both) > 0) {
    abort_tfdistribute(
      "input",
      problem = "The column `{both[[1]]}` is both a feature and the response.",
      remedy = "Leave it out of the features, for example features = -`{both[[1]]}`.",
      argument = "features",
      value = both[[1]]
    )
  }
}

# Everything but the data: Python asks for the values of one column at a time.
#' @export
as_wire.tfdistribute_in_memory_input <- function(x) {
  collect <- new_garbage_collector()
  columns <- lapply(unname(x$columns), function(column) {
    fields <- lapply(column[c("name", "type", "shape", "levels", "as_labels")], as_wire)
    reader <- column_reader(x$data, column, x$impute[[column$name]], collect)
    c(fields, list(values = guard_callback(reader, compared = FALSE)))
  })
  fields <- lapply(
    x[c("kind", "response", "batch_size", "num_epochs", "shuffle", "seed")],
    as_wire
  )
  c(fields, list(columns = columns))
}

# An input is described from its data, so that one field of it cannot be checked without the others.
#' @export
`$<-.tfdistribute_input` <- function(x, name, value) {
  abort_tfdistribute(
    "argument",
    problem = "`{name}` of an input cannot be changed.",
    remedy = "Describe the input again with this value.",
    argument = name,
    value = show_value(value)
  )
}

#' @export
`[[<-.tfdistribute_input` <- `$<-.tfdistribute_input`

#' @export
print.tfdistribute_input <- function(x, ...) {
  print_description(x, format(x, ...))
}

#' @export
format.tfdistribute_in_memory_input <- function(x, ...) {
  shown <- vapply(x$columns, show_column, "")
  is_response <- names(x$columns) %in% x$response
  features <- strwrap(toString(first_of(shown[!is_response])), width = 66)
  format_input(
    x,
    paste(x$source, "of", count_rows(x$rows)),
    features = paste(features, collapse = paste0("\n", strrep(" ", 14))),
    response = if (any(is_response)) shown[is_response]
  )
}

# Lines of a printed input: a title, and a line for each field that it has.
format_input <- function(
  x,
  title,
  ...,
  features = toString(x$features %||% "all columns but the response"),
  response = x$response
) {
  fields <- list(
    features = features,
    response = response,
    ...,
    batch_size = if (!is.null(x$batch_size)) paste(x$batch_size, "over all replicas"),
    num_epochs = x$num_epochs %||% "without end",
    shuffle = if ("shuffle" %in% names(x)) x$shuffle %||% "for training only",
    seed = x$seed,
    impute = if (length(x$impute) > 0) format_values(x$impute),
    on_bad_row = if (identical(x$on_bad_row, "skip")) "skip"
  )
  fields <- Filter(Negate(is.null), fields)
  c(paste("<input>", title), paste0("  ", format(names(fields), width = 12), unlist(fields)))
}

format_values <- function(values) {
  toString(paste(names(values), "=", vapply(values, show_value, "")))
}

format_paths <- function(paths) {
  paste0(quoted(utils::head(paths, 3)), if (length(paths) > 3) ", ...")
}

show_column <- function(column) {
  labels <- length(column$levels)
  what <- if (labels == 0) column$type else interpolate("{labels} label{?s}")
  if (length(column$shape) > 0) {
    what <- paste0(what, ", ", paste(column$shape, collapse = " x "), " per row")
  }
  paste0(column$name, " (", what, ")")
}

count_rows <- function(rows) {
  interpolate("{format(rows, big.mark = ',', scientific = FALSE)} {cli::qty(rows)}row{?s}")
}
