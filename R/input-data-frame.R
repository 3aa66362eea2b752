# Data frames, matrices and lists of columns as inputs, and the selection of columns.

#' @rdname input_fn
#' @export
input_fn.data.frame <- function(
  object,
  features,
  response = NULL,
  batch_size = 128,
  shuffle = "auto",
  epochs = 1,
  queue_capacity = 1000,
  num_threads = 1,
  impute = NULL,
  factors = NULL,
  seed = NULL,
  weights = NULL,
  transform = NULL,
  ...
) {
  given <- object
  object <- with_column_names(object)
  remedies <- list(features = features_remedy(object, given))
  renamed <- check_call(..., .remedies = remedies, .renames = TRUE, .also = ".verb")
  settings <- list(batch_size = batch_size, epochs = epochs, shuffle = shuffle, seed = seed)
  new_in_memory_input(
    object,
    features = select_columns(rlang::enquo(features), object, "features"),
    response = select_response(rlang::enquo(response), object),
    source = if (is.matrix(object)) {
      "matrix"
    } else if (is.data.frame(object)) {
      "data frame"
    } else {
      "list"
    },
    weights = select_response(rlang::enquo(weights), object, "weights"),
    settings = replace(settings, names(renamed), renamed),
    impute = impute,
    factors = factors,
    transform = transform,
    may_be_empty = isTRUE(verb_of(...)$predicts)
  )
}

# What a verb passes to input_fn() about itself: whether it `predicts`, and the `terms` of the model.
verb_of <- function(..., .verb = NULL) {
  .verb
}

#' @rdname input_fn
#' @export
input_fn.list <- input_fn.data.frame

#' @rdname input_fn
#' @export
input_fn.matrix <- input_fn.data.frame

# Names of the columns that the quosure `selection` selects, in its order. Empty for NULL.
select_columns <- function(selection, data, argument) {
  columns <- if (is.matrix(data)) {
    rlang::set_names(as.list(seq_len(ncol(data))), colnames(data))
  } else {
    as.list(data)
  }
  refuse_formula(selection, argument)
  chosen <- tryCatch(
    tidyselect::eval_select(
      vector_of_names(selection, names(columns)),
      columns,
      allow_rename = FALSE
    ),
    error = function(error) abort_selection(error, names(columns), argument)
  )
  names(columns)[chosen]
}

# A formula comes first, as in lm().
refuse_formula <- function(selection, argument) {
  formula <- rlang::quo_get_expr(selection)
  if (is.symbol(formula)) {
    formula <- get0(as.character(formula), envir = rlang::quo_get_env(selection))
  }
  if (rlang::is_call(formula, "~")) {
    abort_tfdistribute(
      "input",
      problem = "`{argument}` is a formula, which input_fn() takes as its first argument.",
      remedy = "Write input_fn({rlang::as_label(formula)}, data)."
    )
  }
}

features_remedy <- function(data, given) {
  if (is.matrix(data) && is.null(colnames(given))) {
    return(
      "Its columns have no names: use features = everything(), or numpy_input_fn(list(x = x), y)."
    )
  }
  example <- backquoted(utils::head(column_names(data), 2))
  paste0("Name the columns that the model may use, for example features = c(", example, ").")
}

# tidyselect warns of a variable that contains names of columns, which is usual in scripts for tfestimators.
vector_of_names <- function(selection, names) {
  expression <- rlang::quo_get_expr(selection)
  if (!is.symbol(expression) || as.character(expression) %in% names) {
    return(selection)
  }
  value <- tryCatch(rlang::eval_tidy(selection), error = function(error) NULL)
  if (is.character(value)) rlang::quo(tidyselect::all_of(!!value)) else selection
}

select_response <- function(selection, data, argument = "response") {
  check_names_column(selection, data, argument)
  chosen <- select_columns(selection, data, argument)
  if (length(chosen) > 1) {
    abort_tfdistribute(
      "input",
      problem = "`{argument}` selects {length(chosen)} columns: {backquoted(chosen)}.",
      remedy = if (argument == "response") {
        "Choose one column, or bind several by a formula, as in input_fn(cbind({backquoted(chosen)}) ~ ., data)."
      } else {
        "Choose one column."
      }
    )
  }
  if (length(chosen) == 0) NULL else chosen
}

