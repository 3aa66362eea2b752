# Data that a verb accepts instead of an input: a formula with a data frame, or a data frame alone, whose columns are
# the training columns of the model.

# The input of a verb. `...` are the verb's arguments for input_fn(), `rows` is the data of a call that does not name
# `data`, and `repeats` is whether steps end the training, so that it reads rows again. Prediction needs no response.
# Rows of Spark are written into `model_dir`, which all tasks share, unless `staging` is among the arguments, and are
# removed after the verb.
input_of_verb <- function(x, object, verb, ..., data = rows, rows = NULL, repeats = FALSE) {
  x <- x %||% data
  if (repeats_rows(repeats, data %||% x, ...)) {
    return(input_of_verb(x, object, verb, ..., data = data, epochs = NULL))
  }
  is_spark <- is_spark_table(x) || is_spark_table(data)
  if (is_spark && !"staging" %in% ...names_of(...)) {
    return(input_of_verb(x, object, verb, ..., data = data, staging = object$model_dir))
  }
  input <- input_of_rows(x, object, verb, ..., data = data)
  if (verb != "train" && length(source_of(input)$terms) > 0) {
    input <- map_source(input, with_known_terms, trained_state(object)$terms)
  }
  if (verb != "train" && length(source_of(input)$computed) > 0) {
    input <- map_source(input, with_replacements, trained_state(object)$replacements)
  }
  attr(input, "temporary") <- if (is_spark) TRUE
  input
}

# The newest checkpoint of a model, and what its first training learned from its rows.
trained_state <- function(object) {
  call_backend("trained_state", model_dir = object$model_dir)
}

repeats_rows <- function(repeats, data, ...) {
  repeats && is_rows(data) && !"epochs" %in% own_name(...names_of(...))
}

# As in lm(), data follows a formula by position, wherever other arguments are named. R has matched it with the first of
# them that was left, so the arguments by position move on by one. The data, or NULL if the call names it or has none.
data_by_position <- function() {
  index <- sys.parent()
  frame <- sys.frame(index)
  if (length(missing_arguments(index, "input_fn")) > 0 || !rlang::is_formula(frame$input_fn)) {
    return(NULL)
  }
  caller <- sys.frame(sys.parents()[[index]])
  given <- rlang::names2(as.list(match.call(function(...) NULL, sys.call(index), TRUE, caller))[-1])
  formals <- formals(sys.function(index))
  open <- setdiff(names(formals), c("...", names(formals)[pmatch(given, names(formals))]))
  taken <- setdiff(utils::head(open, sum(given == "")), c("object", "input_fn"))
  if (length(taken) == 0 || any(startsWith("data", given[given != ""]))) {
    return(NULL)
  }
  values <- mget(taken, frame)
  last <- utils::tail(taken, 1)
  rlang::env_bind(frame, !!!rlang::set_names(values[-1], utils::head(taken, -1)))
  rlang::env_bind_lazy(frame, !!!formals[last], .eval_env = frame)
  values[[1]]
}

# Remove the rows that Spark wrote for one verb.
remove_rows <- function(input) {
  if (isTRUE(attr(input, "temporary"))) {
    call_backend("remove_spark_rows", paths = as.list(source_of(input)$paths))
  }
}

input_of_rows <- function(x, object, verb, ..., data) {
  keeps <- learns_columns(object) &&
    !"impute" %in% ...names_of(...) &&
    (is_data(x) || is_data(data))
  if (keeps) {
    return(input_of_rows(x, object, verb, ..., data = data, impute = keep_missing))
  }
  if (rlang::is_formula(x)) {
    return(input_of_formula(x, object, verb, ..., data = data))
  }
  if (!is_rows(x)) {
    return(as_input(x, "input_fn"))
  }
  if (verb == "train" && is.null(trained_state(object)$checkpoint)) {
    abort_tfdistribute(
      "input",
      problem = "`input_fn` is data without a formula, and the model was not trained: its response is not known.",
      remedy = "Give a formula, as in train(model, y ~ x, data = data)."
    )
  }
  rows_as_trained(x, object, verb, ...)
}

