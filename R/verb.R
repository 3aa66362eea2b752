# The one way of every verb. A verb with its estimator and its checked arguments is a plain value, which is prepared
# once, and performed in this process or by the processes of a job.

# The value of a verb, which the file of a job contains for its tasks.
new_work <- function(object, verb, arguments) {
  list(object = object, verb = verb, arguments = arguments)
}

# Whether a verb or a job evaluates or predicts. Its tasks write no checkpoints.
reads_only <- function(x) {
  any(x$verb %in% c("evaluate", "predict"))
}

# Perform a verb, and return its result, or the handle of its job without `wait`. `starts` is whether a job must perform
# it. Otherwise, a job performs only trainings, and only outside the tasks of a cluster. `view` and `show` are whether
# the progress is shown.
perform_verb <- function(work, wait = TRUE, starts = !wait, view = FALSE, show = NULL) {
  # Before Python starts.
  force(wait)
  hooks <- hooks_of(work$arguments)
  show <- show %||% shows_progress(hooks)
  page <- if (!reads_only(work) && shows_page(view, hooks)) new_page(work$object$model_dir)
  if (!wait) {
    work$object <- in_background(work$object)
  }
  work <- prepare_verb(work, starts, show)
  if (is.null(work$directory)) {
    result <- perform_here(work, show, page)
  } else {
    job <- start_job(work, show, page)
    if (!wait) {
      return(show_job(job, page))
    }
    result <- follow_job(job, show = show, page = page)
  }
  if (!reads_only(work)) {
    record_history(result)
  }
  result
}

# An estimator whose job may survive this session, with a process of its own if no cluster and no strategy is given.
in_background <- function(object) {
  cluster <- object$config$cluster
  if (is.null(cluster) && is.null(object$config$strategy)) {
    cluster <- local_cluster(1)
  } else if (inherits(cluster, "tfdistribute_ray_cluster")) {
    # The supervisor of the job runs inside the cluster.
    cluster["detached"] <- TRUE
  }
  with_cluster(object, cluster)
}

# Decide where a verb runs, check it for this place, and complete it. `directory` is the private directory of the job
# that performs it, and NULL in this process. With `offline`, remote storage is not contacted.
prepare_verb <- function(work, starts, show, offline = FALSE) {
  cluster <- work$object$config$cluster
  if (reads_only(work) && !starts) {
    return(work)
  }
  if (starts) {
    check_has_cluster(cluster)
  }
  if (is.null(cluster)) {
    return(prepare_training(work, trained_state(work$object), show))
  }
  work$object["model_dir"] <- absolute_path(work$object$model_dir)
  arguments <- work$arguments
  input <- source_of(arguments$input_fn)
  known <- call_backend(
    "prepare_verb",
    estimator = work$object,
    verb = work$verb,
    workload = workload(
      work$object,
      arguments$train_spec %||% arguments$input_fn,
      arguments$eval_spec
    ),
    starts = starts,
    offline = offline,
    steps = arguments$steps,
    max_steps = arguments$max_steps,
    checkpoint_path = arguments$checkpoint_path,
    # Rows in memory are not read before the job is known to be possible.
    input = if (reads_only(work) && !inherits(input, "tfdistribute_in_memory_input")) {
      arguments$input_fn
    }
  )
  work$directory <- known$directory
  with_job_directory(known$directory, {
    # Restarted tasks must count the steps from the start of the job, and read the same checkpoint.
    work$arguments$checkpoint_path <- known$checkpoint_path
    if (!is.null(known$max_steps)) {
      work$arguments$max_steps <- known$max_steps
      work$arguments["steps"] <- list(NULL)
    }
    if (reads_only(work)) work else prepare_training(work, known, show)
  })
}

check_has_cluster <- function(cluster) {
  if (is.null(cluster)) {
    abort_tfdistribute(
      "cluster",
      problem = "`cluster` is NULL, so there are no processes to start.",
      remedy = "Use a cluster, as in cluster = local_cluster(workers = 2), or call train() to train in this process."
    )
  }
}

# Perform prepared work in this process, which may be a task of a job that evaluates or predicts.
perform_here <- function(work, show = FALSE, page = NULL, as_task = NULL) {
  progress <- new_progress(show = show, page = page)
  on.exit(progress$finish())
  arguments <- c(work$arguments, page = page$directory, as_task = as_task)
  names(arguments)[names(arguments) == "input_fn"] <- "input"
  answer <- rlang::inject(call_backend(
    work$verb,
    estimator = work$object,
    !!!arguments,
    listener = progress$listener
  ))
  if (reads_only(work)) answer else new_history(answer)
}

# Evaluate `code`, which prepares or starts a job. If it fails, the private directory of the job is removed.
with_job_directory <- function(directory, code) {
  is_done <- is.null(directory)
  on.exit(if (!is_done) call_backend("remove_job_directory", directory = directory))
  force(code)
  is_done <- TRUE
  code
}
