# Formulas as inputs, which name columns and, for data in memory, compute terms from them.

#' @rdname input_fn
#' @export
input_fn.formula <- function(object, data, ..., weights = NULL) {
  if (missing(data)) {
    abort_tfdistribute(
      "input",
      problem = "`data` was not given.",
      remedy = "Give the data frame that holds the formula's columns as `data`."
    )
  }
  if (is_dataset(data)) {
    read <- read_formula(object, dataset_columns(data), computes = FALSE)
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
  read <- read_formula(object, data, weights, computes = is.null(table), verb = verb_of(...))
  input <- input_fn(
    table %||% read$data,
    features = tidyselect::all_of(read$features),
    response = tidyselect::all_of(read$response),
    weights = tidyselect::all_of(weights),
    ...
  )
  if (length(read$terms) > 0) {
    input <- map_source(input, with_fields, read)
  }
  if (inherits(input, "tfdistribute_in_memory_input")) {
    attr(input, "formula") <- TRUE
  }
  input
}

with_fields <- function(input, read) {
  fields <- c("terms", "variables", "scope")
  input[fields] <- read[fields]
  input
}

# Names of the `features` and the `response` of a formula, and the `data` with a column for each term that is computed,
# as in compute_terms(). Data that is not in memory `computes` none. `verb` is as in verb_of().
read_formula <- function(formula, data, weights = NULL, computes = TRUE, verb = NULL) {
  left <- if (length(formula) == 3) formula[[2]]
  available <- column_names(data)
  response <- if (is.character(left)) as.name(left) else left
  others <- setdiff(available, c(all.vars(response), weights))
  read <- read_terms(formula[[length(formula)]], others)
  terms <- c(if (!is.null(response)) list(response), read$terms)
  names(terms) <- vapply(
    terms,
    function(term) if (is.name(term)) as.character(term) else deparse1(term),
    ""
  )
  is_call <- vapply(terms, is.call, NA)
  unknown <- setdiff(names(terms)[!is_call], available)
  if (length(unknown) > 0 && length(available) > 0) {
    abort_unknown_column(unknown, available, "object", subject = "The formula")
  }
  if (any(is_call) && !computes) {
    abort_computation(names(terms)[is_call][[1]])
  }
  computed <- compute_terms(
    terms[is_call],
    data,
    environment(formula),
    verb$terms,
    isTRUE(verb$predicts)
  )
  features <- utils::tail(names(terms), length(read$terms))
  if (!read$intercept && !(computes && has_labels(computed$data, features))) {
    abort_no_intercept(formula)
  }
  c(list(features = features, response = if (!is.null(response)) names(terms)[[1]]), computed)
}

# Names or calls on the right-hand side of a formula as `terms`, and whether it has an `intercept`. `.` stands for
# `others`, all columns but the response.
read_terms <- function(expression, others) {
  if (names_only(expression)) {
    # R's terms() needs the square of the number of columns.
    return(list(terms = lapply(named_features(expression, others), as.name), intercept = TRUE))
  }
  columns <- as.data.frame(rlang::set_names(rep(list(0), length(others)), others), optional = TRUE)
  terms <- tryCatch(
    stats::terms(rlang::new_formula(NULL, expression), data = columns),
    error = function(error) abort_no_terms(expression, error)
  )
  if (!is.null(attr(terms, "offset"))) {
    abort_offset(attr(terms, "variables")[[attr(terms, "offset")[[1]] + 1]])
  }
  list(
    terms = lapply(attr(terms, "term.labels"), str2lang),
    intercept = attr(terms, "intercept") == 1
  )
}

...names_of <- function(...) {
  names(substitute(list(...)))
}

names_only <- function(expression) {
  if (!is.call(expression)) {
    return(is.name(expression) || is.character(expression))
  }
  is_sum <- rlang::is_call(expression, "(") || rlang::is_call(expression, c("+", "-"), n = 2)
  is_sum && all(vapply(as.list(expression)[-1], names_only, NA))
}

# Names in their order, without subtracted ones.
named_features <- function(expression, others) {
  if (identical(expression, quote(.))) {
    return(others)
  }
  if (!is.call(expression)) {
    return(as.character(expression))
  }
  parts <- lapply(as.list(expression)[-1], named_features, others)
  Reduce(if (rlang::is_call(expression, "-")) setdiff else union, parts)
}

# The indicators of all labels, or TRUE and FALSE, add up to an intercept, as in lm().
has_labels <- function(data, names) {
  is_label <- function(values) is.factor(values) || is.character(values) || is.logical(values)
  any(vapply(names, function(name) is_label(input_column(data, name)), NA))
}

abort_no_terms <- function(expression, error) {
  abort_tfdistribute(
    "input",
    problem = "`{deparse1(expression)}` is not the right side of a formula: {conditionMessage(error)}.",
    remedy = "Write it as for lm(), with quotes only around a whole name.",
    argument = "object",
    value = deparse1(expression)
  )
}

abort_no_intercept <- function(formula) {
  abort_tfdistribute(
    "input",
    problem = "The formula {deparse1(formula)} leaves out the intercept, which every model has.",
    remedy = "Leave out `- 1` and `+ 0`.",
    argument = "object",
    value = deparse1(formula)
  )
}

abort_offset <- function(offset) {
  abort_tfdistribute(
    "input",
    problem = "`{deparse1(offset)}` in the formula is an offset, which models do not have.",
    remedy = c(
      "For numbers, subtract it from the response, as in I(y - {deparse1(offset[[2]])}) ~ x, and add it to the ",
      "predictions. For counts with an exposure e, learn the rate with e as weights, as in I(y / e) ~ x."
    ),
    argument = "object",
    value = deparse1(offset)
  )
}

abort_computation <- function(text) {
  abort_tfdistribute(
    "input",
    problem = "`{text}` in the formula is a computation, which only data in memory supports.",
    remedy = c(
      "Compute it where the data comes from, and name its column; ",
      "for an interaction give the model column_crossed()."
    ),
    argument = "object",
    value = text
  )
}
