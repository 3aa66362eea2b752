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
  if (is.list(value) && !is.object(value) && "kind" %in% names(value)) {
    abort_tfdistribute(
      "argument",
      problem = "`{argument}` holds a column that c() has taken apart.",
      remedy = "Put a column first in c(), as in c(column, \"education\"), or use list()."
    )
  }
}

# The columns of starts_with("d") ~ column_numeric(), from the right side, for the features on the left.
formula_columns <- function(formula) {
  call <- formula[[length(formula)]]
  if (length(formula) != 3 || !is.call(call)) {
    abort_tfdistribute(
      "argument",
      problem = "The formula {rlang::as_label(formula)} does not name features and a column function.",
      remedy = c(
        "Write it as in starts_with(\"d\") ~ column_numeric(), ",
        "or give the data after it: feature_columns(y ~ ., data)."
      ),
      argument = "...",
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
