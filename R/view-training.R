#' Watch losses and metrics in the Viewer
#'
#' Opens a page with the losses, the metrics of evaluations, the speed and, for a job, its tasks. While the model
#' trains, the page is updated once a second. It opens in the Viewer of RStudio or VS Code, or else in the browser, and
#' needs no internet.
#'
#' [train()], [train_and_evaluate()] and [launch()] open the page with `view = TRUE` or with [hook_view_metrics()], and
#' with `view = "auto"` if this session is interactive and has a Viewer. `options(tfdistribute.view = )` sets the
#' default of `view`, which is `"auto"`.
#'
#' The page of a Slurm job is updated only while a verb waits for the job.
#'
#' Curves are drawn on a log scale if their first values would flatten the rest. Otherwise the scale ends where single
#' outliers begin. A model has one page, which its next training replaces. The page is in the temporary directory of
#' this session, and can be read as long as the session lives.
#'
#' @param object A [job][jobs], a [history][history], or an estimator, whose trainings are shown together.
#' @returns The path of the page as a string, which is returned invisibly.
#' @section Errors:
#' * `tfdistribute_argument_error` if `object` has another class.
#' * `tfdistribute_model_directory_error` if the estimator was not trained.
#' @references The interface follows `view_metrics` of the R packages keras and tfruns.
#' @seealso [plot.tfdistribute_history()], [tensorboard()]
#' @examples
#' \dontrun{
#' history <- train(model, price ~ carat, data = diamonds, epochs = 5, view = TRUE)
#' view_training(history)
#' job <- train(model, price ~ carat, data = diamonds, epochs = 5, wait = FALSE)
#' view_training(job)
#' }
#' @export
view_training <- function(object, ...) {
  check_required()
  UseMethod("view_training")
}

#' @rdname view_training
#' @export
view_training.tfdistribute_job <- function(object, ...) {
  check_call(...)
  page <- new_page(object$model_dir)
  view_job(object, page)
  page$open()
}

#' @rdname view_training
#' @export
view_training.tfdistribute_history <- function(object, ...) {
  check_call(...)
  page <- new_page(object$model_dir)
  losses <- object$losses
  call_backend(
    "view_history",
    directory = page$directory,
    model_dir = object$model_dir,
    steps = as.list(losses$step),
    losses = as.list(unclass(losses)$loss),
    evaluations = lapply(seq_len(nrow(object$evaluations)), function(row) {
      as.list(object$evaluations[row, ])
    }),
    examples_per_second = object$examples_per_second,
    stopped_by = object$stopped_by
  )
  page$open()
}

#' @rdname view_training
#' @export
view_training.tfdistribute_estimator <- function(object, ...) {
  check_call(...)
  view_training(training_history(object))
}

#' @export
view_training.default <- function(object, ...) {
  abort_argument(object, "a job, a history or an estimator")
}

# The directory of the page of a model, and a function that opens the page when it is first called. RStudio shows only
# files in the session's temporary directory.
new_page <- function(model_dir) {
  directory <- file.path(
    tempdir(),
    paste0("tfdistribute-view-", rlang::hash(absolute_path(model_dir)))
  )
  dir.create(directory, showWarnings = FALSE)
  seen <- new.env(parent = emptyenv())
  seen$is_open <- FALSE
  list(
    directory = directory,
    open = function() {
      path <- file.path(directory, "index.html")
      if (!seen$is_open) {
        seen$is_open <- TRUE
        open_url(path)
      }
      invisible(path)
    }
  )
}

view_job <- function(job, page) {
  call_backend("view_job", job = job_wire(job), directory = page$directory)
}
