#' Check that a cluster trains the same model as one process
#'
#' Trains the model for a few steps from the same seed with one process, with one process that has as many devices as
#' the cluster has workers, and with the cluster. It then compares losses and all variables, including the optimizer's,
#' and explains a difference. Each training has its own temporary `model_dir`; the model's own is not changed. The
#' single process takes one step per run, on whole batches and in 32 bits, the others as the model's [run_config()]
#' says. It does not measure speed.
#'
#' @param model An estimator.
#' @param input Data to train on, such as an [input_fn()].
#' @param cluster A cluster on this machine, such as [local_cluster()]; its evaluator is not started.
#' @param steps Steps to train, a count; fewer if the data ends before.
#' @param x A result of `verify_distribution()`.
#' @param ... Must be empty.
#' @returns A list of class `tfdistribute_verification`:
#' * `agrees`: TRUE if all numbers agree to six digits. (32-bit sums depend on their order, so a correct training cannot
#'   agree to more.) In mixed precision, or with compressed gradients, to two digits (a difference of 0.01).
#' * `precision`, `compression`: those of the model's run configuration and of the cluster's strategy.
#' * `steps`: the steps that were trained, a count.
#' * `ended_early`: TRUE if the data ended before `steps`.
#' * `losses`: a tibble with one row per step and one column per training (`one_process`, `devices`, `processes`).
#' * `differences`: a tibble with `training`, `name` (a variable, or `"loss"`), `difference` (the largest, relative to
#'   the largest value or to 1) and `agrees`.
#' * `reasons`: sentences.
#' @section Errors: Those of [launch()] and [train()].
#' @seealso [check_sharding()] for the input alone.
#' @family jobs
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' \donttest{
#' verify_distribution(model, input_fn(mpg ~ wt + hp, mtcars, batch_size = 16, num_epochs = NULL))
#' }
#' @export
verify_distribution <- function(model, input, cluster = local_cluster(2), steps = 30, ...) {
  check_call()
  check_estimator(model)
  input <- as_input(input)
  check_cluster_argument(cluster)
  steps <- check_count(steps)
  folder <- tempfile("tfdistribute-verification-")
  on.exit(unlink(folder, recursive = TRUE))
  config <- model$config %||% run_config()
  config["tf_random_seed"] <- config$tf_random_seed %||% 1L
  config["cluster"] <- config["eval_distribute"] <- config["model_dir"] <- list(NULL)
  across <- cluster_strategy(config$train_distribute)
  train_once <- function(name, strategy, cluster = NULL, plain = FALSE) {
    config["train_distribute"] <- list(strategy)
    config["cluster"] <- list(cluster)
    if (plain) {
      config[c("steps_per_run", "micro_batches", "precision")] <- list(1L, 1L, "float32")
    }
    model["config"] <- list(config)
    model["model_dir"] <- file.path(folder, name)
    hook <- hook_history_saver(every_n_step = 1)
    train(model, input, steps = steps, hooks = hook, view = FALSE)
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
      model,
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

# The strategy of a cluster: the model's own, where it is one.
cluster_strategy <- function(strategy) {
  spans <- isTRUE(strategy$kind %in% c("multi_worker", "parameter_server"))
  if (spans) strategy else strategy_multi_worker()
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

#' @rdname verify_distribution
#' @export
print.tfdistribute_verification <- function(x, ...) {
  writeLines(format(x, ...))
  invisible(x)
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
