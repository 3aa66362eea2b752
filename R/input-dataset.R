#' Describe examples with a function that returns a dataset
#'
#' Describes examples from your own `tf.data` pipeline. Verbs also accept the function itself. tfdistribute does not
#' shard, shuffle or repeat its examples. **Each batch belongs to one replica**, so one training step on four devices
#' uses four batches. With several workers, each worker must read its own shard, which `input_context` describes.
#'
#' @param fn Function that returns a `tf.data.Dataset` of batches, either `list(features, labels)` or features, where
#'   features is a named list of tensors. Each verb calls it without arguments or, if it has an argument
#'   `input_context`, with a `tf.distribute.InputContext` (NULL without a strategy).
#' @param weights Name of the feature that contains the weight of each row, a string, or NULL. See [input_transform].
#' @param transform Function that changes the features and labels of the dataset, or NULL. See [input_transform].
#' @param ... Must be empty.
#' @returns A description of class `tfdistribute_input`.
#' @section Errors:
#' * `tfdistribute_input_error` if `fn` is not a function, has an unsupported argument, or, from a verb, does not return
#'   a dataset. (Tensors are accepted without a strategy.)
#' * `tfdistribute_callback_error`, from a verb, if `fn` fails. The `parent` is the function's own error.
#' @references <https://www.tensorflow.org/api_docs/python/tf/distribute/InputContext>
#' @seealso [input_fn()] for data in R.
#' @examples
#' input_dataset(function(input_context) {
#'   tf <- reticulate::import("tensorflow")
#'   dataset <- tf$data$Dataset$range(1000)
#'   if (!is.null(input_context)) {
#'     dataset <- dataset$shard(input_context$num_input_pipelines, input_context$input_pipeline_id)
#'   }
#'   dataset$batch(10L)
#' })
#' @export
input_dataset <- function(fn, weights = NULL, transform = NULL, ...) {
  check_call(...)
  if (!is.function(fn)) {
    remedy <- "Give a function; data in R goes to input_fn()."
    abort_argument(fn, "a function that returns a tf.data.Dataset", kind = "input", remedy = remedy)
  }
  check_dataset_function(fn, "fn")
  weights <- check_field(weights, schema$input$transformed$weights, "weights")
  source <- new_description("input", "dataset_function", `function` = fn)
  transformed_input(source, weights, transform)
}

# Datasets of the session. tfdatasets adds its own class. Without it, input_fn.default() recognizes them.

#' @rdname input_fn
#' @export
input_fn.tf_dataset <- function(
  object,
  features,
  response = NULL,
  weights = NULL,
  transform = NULL,
  ...
) {
  columns <- dataset_columns(object)
  check_call(..., .remedies = list(features = features_remedy(columns, columns)))
  features <- select_columns(rlang::enquo(features), columns, "features")
  response <- select_response(rlang::enquo(response), columns)
  weights <- select_response(rlang::enquo(weights), columns, "weights")
  check_chosen(columns, features, response)
  source <- new_description(
    "input",
    "serialized_dataset",
    graph = call_backend(
      "serialize_dataset",
      dataset = object,
      features = c(features, weights),
      response = response
    ),
    features = c(features, weights),
    response = response
  )
  transformed_input(source, weights, transform)
}

is_dataset <- function(x) {
  inherits(x, "tensorflow.python.data.ops.dataset_ops.DatasetV2")
}

# A list with the names of the columns, which are selected as from a data frame.
dataset_columns <- function(dataset) {
  names <- as.character(unlist(call_backend("dataset_columns", dataset = dataset)))
  rlang::set_names(as.list(names), names)
}

# The data argument of a verb as an input description.
as_input <- function(x, argument = rlang::caller_arg(x)) {
  if (inherits(x, "tfdistribute_input")) {
    return(x)
  }
  if (is.function(x)) {
    check_dataset_function(x, argument)
    return(new_description("input", "dataset_function", `function` = x))
  }
  abort_not_data(
    x,
    argument,
    expected = "an input",
    remedy = "Make one with input_fn(), or give a function that returns a tf.data.Dataset."
  )
}

# In tfestimators, a function of one argument was a generator and was called with the estimator. This is not supported.
check_dataset_function <- function(fn, argument) {
  check_formals(
    fn,
    supplied = "input_context",
    remedy = "Use no argument, or only `input_context`, and return a tf.data.Dataset.",
    argument = argument,
    kind = "input"
  )
}

#' @export
format.tfdistribute_dataset_function_input <- function(x, ...) {
  c(
    paste("<input>", show_function(x$`function`)),
    "  each of its batches is one replica's"
  )
}

#' @export
format.tfdistribute_serialized_dataset_input <- function(x, ...) {
  c(
    "<input> a dataset of batches, each over all replicas",
    paste0("  features    ", toString(x$features)),
    if (!is.null(x$response)) paste0("  response    ", x$response)
  )
}
