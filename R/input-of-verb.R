# Data where a verb takes an input: a formula with a data frame, or a data frame alone, whose columns are those that the
# model was trained on.

# The input of a verb. `...` are the verb's arguments for input_fn(). Predicting needs no response.
input_of_verb <- function(x, object, verb, ..., data = NULL) {
  if (rlang::is_formula(x)) {
    return(if (is.null(data)) input_fn(x) else describe_rows(x, data, ...))
  }
  x <- x %||% data
  if (!is_data(x)) {
    return(as_input(x, "input_fn"))
  }
  directory <- object$model_dir
  if (verb == "train" && is.null(call_backend("latest_checkpoint", model_dir = directory))) {
    abort_tfdistribute(
      "input",
      problem = "`input_fn` is data without a formula, and the model was not trained: its response is not known.",
      remedy = "Give a formula, as in train(model, y ~ x, data = data).",
      argument = "input_fn"
    )
  }
  known <- call_backend("trained_columns", model_dir = directory, verb = verb)
  response <- if (verb != "predict") known$response
  describe_rows(
    with_response(x, response),
    features = tidyselect::all_of(as.character(unlist(known$features))),
    response = tidyselect::all_of(response),
    weights = tidyselect::all_of(if (verb != "predict") known$weights),
    ...
  )
}

is_data <- function(x) {
  is.data.frame(x) || is.matrix(x) || (is.list(x) && !is.object(x) && rlang::is_named(x))
}

# The arguments of input_fn() that a verb has for a formula, a data frame or a matrix, which has its columns from the
# training; none for anything else.
row_arguments <- function(x) {
  settings <- c(setdiff(names(formals(input_fn.data.frame)), c("object", "...")), "epochs")
  if (rlang::is_formula(x)) {
    c("data", settings)
  } else if (is_data(x)) {
    setdiff(settings, c("features", "response", "weights"))
  }
}

# input_fn() with Keras's name for the passes over the rows.
describe_rows <- function(x, ..., epochs) {
  if (missing(epochs)) input_fn(x, ...) else input_fn(x, ..., num_epochs = epochs)
}
