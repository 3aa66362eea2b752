#' Describe examples by a function that returns batches
#'
#' For data that R makes or reads piece by piece: simulations, databases, files that do not fit into memory. `fn` is
#' called on R's own thread while TensorFlow trains, which costs every step about a tenth of a millisecond, and every
#' column of a batch about as much again: one matrix of twenty columns costs less than twenty vectors. Nothing is
#' shuffled or repeated for you. Where the data fits into memory, [input_fn()] is faster.
#'
#' **Each batch is one training step's, over all devices together**: it is cut into nearly equal slices, one for
#' each replica. Batches whose size is a multiple of the number of replicas are cut evenly; a batch with fewer rows
#' than there are replicas is refused. With several workers, every worker calls its own copy of `fn` and takes its
#' slices, so `fn` has to give the same batches in each: set its seed.
#'
#' The first batch is drawn before training starts, because its columns settle what the model gets; all others must
#' have the same columns, of the same types and widths. After that a few batches are drawn ahead of the step that
#' trains on them: when training stops by `steps`, `fn` was called more often than there were steps.
#'
#' @param fn Function without arguments, in one of two forms. Either it returns the next batch each time it is called,
#'   and NULL after the last: then there is one pass over the data. Or it returns a new function of that form: then
#'   every epoch and every evaluation starts anew. A batch is a data frame, a named list of vectors and arrays, or a
#'   matrix with column names, with one row per example.
#' @param features Names of the columns to use as features, strings; NULL: all but the response.
#' @param response Name of the column to learn, a string; NULL where there is none, as for predicting.
#' @param num_epochs Passes over the data, a count; NULL repeats without end, for training with `steps`. Other than 1
#'   only where `fn` returns functions. Predicting takes one pass.
#' @param weights Name of the column that says how much each row counts, a string, or NULL; see [input_transform].
#' @param transform Function of features and labels, by which batches are changed in TensorFlow, or NULL; see
#'   [input_transform].
#' @return A description of class `tfdistribute_input` that can be printed, saved and sent to other processes. Making it
#'   does not call `fn`.
#' @inheritSection input_fn How columns are handed on
#' @section Errors:
#' `tfdistribute_argument_error`: an argument is no such value. When a verb runs, `tfdistribute_callback_error`: `fn`
#' failed; training stops, and its own error is the `parent`. `tfdistribute_input_error`: a batch has missing values, no
#' rows, other columns than the first, or columns that cannot be used, named with the number of the batch; or the data
#' ended before its first batch. `tfdistribute_sharding_error`: a batch has fewer rows than there are replicas.
#' @section Which functions TensorFlow can call:
#' An R function that builds a part of TensorFlow's graph, such as the body of `dataset$map()` in an [input_dataset()],
#' is called once, on R's thread. An R function inside `tf$py_function()`, `tf$numpy_function()` or
#' `tf$data$Dataset$from_generator()` would be called on TensorFlow's threads, where R cannot run: use
#' `input_generator()` in their place.
#' @section Source:
#' Generators as in keras: <https://keras.posit.co/reference/fit.keras.src.models.model.Model.html>.
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
#' # Starts anew for every epoch.
#' rows_of_mtcars <- function() {
#'   chunks <- split(mtcars, rep(1:4, each = 8))
#'   function() {
#'     batch <- if (length(chunks) > 0) chunks[[1]]
#'     chunks <<- chunks[-1]
#'     batch
#'   }
#' }
#' input_generator(rows_of_mtcars, features = c("wt", "hp"), response = "mpg", num_epochs = 5)
#' @export
input_generator <- function(
  fn,
  features = NULL,
  response = NULL,
  num_epochs = 1,
  weights = NULL,
  transform = NULL
) {
  fn <- check_function(fn, "fn")
  check_no_formals_needed(fn)
  features <- check_strings(features, "features", null = TRUE)
  response <- check_string(response, "response", null = TRUE)
  num_epochs <- check_count(num_epochs, "num_epochs", null = TRUE)
  check_chosen(NULL, features %||% "", response)
  weights <- check_weights(weights, features, response)
  source <- new_description(
    "input",
    "generator",
    fn = fn,
    features = if (!is.null(features)) c(features, weights),
    response = response,
    num_epochs = num_epochs
  )
  transformed_input(source, weights, transform)
}

