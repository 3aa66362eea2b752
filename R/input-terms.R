# Computed terms of formulas. A term is kept as a call that contains all it learned from the rows of the training, such
# as levels and the coefficients of poly(), so that a row has the same value in any company.

# Functions whose value in a row depends on this row only.
row_functions <- strsplit(
  paste(
    "( + - * / ^ %% %/% < > <= >= == != ! & | %in% : [ abs sqrt exp expm1 log log2 log10 log1p sin cos tan asin acos",
    "atan atan2 sinh cosh tanh floor ceiling round signif trunc sign I identity is.na is.finite is.nan ifelse pmin",
    "pmax xor beta choose gamma lgamma as.numeric as.double as.integer as.logical as.character nchar tolower toupper",
    "trimws substr substring paste paste0 startsWith endsWith grepl sub gsub as.Date as.POSIXct format julian",
    "difftime cbind dnorm pnorm qnorm plogis qlogis"
  ),
  " "
)[[1]]

# Functions that may learn from all rows. They and the row functions are all that a model may call without trust.
learning_functions <- strsplit(
  paste(
    "c list factor as.factor ordered relevel interaction cut findInterval scale poly ns bs mean median min max range",
    "sum length sd var mad IQR quantile numeric"
  ),
  " "
)[[1]]

# With the functions that only learned calls have.
listed_functions <- c(row_functions, learning_functions, ".levels", ".product", ".function")

# The functions by name. They are R's own, whatever packages are attached.
term_functions <- function() {
  names <- c(row_functions, learning_functions)
  homes <- list(baseenv(), asNamespace("stats"), asNamespace("splines"))
  find <- function(name) get(name, Find(function(home) exists(name, home, inherits = FALSE), homes))
  c(
    lapply(rlang::set_names(names), find),
    list(.levels = with_trained_levels, .product = product_of_parts, .function = function_named)
  )
}

# The `data` with a column for each of the `calls`, its `terms` as text by name, the `variables` that they read, and a
# `scope` of the user's own functions, or NULL. The `known` terms of a model apply before the data's own.
compute_terms <- function(calls, data, env, known = NULL, may_be_empty = FALSE) {
  if (length(calls) == 0) {
    return(list(data = data))
  }
  data <- if (is.matrix(data)) as.data.frame(data) else data
  used <- intersect(column_names(data), unlist(lapply(calls, all.vars)))
  variables <- lapply(unclass_list(as.list(data))[used], as_r_array)
  rows <- check_rows(if (length(used) > 0) variables else data, may_be_empty)
  named <- setdiff(unlist(lapply(calls, all.vars)), used)
  arguments <- Filter(function(name) exists(name, env, mode = "function"), named)
  own <- c(unlist(lapply(calls, unlisted_functions)), setdiff(arguments, listed_functions))
  scope <- if (length(own) > 0) list(functions = own, env = env)
  terms <- known[intersect(names(calls), names(known))]
  for (name in names(calls)) {
    is_known <- name %in% names(terms)
    if (!is_known) {
      terms[[name]] <- learn_term(calls[[name]], name, variables, rows, env, column_names(data))
    }
    value <- evaluate_term(terms[[name]], name, variables, rows, scope)
    if (!is_known) {
      check_by_row(value, terms[[name]], name, variables, scope)
    }
    data[[name]] <- value
  }
  list(data = data, terms = terms, variables = variables, scope = scope)
}

# The value of a term, which must have `functions` that are listed, or that the user's own formula calls.
evaluate_term <- function(text, name, variables, rows, scope = NULL) {
  call <- str2lang(text)
  functions <- term_functions()
  refused <- setdiff(unlisted_functions(call), scope$functions)
  if (length(refused) > 0) {
    abort_unlisted(refused[[1]], name)
  }
  home <- list2env(functions, parent = scope$env %||% emptyenv())
  value <- with_term_errors(name, variables, eval(call, variables, home))
  if (NROW(value) != rows) {
    abort_tfdistribute(
      "input",
      problem = "The term `{name}` of the formula has {NROW(value)} value{?s} for {rows} rows.",
      remedy = "Compute one value or one row of a matrix for each row of the data.",
      argument = "object",
      value = name
    )
  }
  if (is.matrix(value)) {
    # Without the attributes of poly(), ns() and scale().
    value <- array(as.vector(unclass(value)), if (ncol(value) == 1) nrow(value) else dim(value))
    return(if (length(dim(value)) == 1) as.vector(value) else value)
  }
  if (inherits(value, "AsIs")) structure(value, class = setdiff(class(value), "AsIs")) else value
}

unlisted_functions <- function(call) {
  setdiff(called_functions(call), listed_functions)
}

called_functions <- function(call) {
  found <- if (is.call(call)) function_name(call)
  if (identical(found, ".function")) {
    return(if (rlang::is_string(call[[2]])) call[[2]] else deparse1(call))
  }
  parts <- if (is.call(call)) as.list(call)[-1] else as.list(call)
  for (part in parts) {
    if (!rlang::is_missing(part) && (is.call(part) || is.pairlist(part))) {
      found <- c(found, called_functions(part))
    }
  }
  unique(found)
}

function_name <- function(call) {
  sub("^(base|stats|splines)::", "", deparse1(call[[1]]))
}

# What a learned call contains ---------------------------------------------------------------------

# A function that is an argument, which a name would not tell from a column.
function_named <- function(name) {
  get(name, envir = parent.frame(), mode = "function")
}

