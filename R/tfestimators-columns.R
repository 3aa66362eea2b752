# Feature columns in the style of tfestimators: formulas, c() of columns, and Python's own columns.

# Concatenate columns. Strings are kept, because they name features in the keys of column_crossed().
#' @export
c.tfdistribute_feature_column <- function(...) {
  parts <- lapply(list(...), function(part) {
    if (is_feature_column(part)) list(part) else unclass_list(as.list(part))
  })
  columns <- unlist(unname(parts), recursive = FALSE)
  if (all(vapply(columns, is_feature_column, NA))) new_feature_columns(columns) else columns
}

#' @export
c.tfdistribute_feature_columns <- c.tfdistribute_feature_column

# c("a", column) calls R's own c(), which dissolves the column.
check_whole_columns <- function(value, argument) {
  if (is_plain_list(value) && "kind" %in% names(value)) {
    abort_tfdistribute(
      "argument",
      problem = "`{argument}` holds a column that c() has taken apart.",
      remedy = "Put a column first in c(), as in c(column, \"education\"), or use list()."
    )
  }
}

# The columns of starts_with("d") ~ column_numeric(), from the right side, for the features on the left.
formula_columns <- function(formula, argument) {
  call <- formula[[length(formula)]]
  if (length(formula) != 3 || !is.call(call)) {
    abort_tfdistribute(
      "argument",
      problem = "`{argument}` holds {rlang::as_label(formula)}, a formula without a column function.",
      remedy = c(
        "Write it as in starts_with(\"d\") ~ column_numeric(), ",
        "or give the data after it: feature_columns(y ~ ., data)."
      ),
      argument = argument,
      value = rlang::as_label(formula)
    )
  }
  selected <- formula[[2]]
  if (identical(selected, quote(.))) {
    selected <- quote(everything())
  }
  eval(with_features(call, selected, environment(formula)), environment(formula))
}

# The call with the selection as the first argument of its innermost column function, which names features.
with_features <- function(call, selected, env) {
  made_of <- utils::head(names(formals(args(eval(call[[1]], env)))), 1)
  if (!identical(made_of, "...") && length(call) > 1 && is.call(call[[2]])) {
    call[[2]] <- with_features(call[[2]], selected, env)
    return(call)
  }
  as.call(append(as.list(call), list(selected), after = 1))
}

column_of_python <- function(object) {
  column_described_as(call_backend("describe_column", column = object))
}

# `described` has the name of a column function, its arguments, and the name of the feature as `key`.
column_described_as <- function(described) {
  arguments <- lapply(described$arguments, function(value) {
    if (!is.list(value)) {
      return(value)
    }
    if (is.null(names(value))) lapply(value, column_or_name) else column_described_as(value)
  })
  names(arguments)[names(arguments) == "key"] <- ""
  rlang::exec(described$verb, !!!arguments)
}

column_or_name <- function(key) {
  if (is.list(key)) column_described_as(key) else key
}

# The features from which tidyselect helpers in column_*() select.

#' Set the names that feature columns select from
#'
#' These functions are for scripts of tfestimators. In other scripts, use `names` of [feature_columns()] for the same
#' purpose. Inside a scope, functions such as [column_numeric()] accept tidyselect helpers and bare names in `...`, and
#' reject names that the scope does not have. Without a scope, they accept any names, but no helpers.
#'
#' `scoped_columns()` sets a scope until the calling function ends, `with_columns()` for one expression, and
#' `set_columns()` until the next call.
#'
#' @param columns Names of features: a character vector, or an object with names or column names, such as a data frame.
#'   `set_columns()` also accepts NULL, for no scope.
#' @param expr Expression that is evaluated in the scope.
#' @returns `with_columns()`: the value of `expr`. The other functions: the names of the previous scope, or NULL,
#'   invisibly.
#' @section Errors: `tfdistribute_argument_error` if `columns` has no names.
#' @references The interface follows tfestimators.
#' @seealso [feature_columns()]
#' @examples
#' with_columns(mtcars, feature_columns(column_numeric(starts_with("d"), -disp)))
#'
#' columns_of_cars <- function() {
#'   scoped_columns(mtcars)
#'   feature_columns(column_numeric(wt:qsec))
#' }
#' columns_of_cars()
#' @export
scoped_columns <- function(columns, ...) {
  check_call(...)
  old <- the$feature_scope
  names <- scope_names(columns)
  rlang::local_bindings(feature_scope = names, .env = the, .frame = parent.frame())
  invisible(old)
}

