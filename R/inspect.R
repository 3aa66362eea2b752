# Data and predictions of functions that inspect a trained model: importance(), effects(), explain_rows(),
# calibration() and residuals(). They change columns of the data itself, before a formula computes its terms.

# The columns of `data` that the model reads, with their names as `variables`, the `classes`, the `temperature` of their
# logits, the name of the `response`, and, if `needs_response`, its values as `truth` (numbers, or the places of the
# classes) and the `weights` of the rows. At most `most` rows are drawn.
inspected <- function(object, data, verb, most = NULL, needs_response = FALSE) {
  check_estimator(object)
  if (is.null(prediction_types(object))) {
    abort_tfdistribute(
      "unsupported",
      problem = "{verb}() inspects canned models, and `object` is of the kind \"{object$kind}\".",
      remedy = "Give predict() of this model to a package such as vip, pdp or DALEX.",
      argument = "object"
    )
  }
  check_table(data)
  data <- as.data.frame(data)
  known <- columns_of_training(object, verb)
  check_named(known, verb, needs_response)
  terms <- known$terms[setdiff(names(known$terms), names(data))]
  features <- read_features(object, as.character(unlist(known$features)), "predict")
  raw <- function(names) {
    c(setdiff(names, names(terms)), variables_of(terms[intersect(names, names(terms))]))
  }
  variables <- unique(raw(features))
  others <- if (needs_response) c(raw(known$response), intersect(known$weights, names(data)))
  absent <- setdiff(c(variables, others), names(data))
  if (length(absent) > 0) {
    abort_unknown_column(absent, names(data), "data", subject = "The model")
  }
  rows <- if (isTRUE(most < nrow(data))) sample.int(nrow(data), most) else seq_len(nrow(data))
  data <- data[rows, unique(c(variables, others)), drop = FALSE]
  check_rows(data)
  facts <- call_backend("learned", model_dir = object$model_dir)
  found <- list(
    data = data,
    variables = variables,
    classes = unlist(facts$classes),
    temperature = facts$learned$temperature,
    response = known$response
  )
  if (needs_response) {
    scope <- the$term_scopes[[absolute_path(object$model_dir)]]
    own <- terms[intersect(known$response, names(terms))]
    values <- with_trained_terms(data, own, scope)[[known$response]]
    found$truth <- check_truth(values, found$classes, known$response)
    found$weights <- data[[known$weights %||% ""]] %||% rep(1, nrow(data))
  }
  found
}

check_named <- function(known, verb, needs_response) {
  if (is.null(known) || (needs_response && length(known$response) != 1)) {
    abort_tfdistribute(
      "unsupported",
      problem = "{verb}() needs the names of the model's columns, which its training did not have.",
      remedy = "Train it with a formula and a data frame, as in train(model, y ~ x, data = data).",
      argument = "object"
    )
  }
}

check_truth <- function(values, classes, name) {
  truth <- if (is.null(classes)) values + 0 else match(as.character(values), classes)
  if (anyNA(truth)) {
    abort_tfdistribute(
      "input",
      problem = "The response `{name}` is {show_value(as.character(values[is.na(truth)][[1]]))} in a row.",
      remedy = if (is.null(classes)) {
        "Remove rows without a response."
      } else {
        "Remove such rows. The classes are {quoted(utils::head(classes, 10))}."
      },
      argument = "data"
    )
  }
  truth
}

# Check names of columns that the model reads.
check_variables <- function(names, found, argument) {
  unknown <- setdiff(check_strings(names, argument = argument), found$variables)
  if (length(unknown) > 0) {
    abort_unknown_column(unknown, found$variables, argument, of = "model")
  }
  unique(names)
}

# Predictions with a column for each output, of two classes only for the second.
output_matrix <- function(object, data, type = NULL) {
  type <- type %||% names(prediction_types(object))[[1]]
  as.matrix(stats::predict(object, newdata = data, type = type))
}

# Rows that are predicted together. More are not predicted faster, and need more memory.
most_predicted <- 2e5

# Predict a copy of the rows of `data` for each of the `cases`. `copy` returns the columns that differ in a case: a list
# by column with the numbers of the rows from which the values come, so that a value keeps its type. `summarize` gets
# the predictions of each copy. `...` goes to output_matrix().
predict_copies <- function(object, data, cases, copy, summarize, ...) {
  rows <- seq_len(nrow(data))
  part <- (seq_along(cases) - 1) %/% max(1, most_predicted %/% nrow(data))
  found <- lapply(unname(split(cases, part)), function(cases) {
    copies <- lapply(cases, copy)
    stacked <- lapply(rlang::set_names(names(data)), function(name) {
      own <- lapply(copies, function(copy) copy[[name]] %||% rows)
      rows_at(data[[name]], unlist(own, use.names = FALSE))
    })
    predicted <- output_matrix(object, list2DF(stacked), ...)
    lapply((seq_along(cases) - 1) * nrow(data), function(before) {
      summarize(predicted[before + rows, , drop = FALSE])
    })
  })
  unlist(found, recursive = FALSE)
}

rows_at <- function(values, rows) {
  if (is.null(dim(values))) values[rows] else values[rows, , drop = FALSE]
}

# A tibble of `columns` and a matrix of numbers, with a row for each number and a column that names the outputs.
long_outputs <- function(object, columns, numbers, name) {
  columns <- lapply(columns, rows_at, rep(seq_len(nrow(numbers)), ncol(numbers)))
  if (ncol(numbers) > 1) {
    outputs <- colnames(numbers) %||% seq_len(ncol(numbers))
    columns[[kind_of_outputs(object)]] <- factor(rep(outputs, each = nrow(numbers)), outputs)
  }
  columns[[name]] <- as.vector(numbers)
  tibble::new_tibble(columns)
}

name_of_output <- function(found) {
  response <- paste(found$response, collapse = "")
  event <- if (length(found$classes) == 2) paste(" =", found$classes[[2]])
  if (is.null(found$classes)) response else paste0("probability of ", response, event)
}

# A tibble with a line that print() shows above it.
new_inspection <- function(rows, kind, line, ...) {
  classes <- paste0("tfdistribute_", c(kind, "inspection"))
  tibble::new_tibble(rows, line = line, ..., class = classes)
}

#' @export
print.tfdistribute_inspection <- function(x, ...) {
  writeLines(strwrap(attr(x, "line"), width = 100, exdent = 2))
  print(tibble::new_tibble(unclass_list(x)), ...)
  invisible(x)
}

#' @export
residuals.tfdistribute_estimator <- function(object, data, ...) {
  if (missing(data)) {
    abort_no_data("residuals", "residuals(model, data)")
  }
  check_call(...)
  found <- inspected(object, data, "residuals", needs_response = TRUE)
  predicted <- output_matrix(object, found$data)
  classes <- if (length(found$classes) == 2) 2 else seq_along(found$classes)
  truth <- if (length(classes) > 0) outer(found$truth, classes, "==") else found$truth
  drop(as.vector(truth) - predicted)
}

# Methods for explain() of DALEX: predictions in the form of its other methods, and the kind of the model.
yhat.tfdistribute_estimator <- function(model, newdata, ...) {
  drop(output_matrix(model, newdata))
}

model_info.tfdistribute_estimator <- function(model, is_multiclass = FALSE, ...) {
  kinds <- if (is_multiclass) "multiclass" else "classification"
  kind <- if (kind_of_outputs(model) %in% "class") kinds else "regression"
  version <- as.character(utils::packageVersion("tfdistribute"))
  structure(list(package = "tfdistribute", ver = version, type = kind), class = "model_info")
}
