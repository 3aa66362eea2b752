# Runs of the R package tfruns, if it is installed. Losses and metrics are recorded in the active run.

#' Directory of the training run
#'
#' This function is for scripts of tfestimators. It returns the directory of the current run of the R package tfruns
#' (`tfruns::training_run()`), or else the working directory. During a run, [train()], [train_and_evaluate()] and
#' [evaluate()] write losses and metrics to it. Without tfruns, or outside a run, nothing is written.
#'
#' @returns A path, a string.
#' @references The function with the same name in tfruns has the same interface.
#' @seealso [flags()]
#' @examples
#' run_dir()
#' @export
run_dir <- function(...) {
  check_call(...)
  if (has_tfruns()) tfruns::run_dir() else getwd()
}

has_tfruns <- function() {
  requireNamespace("tfruns", quietly = TRUE)
}

is_run_active <- function() {
  has_tfruns() && isTRUE(tfruns::is_run_active())
}

# Losses, and metrics of evaluations as `val_` columns beside them, in rows of steps.
record_history <- function(history) {
  if (!is_run_active()) {
    return(invisible())
  }
  evaluations <- history$evaluations
  steps <- sort(unique(c(history$losses$step, evaluations$global_step)))
  metrics <- setdiff(names(evaluations), "global_step")
  columns <- lapply(rlang::set_names(metrics, paste0("val_", metrics)), function(name) {
    evaluations[[name]][match(steps, evaluations$global_step)]
  })
  losses <- history$losses$loss[match(steps, history$losses$step)]
  metrics <- as.data.frame(c(list(loss = losses), columns), check.names = FALSE)
  tfruns::write_run_metadata("metrics", metrics)
  if (nrow(evaluations) > 0) {
    tfruns::write_run_metadata("evaluation", as.list(evaluations[nrow(evaluations), ]))
  }
  invisible()
}

record_evaluation <- function(metrics) {
  if (is_run_active()) {
    tfruns::write_run_metadata("evaluation", as.list(metrics))
  }
  invisible()
}
