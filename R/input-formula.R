# Formulas as inputs: they only name columns.

#' @rdname input_fn
#' @export
input_fn.formula <- function(object, data, ..., weights = NULL) {
  if (missing(data)) {
    abort_tfdistribute(
      "input",
      problem = "`data` was not given.",
      remedy = "Give the data frame that holds the formula's columns: input_fn(y ~ x, data).",
      argument = "data"
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
  response <- if (length(object) == 3) formula_name(object[[2]])
  available <- column_names(data)
  weights <- if (length(available) > 0) select_response(rlang::enquo(weights), data, "weights")
  others <- setdiff(available, c(response, weights))
  features <- formula_features(object[[length(object)]], others)
  unknown <- setdiff(c(response, features), available)
  if (length(unknown) > 0 && length(available) > 0) {
    abort_unknown_column(unknown, available, "object", subject = "The formula")
  }
  input_fn(
    data,
    features = tidyselect::all_of(features),
    response = tidyselect::all_of(response),
    weights = tidyselect::all_of(weights),
    ...
  )
}

...names_of <- function(...) {
  names(substitute(list(...)))
}

# Names on the right-hand side of a formula, in their order. `.` means `others`, all columns but the response;
# subtracted names are left out.
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