#' @rdname scoped_columns
#' @export
with_columns <- function(columns, expr, ...) {
  check_call(...)
  rlang::local_bindings(feature_scope = scope_names(columns), .env = the)
  expr
}

#' @rdname scoped_columns
#' @export
set_columns <- function(columns, ...) {
  check_call(...)
  old <- the$feature_scope
  the$feature_scope <- if (!is.null(columns)) scope_names(columns)
  invisible(old)
}

scope_names <- function(columns, argument = rlang::caller_arg(columns)) {
  names <- if (is.character(columns)) {
    columns
  } else if (is.matrix(columns)) {
    colnames(columns)
  } else if (is.data.frame(columns) || (is.vector(columns) && !is.object(columns))) {
    names(columns)
  }
  if (!is.character(names) || length(names) == 0 || anyNA(names) || !all(nzchar(names))) {
    expected <- "names of features, or a data frame or matrix that has them"
    abort_argument(columns, expected, argument)
  }
  unique(as_utf8(names, argument))
}

# Names from `...` ---------------------------------------------------------------------------------

# Names of features, at least one, from the quosures of the `...` of the column function that calls this one. Its other
# arguments without a default must be present.
select_features <- function(dots) {
  index <- sys.parent()
  verb <- called_function(index)
  known <- setdiff(names(formals(sys.function(index))), "...")
  named <- names(dots)[nzchar(names(dots))]
  if (length(named) > 0) {
    abort_tfdistribute(
      "argument",
      problem = "`{named[[1]]}` is not an argument of {verb}.",
      remedy = "{did_you_mean(named[[1]], known)}Use only {backquoted(known)}, and names of features."
    )
  }
  scope <- the$feature_scope
  names <- if (is.null(scope)) {
    unlist(lapply(dots, name_without_scope, verb = verb, known = known))
  } else {
    names_in_scope(dots, scope, verb)
  }
  if (length(names) == 0) {
    abort_tfdistribute(
      "argument",
      problem = "{verb} was given no feature.",
      remedy = if (is.null(scope)) {
        "Give the name of a feature."
      } else {
        "The scope has {show_value(scope)}."
      },
      argument = "..."
    )
  }
  check_required_of(index)
  check_strings(unique(unname(names)), argument = "...")
}

names_in_scope <- function(dots, scope, verb) {
  selection <- lapply(dots, select_names_in_variable, scope = scope)
  positions <- tryCatch(
    tidyselect::eval_select(
      rlang::expr(c(!!!selection)),
      data = stats::setNames(as.list(seq_along(scope)), scope)
    ),
    error = function(error) abort_feature_selection(error, scope, verb)
  )
  scope[positions]
}

# A variable that holds names selects these names, unless a feature has the variable's name.
select_names_in_variable <- function(quosure, scope) {
  if (!rlang::quo_is_symbol(quosure)) {
    return(quosure)
  }
  name <- rlang::as_string(rlang::quo_get_expr(quosure))
  value <- get0(name, envir = rlang::quo_get_env(quosure))
  if (!name %in% scope && is.character(value)) {
    return(rlang::expr(tidyselect::all_of(!!value)))
  }
  quosure
}

abort_feature_selection <- function(error, scope, verb) {
  unknown <- if (is.character(error$i)) setdiff(error$i, scope)
  abort_tfdistribute(
    "argument",
    problem = if (length(unknown) > 0) {
      "The feature {show_value(unknown[[1]])} that {verb} was given is not in the scope."
    } else {
      "{verb} cannot choose features: {conditionMessage(error)}"
    },
    remedy = "The scope has {show_value(scope)}.",
    argument = "...",
    value = if (length(unknown) > 0) unknown[[1]],
    parent = if (length(unknown) == 0) error
  )
}

