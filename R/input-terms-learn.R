# What terms of formulas learn from all rows, and keep in their calls.

learn_term <- function(expression, name, variables, rows, env, available) {
  home <- list2env(term_functions(), parent = env)
  scope <- list(
    variables = variables,
    available = available,
    rows = rows,
    env = env,
    value_of = function(call) eval(call, variables, home)
  )
  learned <- with_term_errors(
    name,
    variables,
    if (rlang::is_call(expression, c(":", "%in%"))) {
      learn_interaction(expression, name, scope)
    } else {
      learn_call(expression, scope)
    }
  )
  # The column has its own rules for new levels.
  learned <- if (rlang::is_call(learned, ".levels")) learned[[2]] else learned
  # Numbers in hexadecimal are restored to the bit.
  control <- c("keepNA", "keepInteger", "niceNames", "hexNumeric")
  paste(deparse(learned, 500L, control = control), collapse = "\n")
}

# The call without anything that depends on other rows: a summary of the rows becomes its value, and a basis of
# poly(), levels, breaks and a center become arguments.
learn_call <- function(call, scope) {
  if (is.name(call)) {
    return(learn_name(call, scope))
  }
  # Names in these calls are not variables.
  if (!is.call(call) || rlang::is_call(call, c("function", "$", "@", "~"))) {
    return(call)
  }
  name <- function_name(call)
  if (name %in% names(term_functions())) {
    call[[1]] <- as.name(name)
  }
  for (i in seq_along(call)[-1]) {
    if (!rlang::is_missing(call[[i]])) {
      call[i] <- list(learn_call(call[[i]], scope))
    }
  }
  if (name %in% row_functions) {
    return(call)
  }
  value <- scope$value_of(call)
  if (NROW(value) != scope$rows) {
    return(as_constant(value) %||% call)
  }
  if (name == "cut") {
    call <- learn_breaks(call, scope)
  } else if (name == "scale") {
    call <- match.call(scale, call)
  }
  call <- stats::makepredictcall(value, call)
  if (is.factor(value)) with_levels(call, value) else call
}

learn_name <- function(name, scope) {
  text <- as.character(name)
  if (text %in% names(scope$variables)) {
    value <- scope$variables[[text]]
    return(if (is.factor(value)) with_levels(name, value) else name)
  }
  value <- get0(text, envir = scope$env)
  if (is.function(value)) {
    return(call(".function", text))
  }
  # A variable outside of the data is a setting, not a column.
  constant <- if (NROW(value) == 1 || NROW(value) != scope$rows) as_constant(value)
  constant %||% abort_unknown_column(text, scope$available, "object", subject = "The formula")
}

# A value that text can hold, or NULL.
as_constant <- function(value) {
  if (inherits(value, "Date")) {
    call("as.Date", as.double(value), origin = "1970-01-01")
  } else if (is.atomic(value) && !is.object(value)) {
    value
  }
}

with_levels <- function(call, value) {
  levels <- if (is.logical(value)) c("FALSE", "TRUE") else levels(factor(value))
  levels <- if (is.factor(value)) levels(value) else levels
  as.call(list(quote(.levels), call, levels))
}

# Where the training cut its rows, as in cut.default(). stats::makepredictcall() leaves this open.
learn_breaks <- function(call, scope) {
  call <- match.call(cut.default, call)
  values <- scope$value_of(call$x)
  breaks <- scope$value_of(call$breaks)
  if (is.numeric(values) && length(breaks) == 1) {
    ends <- range(values, na.rm = TRUE)
    breaks <- seq(ends[[1]], ends[[2]], length.out = breaks + 1)
    breaks[c(1, length(breaks))] <- ends + c(-1, 1) * diff(ends) / 1000
    call$breaks <- breaks
  }
  call
}

# Interactions -----------------------------------------------------------------------------------

# Columns of an interaction, of which each is a number per row, or a level.
most_products <- 1000

learn_interaction <- function(expression, name, scope) {
  parts <- lapply(interaction_parts(expression), function(part) {
    call <- learn_call(part, scope)
    value <- scope$value_of(call)
    is_label <- is.factor(value) || is.character(value) || is.logical(value)
    call <- if (is_label && !rlang::is_call(call, ".levels")) with_levels(call, value) else call
    list(call = call, columns = if (is_label) length(call[[3]]) else NCOL(value))
  })
  columns <- prod(vapply(parts, function(part) as.double(part$columns), 0))
  if (columns > most_products) {
    abort_tfdistribute(
      "input",
      problem = "The interaction `{name}` has {format(columns, big.mark = ',')} columns, more than {most_products}.",
      remedy = c(
        "Leave it out of the formula, and give the model ",
        "column_crossed(c({quoted(all.vars(expression))}), hash_bucket_size = 1000)."
      ),
      argument = "object",
      value = name
    )
  }
  as.call(c(quote(.product), lapply(parts, function(part) part$call)))
}

interaction_parts <- function(expression) {
  if (rlang::is_call(expression, c(":", "%in%"))) {
    c(interaction_parts(expression[[2]]), interaction_parts(expression[[3]]))
  } else {
    list(expression)
  }
}
