#' History of a training
#'
#' [train()] and [train_and_evaluate()] return a history. It contains the mean loss of a batch at the first, the last
#' and every tenth step, the speed between these points, and the metrics of every evaluation. It is a plain R value
#' without Python objects. For canned models, TensorFlow itself reports the sum of the losses over replicas, but the
#' history contains their mean.
#'
#' Losses and evaluations are also saved in `model_dir` while the model trains. `training_history()` reads the losses
#' and evaluations of all trainings so far, in any session, even after Ctrl-C. This includes the results of [evaluate()]
#' without a `name`.
#'
#' @param x A history.
#' @param object A history or, for `training_history()`, an estimator or the path of its `model_dir`.
#' @param row.names,optional Ignored.
#' @returns `training_history()` returns a history. `as.data.frame()` returns one row per value, with columns `step`
#'   (integer), `metric` (string), `value` (double) and `data` (`"training"` or `"evaluation"`). `summary()` returns a
#'   list with the steps, the first and last loss, the examples per second and the last evaluation. A history is a list
#'   with these elements:
#' * `losses`: a tibble with `step`, `loss`, `seconds` since the first step and `examples_per_second`.
#' * `evaluations`: a tibble with `global_step` and a column per metric.
#' * `step` and `params`, and `mean_losses` and `total_losses` of `losses`: the values that tfestimators names
#'   `losses$step` and `losses$loss`.
#' * `examples_per_second`, `global_step`, `model_dir`.
#' * `stopped_by`: the hook that ended training before its steps or its data ended, or NULL.
#' * `notes`: messages about requests that could not be fulfilled, strings.
#' * `compiled`: whether XLA compiled the training steps, TRUE or FALSE. See [run_config()].
#' * `input_wait`: the share of the time in which steps waited for the rows of files, generators or datasets. It is NA
#'   for rows in memory, parameter servers, TPUs and jobs, whose tasks have their own ([job_state()]).
#' * `gpu_utilization`: the share of the time in which the GPUs were busy at the end. It is NA without a GPU, or without
#'   the Python package nvidia-ml-py.
#' * `tasks`, `restarts`, `steps_lost`: only for a job. See [launch()].
#' * `goodput`: only for a job, how its time was spent. See [jobs].
#' * `workers`: only for a job that has ended, a tibble with a row for each group of hosts that has trained:
#'   `first_step`, the step of the checkpoint from which it started, `last_step`, the number of `workers`, and `hosts`.
#' @section Errors: `tfdistribute_model_directory_error` if nothing was trained in `model_dir`.
#' @seealso [plot.tfdistribute_history()]
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' history <- train(model, input_fn(mpg ~ wt + hp, mtcars, epochs = 10))
#' summary(history)
#' tail(as.data.frame(history))
#' training_history(model)
#' @name history
NULL

#' @rdname history
#' @export
training_history <- function(object, ...) {
  check_call(...)
  directory <- if (inherits(object, "tfdistribute_estimator")) {
    object$model_dir
  } else {
    path.expand(check_string(object))
  }
  new_history(call_backend("training_history", model_dir = directory))
}

new_history <- function(answer) {
  losses <- tibble::as_tibble(lapply(answer$training, as.vector))
  losses$step <- as.integer(losses$step)
  class(losses) <- c("tfdistribute_losses", class(losses))
  names <- unique(unlist(lapply(answer$evaluation, names)))
  names <- c("global_step", setdiff(names, "global_step"))
  columns <- lapply(names, function(name) {
    vapply(answer$evaluation, function(metrics) metrics[[name]] %||% NA_real_, double(1))
  })
  names(columns) <- names
  evaluations <- tibble::as_tibble(columns)
  evaluations$global_step <- as.integer(evaluations$global_step)
  structure(
    list(
      losses = losses,
      evaluations = evaluations,
      examples_per_second = answer$examples_per_second,
      global_step = as.integer(answer$global_step),
      model_dir = answer$model_dir,
      stopped_by = answer$stopped_by,
      notes = as.character(answer$notes),
      compiled = isTRUE(answer$compiled),
      input_wait = answer$input_wait %||% NA_real_,
      gpu_utilization = answer$gpu_utilization %||% NA_real_,
      tasks = answer$tasks,
      workers = answer$workers,
      restarts = answer$restarts,
      steps_lost = answer$steps_lost,
      goodput = answer$goodput
    ),
    class = c("tfdistribute_history", "tf_estimator_history")
  )
}

