# The `warm_start_from` argument of estimators.

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
  known <- names(schema$warm_start)
  unknown <- setdiff(names(fields), known)
  if (length(unknown) > 0 || is.null(names(fields))) {
    abort_unknown_warm_start(unknown, known)
  }
  path <- warm_start_path(fields$ckpt_to_initialize_from)
  fields <- Filter(Negate(is.null), replace(fields, "ckpt_to_initialize_from", path))
  structure(check_fields(schema$warm_start, fields), class = "tfdistribute_warm_start")
}

abort_unknown_warm_start <- function(unknown, known) {
  abort_tfdistribute(
    "argument",
    problem = if (length(unknown) == 0) {
      "`warm_start_from` is a list without names."
    } else {
      "`warm_start_from` has no field `{unknown[[1]]}`."
    },
    remedy = "Use only {backquoted(known)}.",
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

#' @export
format.tfdistribute_warm_start <- function(x, ...) {
  paste0(
    x$ckpt_to_initialize_from,
    if (!is.null(x$vars_to_warm_start)) {
      paste0(" (", toString(x$vars_to_warm_start), ")")
    }
  )
}