with_trained_levels <- function(x, levels) {
  labels <- as.character(x)
  new <- setdiff(labels, c(levels, NA))
  if (length(new) > 0) {
    abort_tfdistribute(
      "input",
      problem = "`{deparse1(substitute(x))}` has the new label {quoted(new[[1]])}, which training did not have.",
      remedy = "Correct or remove these rows. The labels are {quoted(utils::head(levels, 10))}.",
      argument = deparse1(substitute(x)),
      value = new[[1]]
    )
  }
  factor(labels, levels, ordered = is.ordered(x))
}

# A factor, or the columns of model.matrix() with an indicator for every level.
product_of_parts <- function(...) {
  parts <- list(...)
  if (all(vapply(parts, is.factor, NA))) {
    return(Reduce(`:`, parts))
  }
  Reduce(
    function(one, other) {
      first <- rep(seq_len(ncol(one)), ncol(other))
      second <- rep(seq_len(ncol(other)), each = ncol(one))
      one[, first, drop = FALSE] * other[, second, drop = FALSE]
    },
    lapply(parts, function(part) {
      if (is.factor(part)) {
        outer(as.integer(part), seq_along(levels(part)), "==") + 0
      } else {
        matrix(as_double(part), nrow = NROW(part))
      }
    })
  )
}

# Errors -----------------------------------------------------------------------------------------

with_term_errors <- function(name, variables, code) {
  rlang::try_fetch(code, error = function(error) {
    if (inherits(error, "tfdistribute_error")) {
      return(rlang::zap())
    }
    lacking <- Filter(has_missing, variables)
    abort_tfdistribute(
      "input",
      problem = "The term `{name}` of the formula cannot be computed: {conditionMessage(error)}.",
      remedy = if (length(lacking) > 0) {
        "Remove or replace missing values first, those where is.na({names(lacking)[[1]]})."
      },
      argument = "object",
      value = name
    )
  })
}

# The first and the last row, in another order and without the others.
check_by_row <- function(value, text, name, variables, scope) {
  picked <- c(NROW(value), 1)
  pick <- function(x) if (is.matrix(x)) x[picked, , drop = FALSE] else x[picked]
  again <- evaluate_term(text, name, lapply(variables, pick), 2, scope)
  plain <- function(x) if (is.factor(x)) as.character(x) else x
  if (!isTRUE(all.equal(plain(pick(value)), plain(again), check.attributes = FALSE))) {
    abort_tfdistribute(
      "input",
      problem = "The term `{name}` of the formula gives a row another value among other rows.",
      remedy = "Compute it first, as in data$new <- ...",
      argument = "object",
      value = name
    )
  }
}

abort_unlisted <- function(unlisted, name) {
  abort_tfdistribute(
    "input",
    problem = "The term `{name}` of the model calls {unlisted}(), which only a formula of your own may call.",
    remedy = "Give the formula with the data, as in predict(model, ~ {name}, data = newdata).",
    argument = "object",
    value = unlisted
  )
}

# Terms of a trained model -----------------------------------------------------------------------

# The data with columns for the `terms` of a model, unless it has columns of these names.
with_trained_terms <- function(data, terms, scope, may_be_empty = FALSE) {
  if (length(terms) == 0) {
    return(data)
  }
  data <- if (is.matrix(data)) as.data.frame(data) else data
  variables <- lapply(unclass_list(as.list(data))[variables_of(terms)], as_r_array)
  rows <- check_rows(variables, may_be_empty)
  for (name in names(terms)) {
    data[[name]] <- evaluate_term(terms[[name]], name, variables, rows, scope)
  }
  data
}

# The arguments of a training. The session keeps the scope of the user's functions for data without a formula.
with_fitted_terms <- function(object, arguments, training, others, known) {
  own <- lapply(arguments[c(training, others)], function(argument) source_of(argument)$terms)
  if (all(lengths(own) == 0)) {
    return(arguments)
  }
  known <- known %||% trained_state(object)$terms
  known <- utils::modifyList(as.list(own[[training]]), known)
  for (name in names(own)[lengths(own) > 0]) {
    arguments[[name]] <- map_source(arguments[[name]], with_known_terms, known)
  }
  the$term_scopes[[absolute_path(object$model_dir)]] <- source_of(arguments[[training]])$scope
  arguments
}

# The input with the `known` terms of a model in place of its own.
with_known_terms <- function(input, known) {
  names <- intersect(names(input$terms), names(known))
  fields <- unclass(input)[c("data", "columns", "terms")]
  fields$terms[names] <- known[names]
  for (name in names) {
    values <- evaluate_term(known[[name]], name, input$variables, input$rows, input$scope)
    if (input$keeps_missing && !identical(name, input$response)) {
      values <- with_missing(values)
    }
    before <- input$columns[[name]]
    factors <- if (before$as_labels) {
      "labels"
    } else if (before$type == "integer") {
      "codes"
    }
    column <- describe_column(values, name, factors, identical(name, input$response))
    fill <- input$impute[[name]]
    fields$columns[[name]] <- if (is.null(fill)) column else column_with(column, fill, values)
    fields$data[[name]] <- values
  }
  input[names(fields)] <- fields
  filled <- union(names(input$impute), names(input$computed))
  filled <- if (input$keeps_missing) setdiff(names(input$columns), input$response) else filled
  check_missing(input$data, input$columns, input$response, input$impute, filled)
  input
}

variables_of <- function(terms) {
  unique(unlist(lapply(terms, function(text) all.vars(str2lang(text)))))
}
