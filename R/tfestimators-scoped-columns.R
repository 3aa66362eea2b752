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
