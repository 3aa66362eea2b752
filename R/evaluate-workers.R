# Evaluation and prediction by the processes of a cluster, each on a shard of the rows.

evaluate_by_workers <- function(object, cluster, input, checkpoint_path, hooks, name) {
  perform_by_workers(
    object,
    cluster,
    "evaluate",
    list(input_fn = input, checkpoint_path = checkpoint_path, hooks = hooks, name = name),
    function(prepared) {
      call_backend(
        "read_metrics",
        results = prepared$results,
        model_dir = absolute_path(object$model_dir),
        name = name
      )
    }
  )
}

predict_by_workers <- function(object, cluster, input, ...) {
  perform_by_workers(
    object,
    cluster,
    "predict",
    list(input_fn = input, ...),
    function(prepared) {
      call_backend(
        "read_predictions",
        results = prepared$results,
        tasks = cluster$workers,
        in_turns = prepared$in_turns
      )
    }
  )
}

# Let the workers of a cluster perform a verb, with the arguments of the backend's function. `read` gets the answer of
# prepare_shards() when all results are there, and reads them.
perform_by_workers <- function(object, cluster, verb, arguments, read) {
  check_class(cluster, "tfdistribute_local_cluster", "a local_cluster()")
  object["model_dir"] <- absolute_path(object$model_dir)
  # Rows in memory are divided by the package, and are not read before the job is known to be possible.
  in_memory <- inherits(source_of(arguments$input_fn), "tfdistribute_in_memory_input")
  prepared <- call_backend(
    "prepare_shards",
    cluster = cluster,
    config = object$config,
    verb = verb,
    model_dir = object$model_dir,
    checkpoint_path = arguments$checkpoint_path,
    input = if (!in_memory) arguments$input_fn
  )
  on.exit(call_backend("remove_job_directory", directory = prepared$results))
  shows <- shows_progress(arguments$hooks)
  if (shows) {
    cli::cli_inform("Starting {several(cluster$workers, 'worker')} on this machine.")
  }
  arguments[c("checkpoint_path", "results")] <- prepared[c("checkpoint", "results")]
  job <- start_tasks(object, cluster, verb, arguments)
  follow_job(job, show = shows)
  # The logs of a failed job stay: its error names them.
  call_backend("remove_logs", id = job$id)
  read(prepared)
}

evaluate_shard <- function(object, input_fn, ...) {
  call_backend("evaluate_shard", estimator = object, input = input_fn, ...)
}

predict_shard <- function(object, input_fn, ...) {
  call_backend("predict_shard", estimator = object, input = input_fn, ...)
}

check_no_steps <- function(steps) {
  if (!is.null(steps)) {
    abort_tfdistribute(
      "argument",
      problem = "`steps` ({steps}) and `cluster` cannot both be given: workers evaluate all rows.",
      remedy = "Give fewer rows, or leave `cluster` NULL.",
      argument = "steps",
      value = steps
    )
  }
}

check_not_iterable <- function(as_iterable) {
  if (as_iterable) {
    abort_tfdistribute(
      "argument",
      problem = "`as_iterable` is TRUE, but workers of a `cluster` return all predictions at once.",
      remedy = "Leave `as_iterable` FALSE, or `cluster` NULL.",
      argument = "as_iterable",
      value = "TRUE"
    )
  }
}
