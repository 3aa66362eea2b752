#' Describe examples with a function that returns batches
#'
#' Describes data that R creates or reads piece by piece: simulations, databases, files larger than memory. TensorFlow
#' calls `fn` on R's own thread while it trains. Each step costs about a tenth of a millisecond more, plus about the
#' same time for each column of a batch, so one matrix of twenty columns is faster than twenty vectors. tfdistribute
#' does not shuffle or repeat the batches. For data that fits into memory, [input_fn()] is faster.
#'
#' **Each batch is a global batch**, the examples of one training step over all devices. It is divided into slices, one
#' per replica, which are equal if its size is a multiple of the number of replicas, and otherwise nearly equal. With
#' several workers, every worker calls its own copy of `fn` and uses its slices. Therefore `fn` must return the same
#' batches in each worker, so set its seed.
#'
#' The first batch is drawn before training starts, because it determines the columns. All other batches must have the
#' same columns, with the same types and widths. A few batches are drawn ahead, so when training stops after `steps`,
#' `fn` has been called more often than there were steps.
#'
#' @inheritParams input_parquet
#' @param fn Function without arguments that has one of two forms. Either it returns the next batch with each call, and
#'   NULL after the last batch, for a single pass over the data. Or it returns a new function of the first form for each
#'   epoch and evaluation. A batch has one row per example: a data frame, a named list of vectors and arrays, or a
#'   matrix with column names. Columns have the same types as in [input_fn()].
#' @eval help_of("input_generator")
#' @param ... Must be empty.
#' @returns A description of class `tfdistribute_input`, which can be printed, saved and sent to other processes.
#'   Creating it does not call `fn`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_callback_error`, from a verb, if `fn` fails and training stops. The `parent` is the function's own
#'   error.
#' * `tfdistribute_input_error`, from a verb, if `fn` returns no batch, or if a batch has missing values, no rows, other
#'   columns than the first batch, or columns that cannot be used. The message contains the number of the batch.
#' @section R functions in TensorFlow:
#' An R function can build a part of TensorFlow's graph, such as the body of `dataset$map()` in an
#' [input_dataset()], because TensorFlow calls it only once, on R's thread. Functions in `tf$py_function()`,
#' `tf$numpy_function()` and `tf$data$Dataset$from_generator()` would run on TensorFlow's threads, where R cannot run.
#' Use `input_generator()` instead.
#' @references The package keras uses the same form of generators:
#'   <https://keras.posit.co/reference/fit.keras.src.models.model.Model.html>.
#' @seealso [input_fn()] for data in memory, [input_dataset()] for a `tf.data.Dataset`.
#' @examples
#' # One pass of ten batches.
#' count <- 0
#' draw <- function() {
#'   count <<- count + 1
#'   if (count > 10) {
#'     return(NULL)
#'   }
#'   x <- runif(32)
#'   data.frame(x = x, y = 2 * x + rnorm(32))
#' }
#' input_generator(draw, response = "y")
#'
#' # A new pass for every epoch.
#' rows_of_mtcars <- function() {
#'   chunks <- split(mtcars, rep(1:4, each = 8))
#'   function() {
#'     batch <- if (length(chunks) > 0) chunks[[1]]
#'     chunks <<- chunks[-1]
#'     batch
#'   }
#' }
#' input_generator(rows_of_mtcars, features = c("wt", "hp"), response = "mpg", epochs = 5)
#' @export
input_generator <- function(
  # Fields of input$generator
  fn,
  features = NULL,
  response = NULL,
  epochs = 1,
  weights = NULL,
  transform = NULL,
  ...
) {
  check_call(...)
  check_function(fn)
  check_formals(fn, supplied = character(), remedy = "Give a function without arguments.")
  features <- check_strings(features, null = TRUE)
  streamed_input("generator", environment(), features = features, fn = fn)
}

# The functions that Python calls. Each verb gets a new source.
#' @export
as_wire.tfdistribute_generator_input <- function(x) {
  lapply(c(x[c("kind", "response", "epochs")], batch_source(x)), as_wire)
}

# The two functions that provide batches to Python. `begin` starts a pass and returns whether the data starts from the
# beginning. `next_batch` returns the columns of the next batch, NULL after the last batch, a problem with the batch, or
# that the user interrupted it.
batch_source <- function(input) {
  pass <- new.env(parent = emptyenv())
  pass$first <- NULL
  # Ctrl-C interrupts the R code that runs here, and Python stops only if it gets this value.
  interruption <- list(interrupted = TRUE)
  begin <- function() {
    given <- tryCatch(input$fn(), interrupt = function(interrupt) interruption)
    restarts <- is.function(given)
    pass$read <- if (restarts) given else input$fn
    # A function of batches has already returned the first batch.
    pass$first <- if (!restarts) list(given)
    restarts
  }
  read <- function() {
    batch <- if (length(pass$first) > 0) pass$first[[1]] else pass$read()
    pass$first <- NULL
    if (is.null(batch) || identical(batch, interruption)) {
      return(batch)
    }
    tryCatch(
      list(columns = batch_columns(batch, input$features, input$response)),
      tfdistribute_error = function(error) error[c("problem", "remedy", "argument")]
    )
  }
  next_batch <- function() {
    tryCatch(read(), interrupt = function(interrupt) interruption)
  }
  list(begin = begin, next_batch = next_batch)
}

# Columns of a batch from the user's function: lists of name, type, shape, levels and values, as
# inputs/packed/packing.py reads them.
batch_columns <- function(batch, features, response) {
  available <- check_batch(batch)
  chosen <- c(features %||% setdiff(available, response), response)
  unknown <- setdiff(chosen, available)
  if (length(unknown) > 0) {
    abort_batch(
      "It has no column `{unknown[[1]]}`, only {backquoted(utils::head(available, 10))}.",
      "Return every feature and the response in every batch.",
      unknown[[1]]
    )
  }
  data <- if (is.matrix(batch)) batch else unclass_list(as.list(batch))[chosen]
  check_rows(data)
  lapply(chosen, function(name) {
    values <- input_column(data, name)
    column <- describe_column(values, name, factors = NULL, is_response = identical(name, response))
    if (has_missing(values)) {
      abort_batch(
        "The column `{name}` has {sum(missing_in(values))} missing value{?s}.",
        "Remove these rows or fill them before you return the batch.",
        name
      )
    }
    c(column, list(values = column_reader(data, column)()))
  })
}

check_batch <- function(batch) {
  if (!(is.list(batch) || is.matrix(batch)) || is_python_object(batch)) {
    abort_batch(
      "It is {show_kind(batch)}.",
      "Return a data frame or a named list, and NULL at the end."
    )
  }
  names <- column_names(batch)
  if (is.null(names) || anyNA(names) || !all(nzchar(names)) || anyDuplicated(names) > 0) {
    abort_batch(
      "Its columns need names, each a different one.",
      "Return a data frame or a named list."
    )
  }
  names
}

# Python adds the number of the batch.
abort_batch <- function(problem, remedy, argument = "fn", .envir = parent.frame()) {
  abort_tfdistribute("input", problem, remedy, argument = argument, .envir = .envir)
}

#' @export
format.tfdistribute_generator_input <- function(x, ...) {
  format_input(x, "batches from a function, each over all replicas")
}
