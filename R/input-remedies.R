# Remedies for arguments that are not data: a path, a vector, a formula without its data, or an input.

# Raise the error for an `argument` that must be `expected`. `formula` is the formula that came with the data.
abort_not_data <- function(x, argument, expected, remedy = NULL, formula = NULL) {
  remedy <- remedy_for_data(x, formula) %||% remedy
  abort_argument(x, expected, argument, "input", if (!is.null(remedy)) "{remedy}")
}

remedy_for_data <- function(x, formula) {
  if (inherits(x, "tfdistribute_input")) {
    "An input has its own features and response. Give it to the verb without a formula, as in train(model, input)."
  } else if (rlang::is_formula(x)) {
    paste0("Give the formula with its data, as in input_fn(", deparse1(x), ", data).")
  } else if (is_path(x)) {
    without <- if (!is.null(formula)) " without a formula"
    paste0("Describe a file", without, ", as in ", file_call(x, formula), ".")
  } else if (is_sparse(x)) {
    "A sparse matrix is one feature. Name it in the data of a formula, as in list(x = x, y = y)."
  } else if (is.atomic(x) && length(x) > 0) {
    "One column of a data frame is a vector. Keep the data frame, as in data[, \"x\", drop = FALSE]."
  }
}

is_path <- function(x) {
  is.character(x) && length(x) > 0 && !anyNA(x) && all(grepl("[.][A-Za-z]+$", x) | dir.exists(x))
}

# input_csv("taxi.csv", response = "fare", features = "distance"), or the function for the kind of the file.
file_call <- function(paths, formula = NULL) {
  makers <- c(
    parquet = "input_parquet",
    arrow = "input_arrow",
    feather = "input_arrow",
    tfrecord = "input_tfrecord",
    tfrecords = "input_tfrecord"
  )
  maker <- makers[tolower(sub(".*[.]", "", paths[[1]]))]
  response <- if (length(formula) == 3) all.vars(formula[[2]])
  features <- if (!is.null(formula)) setdiff(all.vars(formula[[length(formula)]]), response)
  paste0(
    if (is.na(maker)) "input_csv" else maker,
    if (length(paths) == 1) paste0("(", quoted(paths)) else "(paths",
    ", response = ",
    if (length(response) == 1) quoted(response) else "\"y\"",
    if (length(features) > 0 && !"." %in% features) paste0(", features = ", show_value(features)),
    ")"
  )
}
