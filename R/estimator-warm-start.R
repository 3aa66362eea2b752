# The `warm_start_from` argument of estimators.

warm_start_fields <- c("ckpt_to_initialize_from", "vars_to_warm_start", "var_name_to_prev_var_name")

# NULL, or the named list that Python reads.
check_warm_start <- function(warm_start_from) {
  if (is.null(warm_start_from) || inherits(warm_start_from, "tfdistribute_warm_start")) {
    return(warm_start_from)
  }
  # Estimators are lists too.
  fields <- if (is.list(warm_start_from) && !is.object(warm_start_from)) {
    warm_start_from
  } else {
    list(ckpt_to_initialize_from = warm_start_from)
  }
  unknown <- setdiff(names(fields), warm_start_fields)
  if (length(unknown) > 0 || is.null(names(fields))) {
    abort_unknown_warm_start(unknown)
  }
  start <- list(
    ckpt_to_initialize_from = warm_start_path(fields$ckpt_to_initialize_from),
    vars_to_warm_start = check_strings(
      fields$vars_to_warm_start,
      null = TRUE,
      argument = "vars_to_warm_start"
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
      "`warm_start_from` has no field `{unknown[[1]]}`."
    },
    remedy = "Use only {backquoted(warm_start_fields)}.",
    argument = "warm_start_from"
  )
}

warm_start_path <- function(warm_start_from) {
  path <- if (inherits(warm_start_from, "tfdistribute_estimator")) {
    warm_start_from$model_dir
  } else if (inherits(warm_start_from, "tf_estimator")) {
    warm_start_from$estimator$model_dir
  } else {
    warm_start_from
  }
  if (!is.character(path)) {
    abort_argument(warm_start_from, "a path, an estimator, or a list")
  }
  path <- absolute_path(check_string(path, argument = "warm_start_from"))
  check_directory(path, "warm_start_from")
}

check_variable_names <- function(var_name_to_prev_var_name) {
  if (is.null(var_name_to_prev_var_name)) {
    return(NULL)
  }
  names <- unlist(var_name_to_prev_var_name)
  check_strings(names, argument = "var_name_to_prev_var_name")
  if (!rlang::is_named(names)) {
    abort_argument(
      var_name_to_prev_var_name,
      "names in the checkpoint, named by this model's"
    )
  }
  as.list(enc2utf8(names))
}

#' @export
format.tfdistribute_warm_start <- function(x, ...) {
  paste0(
    x$ckpt_to_initialize_from,
    if (!is.null(x$vars_to_warm_start)) {
      paste0(" (", toString(x$vars_to_warm_start), ")")
    }
  )
}