input_of_formula <- function(x, object, verb, ..., data) {
  if (is.null(data)) {
    return(input_fn(x))
  }
  if (!is_data(data)) {
    return(input_fn(x, data, ...))
  }
  computes <- !all(vapply(as.list(x)[-1], names_only, NA))
  terms <- if (computes) trained_state(object)$terms
  input_fn(x, data, ..., .verb = list(predicts = verb == "predict", terms = terms))
}

# Data without a formula as the input with the columns of the training.
rows_as_trained <- function(x, object, verb, ...) {
  directory <- object$model_dir
  known <- call_backend("trained_columns", model_dir = directory, verb = verb)
  features <- read_features(object, as.character(unlist(known$features)), verb)
  response <- if (verb != "predict") known$response
  if (!is_spark_table(x)) {
    x <- with_typed_missing(with_known_sparse(x, features), known$kinds)
    features <- setdiff(features, values_name(sparse_names(x)))
    terms <- known$terms[setdiff(
      intersect(names(known$terms), c(features, response)),
      column_names(x)
    )]
    check_trained_features(x, c(setdiff(features, names(terms)), variables_of(terms)), verb)
    scope <- the$term_scopes[[absolute_path(directory)]]
    x <- with_trained_terms(x, terms, scope, verb == "predict")
  }
  settings <- list(...)
  if (is_spark_table(x)) {
    x <- spark_table(x)
  } else {
    settings$impute <- settings$impute %||% trained_impute(x, known$replacements)
    settings$.verb <- list(predicts = verb == "predict")
  }
  rlang::inject(input_fn(
    x,
    features = tidyselect::all_of(features),
    response = tidyselect::all_of(response),
    weights = tidyselect::all_of(if (verb != "predict") known$weights),
    !!!settings
  ))
}

# R's own NA is logical, whatever a column holds in other rows.
with_typed_missing <- function(data, kinds) {
  types <- list(
    numbers = as.double,
    labels = as.character,
    dates = as.Date,
    times = as.POSIXct
  )
  for (name in intersect(names(kinds), names(data))) {
    values <- data[[name]]
    as_type <- types[[kinds[[name]]]]
    if (is.logical(values) && is.null(dim(values)) && all(is.na(values)) && !is.null(as_type)) {
      data[[name]] <- as_type(values)
    }
  }
  data
}

check_trained_features <- function(data, features, verb) {
  absent <- setdiff(features, column_names(data))
  if (is.null(column_names(data)) || length(absent) == 0) {
    return(invisible())
  }
  abort_tfdistribute(
    "input",
    problem = c(
      "`{if (verb == 'predict') 'newdata' else 'input_fn'}` has no column {backquoted(absent)}, ",
      "which the model was trained with."
    ),
    remedy = c(
      "{did_you_mean(absent[[1]], column_names(data))}Add it to the data. ",
      "The columns are {backquoted(utils::head(column_names(data), 10))}."
    ),
    value = show_value(absent)
  )
}

# The features of the training that a verb needs. A model function may read any of them, and a baseline model counts
# the rows of one. Weights matter only for a loss.
read_features <- function(object, known, verb) {
  columns <- unlist(unname(unclass(object)[column_fields]), recursive = FALSE)
  weights <- object$weight_column
  read <- c(features_of(columns), if (verb != "predict") weights)
  if (length(columns) == 0) known else intersect(known, read)
}

column_fields <- c("feature_columns", "linear_feature_columns", "dnn_feature_columns")

is_data <- function(x) {
  is.data.frame(x) || is.matrix(x) || (is.list(x) && !is.object(x) && rlang::is_named(x))
}

check_table <- function(rows, argument = rlang::caller_arg(rows), remedy = NULL) {
  if (!is_data(rows)) {
    abort_argument(rows, "a data frame, or a matrix with column names", argument, remedy = remedy)
  }
  rows
}

is_rows <- function(x) {
  is_data(x) || is_spark_table(x)
}

# The arguments of input_fn() that a verb has for a formula, a data frame or a matrix, whose columns come from the
# training. Empty for anything else.
row_arguments <- function(x) {
  settings <- c(setdiff(names(formals(input_fn.data.frame)), c("object", "...")), "staging")
  if (rlang::is_formula(x)) {
    c("data", settings)
  } else if (is_rows(x)) {
    setdiff(settings, c("features", "response", "weights"))
  }
}
