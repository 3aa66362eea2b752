# Replacements of missing values that `impute` computes. The training computes them from its rows, and the model keeps
# them, so that a row gets the same prediction in any company.

# The arguments of a training, whose evaluations get the terms and the replacements of the training. `show` is whether
# new replacements are printed, and `known` what the model keeps of its first training.
with_fitted_replacements <- function(object, arguments, show, known) {
  training <- intersect(c("input_fn", "train_spec"), names(arguments))
  others <- intersect(c("eval_spec", "validation"), names(arguments))
  arguments <- with_fitted_terms(object, arguments, training, others, known$terms)
  computes <- function(name) length(source_of(arguments[[name]])$computed) > 0
  if (!any(vapply(c(training, others), computes, NA))) {
    return(arguments)
  }
  known <- known$replacements %||% trained_state(object)$replacements
  weights <- row_weights(arguments[[training]], object)
  fitted <- fit_replacements(source_of(arguments[[training]]), known, weights)
  if (show) {
    note_replacements(fitted, setdiff(names(fitted$replacements), names(known)))
  }
  arguments[[training]] <- map_source(arguments[[training]], function(input) fitted)
  known <- utils::modifyList(known, as.list(fitted$replacements))
  for (name in others) {
    arguments[[name]] <- map_source(arguments[[name]], with_replacements, known)
  }
  arguments
}

# The weights of rows in memory; NULL for equal weights, and for weights that the verb will reject.
row_weights <- function(x, object) {
  data <- source_of(x)$data
  if (inherits(x, "tfdistribute_train_spec")) {
    x <- x$input
  }
  name <- object$weight_column %||% x$weights
  weights <- if (isTRUE(name %in% column_names(data))) as_double(input_column(data, name))
  if (all(is.finite(weights) & weights >= 0) && any(weights > 0)) weights
}

fit_replacements <- function(input, known, weights = NULL) {
  own <- setdiff(names(input$computed), names(known))
  values <- lapply(rlang::set_names(own), function(name) replacement_from(input, name, weights))
  known <- utils::modifyList(known, lapply(Filter(Negate(is.null), values), plain_value))
  input <- with_replacements(input, known)
  input["replacements"] <- list(known[intersect(names(input$computed), names(known))])
  input
}

note_replacements <- function(input, names) {
  shown <- vapply(
    names,
    function(name) {
      type <- input$columns[[name]]$type
      paste0("`", name, "` ", format(typed_value(input$replacements[[name]], type)))
    },
    ""
  )
  if (length(shown) > 0) {
    rlang::inform(c(
      i = paste0("The model keeps the replacements of missing values: ", toString(shown), ".")
    ))
  }
}

# NULL if the column has no values to compute it from, or needs none and the function does not return one.
replacement_from <- function(input, name, weights) {
  stored <- input_column(input$data, name)
  column <- input$columns[[name]]
  known <- if (is.null(weights)) input$impute[[name]]
  known %||%
    if (!all(missing_in(stored))) {
      computed <- computed_value(input$computed[[name]], column, stored, weights)
      as_fill_value(computed, column, stored)
    }
}

# The input with `known` values, by feature, in place of those that `impute` computes from its own rows.
with_replacements <- function(input, known) {
  columns <- input$columns
  impute <- input$impute
  for (name in intersect(names(input$computed), names(known))) {
    stored <- input_column(input$data, name)
    column <- columns[[name]]
    if (!is.factor(stored)) {
      column$type <- column_type(stored, NULL)
    }
    value <- as_fill_value(typed_value(known[[name]], column$type), column, stored)
    if (has_missing(stored) && !is.null(value)) {
      impute[[name]] <- value
      columns[[name]] <- column_with(column, value, stored)
    }
  }
  input["columns"] <- list(columns)
  input["impute"] <- list(impute)
  input
}

# The replacements of a model's training for the features of data that lack values, as `impute`.
trained_impute <- function(data, known) {
  named <- intersect(as.character(names(known)), column_names(data))
  lacks <- Filter(function(name) has_missing(input_column(data, name)), named)
  if (length(lacks) == 0) {
    return(NULL)
  }
  lapply(rlang::set_names(lacks), function(name) {
    typed_value(known[[name]], column_type(input_column(data, name), NULL))
  })
}

# As the model keeps it: text, or a number of days, of seconds.
plain_value <- function(value) {
  if (is.character(value)) value else as_double(value)
}

typed_value <- function(value, type) {
  switch(
    if (is.character(value)) "string" else type,
    date = as.Date(value, origin = "1970-01-01"),
    datetime = as.POSIXct(value, origin = "1970-01-01", tz = "UTC"),
    integer64 = bit64::as.integer64(value),
    logical = value != 0,
    value
  )
}

check_replaced <- function(input) {
  for (name in setdiff(names(input$computed), names(input$impute))) {
    if (has_missing(input_column(input$data, name))) {
      abort_tfdistribute(
        "input",
        problem = "All values of `{name}` are missing, so `impute` computes no replacement from them.",
        remedy = "Give a value, as in impute = list(`{name}` = {impute_example(input$columns[[name]])}).",
        argument = "impute",
        value = name
      )
    }
  }
}

summary_functions <- list(mean = mean, median = stats::median)

# The function that computes a replacement from the other values of a column. NULL for a plain value. In columns of
# text, "mean" is text.
summary_function <- function(value, column) {
  if (is.function(value)) {
    value
  } else if (rlang::is_string(value, names(summary_functions)) && column$type != "string") {
    summary_functions[[value]]
  }
}

# A value, or the result of the function in its place. The mean of a matrix would not be the mean of any of its columns.
computed_value <- function(value, column, values, weights = NULL) {
  summary <- summary_function(value, column)
  if (is.null(summary) || NCOL(values) != 1 || is.list(values)) {
    return(value)
  }
  counts <- !missing_in(values) & (weights %||% 1) > 0
  if (!any(counts)) {
    return(NULL)
  }
  name <- names(Filter(function(known) identical(known, summary), summary_functions))
  if (is.null(weights) || length(name) == 0) {
    summary(values[counts])
  } else {
    weighted_functions[[name]](values[counts], weights[counts])
  }
}

# The results of the summary functions for rows that are repeated by their weights.
weighted_functions <- list(
  mean = function(x, weights) {
    if (inherits(x, "integer64")) {
      # As its mean(), a whole number.
      return(bit64::as.integer64(stats::weighted.mean(as_double(x), weights)))
    }
    stats::weighted.mean(x, weights)
  },
  median = function(x, weights) {
    shares <- cumsum(weights[order(x)]) / sum(weights)
    # Shares are equal up to their rounding.
    middle <- c(which(shares > 0.5 - 1e-12)[[1]], which(shares > 0.5 + 1e-12)[[1]])
    mean(sort(x)[middle])
  }
)
