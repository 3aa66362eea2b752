#' Specify training and evaluation
#'
#' Describes the data and the limits of training and evaluation for [train_and_evaluate()]. Nothing is computed.
#'
#' @param input_fn An [input_fn()], a function that returns a `tf.data.Dataset`, or a formula with its data, as in
#'   [train()].
#' @eval help_of("train_spec", "eval_spec")
#' @param ... With a formula, `data` and other arguments of [input_fn()]. With `max_steps`, a data frame is read again
#'   until the steps are done, unless there are `epochs`. Otherwise must be empty.
#' @returns A description of class `tfdistribute_train_spec` or `tfdistribute_eval_spec`.
#' @section Errors: `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/TrainSpec>,
#'   <https://www.tensorflow.org/api_docs/python/tf/estimator/EvalSpec>
#' @examples
#' train_spec(input_fn(mpg ~ wt, mtcars, epochs = NULL), max_steps = 100)
#' eval_spec(input_fn(mpg ~ wt, mtcars), throttle_secs = 10)
#' @name specs
NULL

#' @rdname specs
#' @export
train_spec <- function(
  # Fields of train_spec without input
  input_fn,
  max_steps = NULL,
  hooks = NULL,
  ...
) {
  rows <- data_by_position()
  check_call(..., .also = if (!missing(input_fn)) row_arguments(input_fn))
  hooks <- check_hooks(hooks)
  repeats <- !is.null(max_steps)
  input <- list(input = input_of_spec(input_fn, ..., rows = rows, repeats = repeats))
  arguments <- c(input, as.list(environment()))
  fields <- check_fields(schema$train_spec, arguments)
  structure(fields, class = "tfdistribute_train_spec")
}

#' @rdname specs
#' @export
eval_spec <- function(
  # Fields of eval_spec without input
  input_fn,
  steps = NULL,
  name = NULL,
  hooks = NULL,
  exporters = NULL,
  start_delay_secs = 120,
  throttle_secs = 600,
  ...
) {
  rows <- data_by_position()
  check_call(..., .also = if (!missing(input_fn)) row_arguments(input_fn))
  hooks <- check_hooks(hooks)
  input <- list(input = input_of_spec(input_fn, ..., rows = rows))
  arguments <- c(input, as.list(environment()))
  fields <- check_fields(schema$eval_spec, arguments)
  structure(fields, class = "tfdistribute_eval_spec")
}

input_of_spec <- function(x, ..., data = rows, rows, repeats = FALSE) {
  if (!rlang::is_formula(x) || is.null(data)) {
    return(as_input(x, "input_fn"))
  }
  again <- if (repeats_rows(repeats, data, ...)) list(epochs = NULL)
  rlang::inject(input_fn(x, data, ..., !!!again))
}

#' @export
print.tfdistribute_train_spec <- function(x, ...) {
  print_description(x, {
    end <- if (is.null(x$max_steps)) "until the input ends" else paste("to step", x$max_steps)
    c(paste("<train_spec>", end), format(x$input))
  })
}

#' @export
print.tfdistribute_eval_spec <- function(x, ...) {
  print_description(x, {
    extent <- if (is.null(x$steps)) "all rows" else paste(x$steps, "batches")
    c(paste0("<eval_spec> ", extent, ", at most every ", x$throttle_secs, " s"), format(x$input))
  })
}