# Helpers that need a scope from which they select.
# fmt: skip
choosing_helpers <- c(
  "contains", "ends_with", "everything", "last_col", "matches", "num_range", "starts_with", "where",
  "-", "!", ":"
)
naming_helpers <- c("all_of", "any_of", "one_of")

name_without_scope <- function(quosure, verb, known) {
  expression <- rlang::quo_get_expr(quosure)
  env <- rlang::quo_get_env(quosure)
  if (is_number_in_code(expression)) {
    abort_unnamed_setting(rlang::eval_tidy(quosure), known)
  }
  if (is.symbol(expression)) {
    name <- rlang::as_string(expression)
    value <- get0(name, envir = env)
    return(if (is.character(value)) value else name)
  }
  called <- if (is.call(expression)) rlang::call_name(expression) %||% "" else ""
  if (called %in% choosing_helpers) {
    abort_tfdistribute(
      "argument",
      problem = c(
        "{verb} cannot choose features with {rlang::as_label(expression)}: ",
        "it does not know which there are."
      ),
      remedy = "Give feature_columns(names = ) the data frame, or see scoped_columns().",
      argument = "...",
      value = rlang::as_label(expression)
    )
  }
  if (called %in% c("c", naming_helpers)) {
    parts <- lapply(as.list(expression)[-1], rlang::new_quosure, env = env)
    return(unlist(lapply(parts, name_without_scope, verb = verb, known = known)))
  }
  value <- rlang::eval_tidy(quosure)
  if (!is.character(value)) {
    abort_unnamed_setting(value, known)
  }
  value
}

# 10 or -10.
is_number_in_code <- function(expression) {
  is.numeric(expression) || (rlang::is_call(expression, "-", n = 1) && is.numeric(expression[[2]]))
}

# `...` contains every argument without a name, so a setting by position is part of it.
abort_unnamed_setting <- function(value, known) {
  abort_argument(
    value,
    "names of features",
    "...",
    remedy = if (is.numeric(value) && length(known) > 0) {
      "Name the other arguments, as in {known[[1]]} = {show_value(value)}."
    }
  )
}

#' Combine features into one layer of a model function
#'
#' This function is for scripts of tfestimators. It applies feature columns to features and returns one tensor of
#' numbers, for use in a [model function][estimator]. Canned models do this themselves.
#'
#' @param features Named list of tensors, as in a model function.
#' @param feature_columns Columns to read, from [feature_columns()]. Categorical columns must be wrapped in
#'   [column_indicator()] or [column_embedding()].
#' @param weight_collections Collections of the graph to which variables are added, strings, or NULL. See
#'   [graph_keys()].
#' @param trainable Whether training changes the variables, TRUE or FALSE.
#' @returns A tensor of shape (batch, width), with columns in the order of their names.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_model_error` if a categorical column is not wrapped.
#' @references <https://www.tensorflow.org/api_docs/python/tf/compat/v1/feature_column/input_layer>
#' @examples
#' columns <- feature_columns(column_numeric("wt", "hp"))
#' model <- estimator(function(features, labels, mode) {
#'   inputs <- input_layer(features, columns)
#'   predicted <- tf$squeeze(tf$compat$v1$layers$dense(inputs, 1L), 1L)
#'   list(
#'     predictions = list(mpg = predicted),
#'     loss = if (mode != "infer") tf$reduce_mean(tf$math$squared_difference(labels, predicted)),
#'     optimizer = "sgd"
#'   )
#' })
#' @export
input_layer <- function(
  features,
  feature_columns,
  weight_collections = NULL,
  trainable = TRUE,
  ...
) {
  check_call(...)
  if (!is.list(features) && !is_python_object(features)) {
    abort_argument(features, "a named list of tensors")
  }
  call_backend(
    "input_layer",
    features = as.list(features),
    feature_columns = check_some_columns(feature_columns),
    weight_collections = check_strings(weight_collections, null = TRUE),
    trainable = check_flag(trainable)
  )
}