check_no_formals_needed <- function(fn) {
  formals <- if (is_python_object(fn)) list() else as.list(formals(args(fn)))
  needed <- vapply(formals, function(default) identical(default, quote(expr = )), logical(1))
  needed <- setdiff(names(formals)[needed], "...")
  if (length(needed) > 0) {
    abort_tfdistribute(
      "argument",
      problem = paste0("`fn` has an argument `", needed[[1]], "` that nobody gives it."),
      remedy = "Give a function that is called without arguments.",
      argument = "fn",
      value = needed[[1]]
    )
  }
}

# What Python calls. Each verb gets a source of its own.
#' @export
as_wire.tfdistribute_generator_input <- function(x) {
  lapply(c(x[c("kind", "response", "num_epochs")], batch_source(x)), as_wire)
}

#' Make the two functions that give batches to Python
#'
#' @param input Description by [input_generator()].
#' @return `begin` begins a pass and says whether the data starts anew; `next_batch` gives the columns of the next
#'   batch, NULL after the last, what is wrong with it, or that the user interrupted it.
#' @noRd
batch_source <- function(input) {
  pass <- new.env(parent = emptyenv())
  pass$ahead <- NULL
  # Ctrl-C interrupts the R code that runs, here; Python must be told, or it goes on.
  interruption <- list(interrupted = TRUE)
  begin <- function() {
    given <- tryCatch(input$fn(), interrupt = function(interrupt) interruption)
    starts_anew <- is.function(given)
    pass$draw <- if (starts_anew) given else input$fn
    # What a function of batches returned is a batch already.
    pass$ahead <- if (!starts_anew) list(given)
    starts_anew
  }
  draw <- function() {
    batch <- if (length(pass$ahead) > 0) pass$ahead[[1]] else pass$draw()
    pass$ahead <- NULL
    if (is.null(batch) || identical(batch, interruption)) {
      return(batch)
    }
    tryCatch(
      list(columns = batch_columns(batch, input$features, input$response)),
      tfdistribute_error = function(error) error[c("problem", "remedy", "argument")]
    )
  }
  next_batch <- function() {
    tryCatch(draw(), interrupt = function(interrupt) interruption)
  }
  list(begin = begin, next_batch = next_batch)
}

#' Hand over the columns of a batch
#'
#' @param batch What the user's function returned.
#' @param features,response Names of columns; NULL as in [input_generator()].
#' @return List of lists of name, type, shape, levels and values, as `inputs/packing.py` reads them.
#' @noRd
batch_columns <- function(batch, features, response) {
  available <- check_batch(batch)
  chosen <- c(features %||% setdiff(available, response), response)
  unknown <- setdiff(chosen, available)
  if (length(unknown) > 0) {
    abort_batch(
      paste0(
        "It has no column `",
        unknown[[1]],
        "`, only ",
        backquoted(utils::head(available, 10)),
        "."
      ),
      "Return every feature and the response in every batch.",
      unknown[[1]]
    )
  }
  data <- if (is.matrix(batch)) batch else unclass_list(as.list(batch))[chosen]
  check_rows(data)
  lapply(chosen, function(name) {
    values <- input_column(data, name)
    column <- describe_column(values, name, "labels", is_response = identical(name, response))
    if (has_missing(values)) {
      abort_batch(
        paste0("The column `", name, "` has ", count_missing(sum(missing_in(values))), "."),
        "Remove these rows or fill them before you return the batch.",
        name
      )
    }
    c(column, list(values = column_reader(data, column)()))
  })
}

# The names of a batch's columns.
check_batch <- function(batch) {
  if (!(is.list(batch) || is.matrix(batch)) || is_python_object(batch)) {
    abort_batch(
      paste0("It is ", show_kind(batch), "."),
      "Return a data frame or a named list, and NULL at the end."
    )
  }
  names <- if (is.matrix(batch)) colnames(batch) else names(batch)
  if (is.null(names) || anyNA(names) || !all(nzchar(names)) || anyDuplicated(names) > 0) {
    abort_batch("Its columns need names, each another one.", "Return a data frame or a named list.")
  }
  names
}

count_missing <- function(count) {
  paste(count, if (count == 1) "missing value" else "missing values")
}

# Python adds the number of the batch.
abort_batch <- function(problem, remedy, argument = "fn") {
  abort_tfdistribute("input", problem = problem, remedy = remedy, argument = argument)
}

#' @export
format.tfdistribute_generator_input <- function(x, ...) {
  c(
    "<input> batches from a function, each over all replicas",
    paste0(
      "  features    ",
      if (is.null(x$features)) {
        "all columns but the response"
      } else {
        paste(x$features, collapse = ", ")
      }
    ),
    if (!is.null(x$response)) paste0("  response    ", x$response),
    paste0("  num_epochs  ", x$num_epochs %||% "without end")
  )
}
