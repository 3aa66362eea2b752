# Runs of the R package tfruns: what is recorded in them where it is installed, and what stands in for it elsewhere.

#' Directory of the training run
#'
#' Returns the directory of the current run of the R package tfruns (`tfruns::training_run()`), or else the working
#' directory. During a run, [train()], [train_and_evaluate()] and [evaluate()] write losses and metrics to it. Without
#' tfruns, or outside a run, nothing is written.
#'
#' @returns A path, a string.
#' @references The function of the same name in tfruns.
#' @seealso [flags()]
#' @examples
#' run_dir()
#' @export
run_dir <- function() {
  ask <- tfruns_function("run_dir")
  if (is.null(ask)) getwd() else ask()
}

# A function of tfruns, or NULL where it is not installed.
tfruns_function <- function(name, package = "tfruns") {
  if (requireNamespace(package, quietly = TRUE)) getExportedValue(package, name)
}

is_run_active <- function() {
  ask <- tfruns_function("is_run_active")
  !is.null(ask) && isTRUE(ask())
}

# Losses, and metrics of evaluations as `val_` columns beside them, in rows of steps.
record_history <- function(history) {
  if (!is_run_active()) {
    return(invisible())
  }
  write <- tfruns_function("write_run_metadata")
  evaluations <- history$evaluations
  steps <- sort(unique(c(history$losses$step, evaluations$global_step)))
  metrics <- setdiff(names(evaluations), "global_step")
  columns <- lapply(rlang::set_names(metrics, paste0("val_", metrics)), function(name) {
    evaluations[[name]][match(steps, evaluations$global_step)]
  })
  losses <- history$losses$loss[match(steps, history$losses$step)]
  write("metrics", as.data.frame(c(list(loss = losses), columns), check.names = FALSE))
  if (nrow(evaluations) > 0) {
    write("evaluation", as.list(evaluations[nrow(evaluations), ]))
  }
  invisible()
}

record_evaluation <- function(metrics) {
  if (is_run_active()) {
    write <- tfruns_function("write_run_metadata")
    write("evaluation", as.list(metrics))
  }
  invisible()
}