#' @rdname history
#' @export
print.tfdistribute_history <- function(x, ...) {
  steps <- x$losses$step
  restarts <- x$restarts
  writeLines(c(
    paste("<history>", if (length(steps) == 0) "no step was needed" else step_range(steps)),
    format(summary(x))[-1],
    if (!is.null(x$stopped_by)) paste("  stopped by", x$stopped_by),
    if (isTRUE(restarts > 0)) {
      paste0("  restarts: ", restarts, ", steps trained twice: ", x$steps_lost)
    },
    if (!is.null(x$goodput)) paste0("  ", x$goodput$text),
    if (NROW(x$workers) > 1) {
      sprintf(
        "  steps %d to %d: %d workers (%s)",
        as.integer(x$workers$first_step),
        as.integer(x$workers$last_step),
        as.integer(x$workers$workers),
        x$workers$hosts
      )
    },
    if (length(x$notes) > 0) paste0("  ", x$notes),
    paste("  model_dir:", x$model_dir)
  ))
  invisible(x)
}

# How the time of a training was spent. NULL without steps, and for jobs that only read.
goodput_of <- function(state) {
  known <- state$goodput
  if (!is.null(known)) {
    list(
      share = known$share,
      rows_per_second = known$rows_per_second %||% NA_real_,
      seconds = known$seconds,
      lost = vapply(known$lost, as.double, NA_real_),
      restarts = table_of(known$restarts, why = "", seconds = NA_real_, steps = NA_integer_),
      text = known$text
    )
  }
}

step_range <- function(steps) {
  paste("steps", min(steps), "to", max(steps))
}

#' @rdname history
#' @export
summary.tfdistribute_history <- function(object, ...) {
  losses <- object$losses
  last <- nrow(object$evaluations)
  structure(
    list(
      steps = if (nrow(losses) == 0) 0L else max(losses$step) - min(losses$step) + 1L,
      global_step = object$global_step,
      first_loss = if (nrow(losses) == 0) NA_real_ else losses$loss[[1]],
      last_loss = if (nrow(losses) == 0) NA_real_ else losses$loss[[nrow(losses)]],
      examples_per_second = object$examples_per_second,
      evaluation = if (last == 0) list() else as.list(object$evaluations[last, ])
    ),
    class = "tfdistribute_history_summary"
  )
}

#' @export
format.tfdistribute_history_summary <- function(x, ...) {
  metrics <- vapply(x$evaluation[names(x$evaluation) != "global_step"], format_number, "")
  c(
    interpolate("<history> {x$steps} step{?s}, to step {x$global_step}"),
    if (x$steps > 0) {
      paste("  loss:", format_number(x$first_loss), "->", format_number(x$last_loss))
    },
    if (is.finite(x$examples_per_second)) {
      paste("  examples per second:", format_count(x$examples_per_second))
    },
    if (length(metrics) > 0) {
      evaluation <- toString(paste(names(metrics), "=", metrics))
      paste0("  evaluation at step ", x$evaluation$global_step, ": ", evaluation)
    }
  )
}

#' @rdname history
#' @export
as.data.frame.tfdistribute_history <- function(x, row.names = NULL, optional = FALSE, ...) {
  history_values(x)
}

history_values <- function(x) {
  metrics <- setdiff(names(x$evaluations), "global_step")
  parts <- c(
    list(history_rows(x$losses$step, "loss", x$losses$loss, "training")),
    lapply(metrics, function(metric) {
      history_rows(x$evaluations$global_step, metric, x$evaluations[[metric]], "evaluation")
    })
  )
  do.call(rbind, parts)
}

history_rows <- function(step, metric, value, data) {
  data.frame(
    step = step,
    metric = rep(metric, length(step)),
    value = value,
    data = rep(data, length(step)),
    stringsAsFactors = FALSE
  )
}