# lm() accepts a vector as `weights`. tidyselect would interpret its numbers as positions of columns.
check_names_column <- function(selection, data, argument) {
  names <- column_names(data)
  env <- rlang::quo_get_env(selection)
  values <- values_in_selection(rlang::quo_get_expr(selection), env, names)
  if (is.null(values)) {
    return(invisible())
  }
  is_position <- length(values) == 1 && is.numeric(values) && values %in% seq_along(names)
  abort_tfdistribute(
    "input",
    problem = "`{argument}` must name a column, not hold values: {show_value(values)}.",
    remedy = if (is_position) {
      "Name the column: {argument} = {backquoted(names[[values]])}."
    } else if (is.matrix(data)) {
      paste(
        "Put the vector into the data: data <- cbind(data, {example_name(argument)} = {rlang::as_label(selection)});",
        "then {argument} = {example_name(argument)}."
      )
    } else {
      paste(
        "Put the vector into the data: data${example_name(argument)} <- {rlang::as_label(selection)};",
        "then {argument} = {example_name(argument)}."
      )
    },
    value = show_value(values)
  )
}

example_name <- function(argument) {
  c(weights = "w", response = "y")[[argument]]
}

# The first vector in a selection that is not made of names, such as numbers. NULL if there is none.
values_in_selection <- function(expression, env, names) {
  combines <- c("c", "(", "-", "!", ":", "&", "|")
  if (rlang::is_call(expression, combines)) {
    found <- lapply(as.list(expression)[-1], values_in_selection, env, names)
    return(Find(Negate(is.null), found))
  }
  # tidyselect's helpers return positions within a selection, and anywhere after one that Ctrl-C ended.
  helpers <- names(tidyselect::vars_select_helpers)
  if (rlang::is_symbol(expression, names) || rlang::is_call(expression, helpers)) {
    return(NULL)
  }
  value <- tryCatch(
    suppressWarnings(rlang::eval_tidy(expression, env = env)),
    error = function(error) NULL
  )
  if (is.atomic(value) && !is.character(value)) value
}

abort_selection <- function(error, names, argument) {
  # all_of() wraps the error in another one.
  unknown <- if (inherits(error, "vctrs_error_subscript_oob")) error$i else error$parent$i
  if (is.character(unknown)) {
    abort_unknown_column(setdiff(unknown, names), names, argument)
  }
  abort_tfdistribute(
    "input",
    problem = if (is.numeric(unknown)) {
      "`{argument}` names column {unknown[[1]]} of {length(names)}."
    } else {
      "`{argument}` does not select columns: {root_message(error)}"
    },
    remedy = "Use names of columns or tidyselect helpers.",
    argument = argument,
    parent = error
  )
}

root_message <- function(error) {
  while (inherits(error$parent, "condition")) {
    error <- error$parent
  }
  conditionMessage(error)
}

abort_unknown_column <- function(
  unknown,
  names,
  argument,
  subject = "`{argument}`",
  of = "data"
) {
  abort_tfdistribute(
    "input",
    problem = c(
      subject,
      " names {backquoted(unknown)}, ",
      "but the {of} has no such column{cli::qty(length(unknown))}{?s}."
    ),
    remedy = c(
      "{did_you_mean(unknown[[1]], names)}The columns are ",
      "{backquoted(utils::head(names, 10))}{if (length(names) > 10) ', ...' else '.'}"
    ),
    argument = argument,
    value = show_value(unknown)
  )
}

column_names <- function(data) {
  if (is.matrix(data)) colnames(data) else names(data)
}

# The data. A matrix gets the names that as.data.frame() assigns, which tfestimators uses.
with_column_names <- function(data) {
  if (is.matrix(data) && is.null(colnames(data)) && ncol(data) > 0) {
    colnames(data) <- paste0("V", seq_len(ncol(data)))
  }
  check_column_names(column_names(data))
  data
}

check_column_names <- function(names, argument = "object") {
  bad <- if (is.character(names)) first_not_text(names) else NA
  if (!is.na(bad)) {
    abort_not_text(
      names[[bad]],
      subject = "Column {bad} of `{argument}` has a name",
      remedy = c(
        "Convert the names from their encoding, for example from Latin-1: ",
        "names(data) <- iconv(names(data), \"latin1\", \"UTF-8\")."
      ),
      kind = "input",
      argument = argument
    )
  }
  problem <- if (is.null(names) || anyNA(names) || !all(nzchar(names))) {
    "Some columns of `{argument}` have no name."
  } else if (anyDuplicated(names) > 0) {
    "`{argument}` has more than one column `{names[duplicated(names)][[1]]}`."
  }
  if (!is.null(problem)) {
    abort_tfdistribute(
      "input",
      problem = problem,
      remedy = "Give every column a name of its own.",
      argument = argument
    )
  }
}
