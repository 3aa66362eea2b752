# Formulas as inputs, which only name columns.

#' @rdname input_fn
#' @export
input_fn.formula <- function(object, data, ..., weights = NULL) {
  if (missing(data)) {
    abort_tfdistribute(
      "input",
      problem = "`data` was not given.",
      remedy = "Give the data frame that holds the formula's columns as `data`.",
      argument = "data"
    )
  }
  if (is_dataset(data)) {
    read <- read_formula(object, dataset_columns(data), NULL)
    return(input_fn(
      data,
      features = tidyselect::all_of(read$features),
      response = tidyselect::all_of(read$response),
      weights = {{ weights }},
      ...
    ))
  }
  table <- NULL
  if (is_spark_table(data)) {
    table <- spark_table(data)
    data <- spark_columns(table)
  }
  if (!is_data(data)) {
    abort_not_data(
      data,
      "data",
      expected = "a data frame, a matrix or a named list",
      remedy = "Put the examples into a data frame, one per row.",
      formula = object
    )
  }
  if (any(c("features", "response") %in% ...names_of(...))) {
    abort_tfdistribute(
      "argument",
      problem = "A formula already names features and response.",
      remedy = "Leave out `features` and `response`.",
      argument = "features"
    )
  }
  weights <- if (length(column_names(data)) > 0) {
    select_response(rlang::enquo(weights), data, "weights")
  }
  read <- read_formula(object, data, weights)
  input <- input_fn(
    table %||% read$data,
    features = tidyselect::all_of(read$features),
    response = tidyselect::all_of(read$response),
    weights = tidyselect::all_of(weights),
    ...
  )
  attr(input, "formula") <- TRUE
  input
}

# Names of the `features` and the `response` of a formula, and the `data`, to which a response of several columns is
# added.
read_formula <- function(formula, data, weights = NULL) {
  left <- if (length(formula) == 3) formula[[2]]
  available <- column_names(data)
  several <- response_parts(left)
  data <- bind_response(data, several, available)
  response <- if (length(several) > 0) {
    deparse1(left)
  } else if (!is.null(left)) {
    formula_name(left)
  }
  others <- setdiff(available, c(response, several, weights))
  features <- formula_features(formula[[length(formula)]], others)
  unknown <- setdiff(c(response, features), c(available, if (length(several) > 0) response))
  if (length(unknown) > 0 && length(available) > 0) {
    abort_unknown_column(unknown, available, "object", subject = "The formula")
  }
  list(features = features, response = response, data = data)
}

# The columns of cbind(y1, y2). Empty for another response.
response_parts <- function(expression) {
  if (is.call(expression) && identical(expression[[1]], quote(cbind))) {
    vapply(as.list(expression)[-1], formula_name, "")
  }
}

bind_response <- function(data, parts, available) {
  if (length(parts) == 0) {
    return(data)
  }
  unknown <- setdiff(parts, available)
  if (length(unknown) > 0) {
    abort_unknown_column(unknown, available, "object", subject = "The formula")
  }
  data <- if (is.matrix(data)) as.data.frame(data) else data
  name <- deparse1(as.call(c(quote(cbind), lapply(parts, as.name))))
  data[[name]] <- do.call(cbind, lapply(parts, function(part) data[[part]]))
  data
}

with_response <- function(data, response) {
  if (is.null(response) || response %in% column_names(data)) {
    return(data)
  }
  parts <- response_parts(tryCatch(str2lang(response), error = function(error) NULL))
  bind_response(data, parts, column_names(data))
}

...names_of <- function(...) {
  names(substitute(list(...)))
}

# Names on the right-hand side of a formula, in their order. `.` stands for `others`, all columns but the response.
# Subtracted names are omitted.
formula_features <- function(expression, others) {
  if (identical(expression, quote(.))) {
    return(others)
  }
  if (!is.call(expression)) {
    return(formula_name(expression))
  }
  operator <- deparse1(expression[[1]])
  if (operator == "(") {
    return(formula_features(expression[[2]], others))
  }
  if (operator %in% c("+", "-") && length(expression) == 3) {
    left <- formula_features(expression[[2]], others)
    right <- formula_features(expression[[3]], others)
    return(if (operator == "+") union(left, right) else setdiff(left, right))
  }
  formula_name(expression)
}

formula_name <- function(expression) {
  if (is.name(expression) || is.character(expression)) {
    return(as.character(expression))
  }
  text <- deparse1(expression)
  if (is.numeric(expression)) {
    abort_tfdistribute(
      "input",
      problem = "`{text}` in the formula is an intercept, which an input does not have.",
      remedy = "Name columns only; the model has its own intercept.",
      argument = "object",
      value = text
    )
  }
  abort_tfdistribute(
    "input",
    problem = "`{text}` in the formula is a computation, which an input does not perform.",
    remedy = c(
      "Compute it first, as in data$new <- ...; ",
      "for an interaction give the model column_crossed()."
    ),
    argument = "object",
    value = text
  )
}
