# What an estimator's first training begins with.

warm_start_fields <- c("ckpt_to_initialize_from", "vars_to_warm_start", "var_name_to_prev_var_name")

# NULL, or the named list that Python reads, of what users give as `warm_start_from`.
check_warm_start <- function(value) {
  if (is.null(value)) {
    return(NULL)
  }
  # Estimators are lists too.
  fields <- if (is.list(value) && !is.object(value)) {
    value
  } else {
    list(ckpt_to_initialize_from = value)
  }
  unknown <- setdiff(names(fields), warm_start_fields)
  if (length(unknown) > 0 || is.null(names(fields))) {
    abort_unknown_warm_start(unknown)
  }
  start <- list(
    ckpt_to_initialize_from = warm_start_path(fields$ckpt_to_initialize_from),
    vars_to_warm_start = check_strings(
      fields$vars_to_warm_start,
      "vars_to_warm_start",
      null = TRUE
    ),
    var_name_to_prev_var_name = check_variable_names(fields$var_name_to_prev_var_name)
  )
  structure(Filter(Negate(is.null), start), class = "tfdistribute_warm_start")
}

abort_unknown_warm_start <- function(unknown) {
  abort_tfdistribute(
    "argument",
    problem = if (length(unknown) == 0) {
      "`warm_start_from` is a list without names."
    } else {
      paste0("`warm_start_from` has no field `", unknown[[1]], "`.")
    },
    remedy = paste0("Use only ", paste0("`", warm_start_fields, "`", collapse = ", "), "."),
    argument = "warm_start_from"
  )
}

warm_start_path <- function(value) {
  if (inherits(value, "tfdistribute_estimator")) {
    value <- value$model_dir
  } else if (inherits(value, "tf_estimator")) {
    value <- value$estimator$model_dir
  }
  if (!is.character(value)) {
    abort_argument("warm_start_from", value, "a path, an estimator, or a list")
  }
  path.expand(check_string(value, "warm_start_from"))
}

check_variable_names <- function(value) {
  if (is.null(value)) {
    return(NULL)
  }
  names <- names(value)
  value <- check_strings(unlist(value), "var_name_to_prev_var_name")
  if (is.null(names) || !all(nzchar(names))) {
    abort_argument(
      "var_name_to_prev_var_name",
      value,
      "names in the checkpoint, named by this model's"
    )
  }
  as.list(rlang::set_names(value, names))
}

#' @export
format.tfdistribute_warm_start <- function(x, ...) {
  paste0(
    x$ckpt_to_initialize_from,
    if (!is.null(x$vars_to_warm_start)) {
      paste0(" (", paste(x$vars_to_warm_start, collapse = ", "), ")")
    }
  )
}
