#' Check that a cluster trains the same model as one process
#'
#' Trains the model for a few steps from the same seed with one process, with one process that has as many devices as
#' the cluster has workers, and with the cluster. Then compares losses and all variables, including the optimizer's
#' variables, and explains differences. Each training has its own temporary `model_dir`, so the model's own directory
#' does not change. The single process takes one step per run, with whole batches and in 32 bits. The other trainings
#' use the model's [run_config()]. The function does not measure speed.
#'
#' @param object An estimator.
#' @param input Data to train on, such as an [input_fn()].
#' @param cluster A cluster on this machine, such as [local_cluster()]. Its evaluator is not started.
#' @param steps Steps to train, a count. Training takes fewer steps if the data ends earlier.
#' @param x A result of `check_distribution()`.
#' @returns A list of class `tfdistribute_verification`:
#' * `agrees`: TRUE if all numbers agree to six digits. A correct training cannot agree more closely, because 32-bit
#'   sums depend on their order. In mixed precision, or with compressed gradients, two digits must agree (a difference
#'   of 0.01).
#' * `precision`, `compression`: settings of the model's run configuration and of the cluster's strategy.
#' * `steps`: the number of steps trained, a count.
#' * `ended_early`: TRUE if the data ended before `steps`.
#' * `losses`: a tibble with one row per step and one column per training (`one_process`, `devices`, `processes`).
#' * `differences`: a tibble with `training`, `name` (a variable, or `"loss"`), `difference` (the largest, relative to
#'   the largest value or to 1) and `agrees`.
#' * `reasons`: explanations of differences, strings.
#' @section Errors: The errors of [launch()] and [train()].
#' @seealso [check_sharding()] for the input alone.
#' @family jobs
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' \donttest{
#' check_distribution(model, input_fn(mpg ~ wt + hp, mtcars, batch_size = 16, epochs = NULL))
#' }
#' @export
check_distribution <- function(object, input, cluster = local_cluster(2), steps = 30, ...) {
  check_call(...)
  check_estimator(object)
  input <- as_input(input)
  check_cluster_argument(cluster)
  steps <- check_count(steps)
  folder <- tempfile("tfdistribute-verification-")
  on.exit(unlink(folder, recursive = TRUE))
  config <- object$config %||% run_config()
  config["compile"] <- FALSE
  config["seed"] <- config$seed %||% 1L
  config[c("eval_distribute", "model_dir")] <- list(NULL)
  spans <- isTRUE(config$strategy$kind %in% c("multi_worker", "parameter_server"))
  across <- if (spans) config$strategy else cluster_strategy(cluster)
  train_once <- function(name, strategy, cluster = NULL, plain = FALSE) {
    if (plain) {
      config[c("steps_per_run", "micro_batches", "precision")] <- list(1L, 1L, "float32")
    }
    object["config"] <- list(config)
    object["model_dir"] <- file.path(folder, name)
    train(
      object,
      input,
      steps = steps,
      hooks = hook_history_saver(every_n_steps = 1),
      view = FALSE,
      cluster = cluster,
      strategy = strategy
    )
  }
  workers <- count_workers(cluster)
  runs <- list(
    one_process = train_once("one_process", NULL, plain = TRUE),
    devices = train_once("devices", strategy_mirrored(devices = workers)),
    processes = train_once("processes", across, cluster)
  )
  is_mixed <- !identical(config$precision, "float32")
  in_16_bits <- is_mixed || identical(across$compression, "bfloat16")
  differences <- rbind(
    compare_runs(runs, "devices", is_mixed),
    compare_runs(runs, "processes", in_16_bits)
  )
  reasons <- if (!all(differences$agrees)) {
    runs$again <- train_once("again", NULL, plain = TRUE)
    explain_difference(
      object,
      input,
      workers,
      is_asynchronous = identical(across$kind, "parameter_server"),
      repeats = all(compare_runs(runs, "again")$agrees),
      differing = unique(differences$name[!differences$agrees])
    )
  }
  compared <- runs[c("one_process", "devices", "processes")]
  # Each run starts at step 0.
  trained <- min(vapply(compared, function(run) max(run$losses$step, 0L), 0L))
  structure(
    list(
      agrees = all(differences$agrees),
      steps = trained,
      ended_early = trained < steps,
      workers = workers,
      precision = config$precision,
      compression = across$compression,
      losses = losses_of(compared),
      differences = differences,
      reasons = reasons %||% character()
    ),
    class = "tfdistribute_verification"
  )
}

compare_runs <- function(runs, name, is_mixed = FALSE) {
  as_run <- function(history, mixed = FALSE) {
    list(
      mixed = mixed,
      model_dir = history$model_dir,
      steps = history$losses$step,
      losses = history$losses$loss
    )
  }
  found <- call_backend(
    "compare_runs",
    reference = as_run(runs$one_process),
    other = as_run(runs[[name]], is_mixed)
  )
  tibble::tibble(
    training = name,
    name = vapply(found, function(each) each$name, ""),
    difference = vapply(found, function(each) as.double(each$size), 0),
    agrees = vapply(found, function(each) each$agrees, NA)
  )
}

explain_difference <- function(model, input, workers, is_asynchronous, repeats, differing) {
  reads_once <- tryCatch(
    check_sharding(input, workers, replicas = if (!is_asynchronous) 1)$ok,
    tfdistribute_error = function(error) NULL
  )
  unlist(call_backend(
    "explain_difference",
    asynchronous = is_asynchronous,
    repeats = repeats,
    reads_once = reads_once,
    dropout = isTRUE(model$dropout > 0) || isTRUE(model$dnn_dropout > 0),
    differing = differing
  ))
}

losses_of <- function(runs) {
  steps <- sort(unique(unlist(lapply(runs, function(run) run$losses$step))))
  columns <- lapply(runs, function(run) run$losses$loss[match(steps, run$losses$step)])
  tibble::as_tibble(c(list(step = steps), columns))
}

#' @rdname check_distribution
#' @export
print.tfdistribute_verification <- function(x, ...) {
  print_description(x, format(x, ...))
}

#' @export
format.tfdistribute_verification <- function(x, ...) {
  last <- x$losses[nrow(x$losses), -1]
  labels <- c(
    one_process = "one process",
    devices = paste(x$workers, "devices of one process"),
    processes = paste(x$workers, "processes")
  )
  lines <- vapply(
    names(labels),
    function(name) {
      own <- x$differences[x$differences$training == name, ]
      own <- own[order(-own$difference), ]
      compared <- if (nrow(own) > 0) {
        paste0(
          if (all(own$agrees)) ", the same; largest difference " else ", differs most by ",
          format(signif(own$difference[[1]], 2)),
          " (",
          own$name[[1]],
          ")"
        )
      }
      paste0("  ", format(labels)[[name]], "  loss ", format(last[[name]], digits = 7), compared)
    },
    ""
  )
  c(
    interpolate(c(
      "<verification> the trainings {if (x$agrees) agreement_of(x) else 'differ'} after {x$steps} step{?s}",
      "{if (x$ended_early) ', where the data ended'}"
    )),
    unname(lines),
    if (!x$agrees) paste0("  ! ", x$reasons)
  )
}

agreement_of <- function(x) {
  in_32_bits <- identical(x$precision, "float32") && !identical(x$compression, "bfloat16")
  if (in_32_bits) "agree to six digits" else "agree to two digits"
}
