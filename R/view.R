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
#' outliers begin. The page is in the temporary directory of this session, and can be read as long as the session lives.
#'
#' @param object A [job][jobs], a [history][history], or an estimator, for all of its trainings. Data frames go to
#'   [tibble::view()], whose name this is, too.
#' @param title Heading of a data frame, a string.
#' @param ... For a data frame, arguments of [tibble::view()]. Otherwise must be empty.
#' @returns The path of the page, a string, invisibly; for a data frame, what [tibble::view()] returns.
#' @section Errors:
#' * `tfdistribute_argument_error`: `object` is something else.
#' * `tfdistribute_model_directory_error`: the estimator was not trained.
#' @references The interface follows `view_metrics` of the R packages keras and tfruns.
#' @seealso [plot.tfdistribute_history()], [tensorboard()]
#' @examples
#' \dontrun{
#' history <- train(model, price ~ carat, data = diamonds, epochs = 5, view = TRUE)
#' view(history)
#' job <- launch(model, training, wait = FALSE)
#' view(job)
#' }
#' @export
view <- function(object, ...) {
  check_required()
  UseMethod("view")
}

#' @rdname view
#' @export
view.tfdistribute_job <- function(object, ...) {
  check_call()
  page <- new_page()
  view_job(object, page)
  page$open()
}

#' @rdname view
#' @export
view.tfdistribute_history <- function(object, ...) {
  check_call()
  page <- new_page()
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

#' @rdname view
#' @export
view.tfdistribute_estimator <- function(object, ...) {
  check_call()
  view(training_history(object))
}

#' @rdname view
#' @export
view.data.frame <- function(object, title = deparse1(substitute(object)), ...) {
  tibble::view(object, title = title, ...)
}

#' @export
view.default <- function(object, ...) {
  abort_argument(object, "a job, a history or an estimator")
}

# The page of a training that a verb was asked to view; NULL if it was not.
page_of_verb <- function(view, hooks) {
  if (shows_page(view, hooks)) new_page()
}

shows_page <- function(view, hooks) {
  if (!identical(view, "auto") && !rlang::is_bool(view)) {
    abort_argument(view, "TRUE, FALSE or \"auto\"", "view")
  }
  asked <- any(vapply(hooks, inherits, NA, "tfdistribute_view_metrics_hook"))
  has_viewer <- rlang::is_interactive() && !is.null(getOption("viewer"))
  asked || isTRUE(view) || (identical(view, "auto") && has_viewer)
}

# A directory for a page, and a function that opens it the first time it is called. RStudio shows files in the
# session's temporary directory only.
new_page <- function() {
  directory <- tempfile("tfdistribute-view-")
  dir.create(directory)
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
