#' Train with the processes of a cluster
#'
#' Starts one process per task of a cluster, supervises them while they train together, and returns the history. With
#' `wait = FALSE`, it returns a handle of the job once the job has started, for which this session chooses the end of a
#' tabular model's first training. [train()] and [train_and_evaluate()] with a cluster do the same. They also print
#' notes about the data and the checkpoint from which the training continues, and record the run for tfruns. This
#' session is never one of the processes. They run on this machine, on the hosts of an [ssh_cluster()], on the nodes of
#' a [slurm_cluster()], in the actors of a [ray_cluster()], in the tasks of a [spark_cluster()], in the daemons of a
#' [mirai_cluster()], or on a managed platform. See [kubernetes_cluster()] and [vertex_cluster()].
#'
#' @section Objects sent to the processes:
#' The processes get the description of the model, its functions with the variables that they use, the attached
#' packages, the [options()] of this session, the state of the random number generator, and this session's Python and
#' package libraries. Profiles (`.Rprofile`) are not read. The data of [input_fn()] is written once to a file that all
#' processes share. Python objects, connections and external pointers cannot be sent, so a function must create its own.
#' Python modules are imported again.
#'
#' Options about this session are not sent. They concern its programs and windows (such as `device`, `editor` and
#' `browser`), its console, editor or document (`rstudio.*`, `knitr.*`), its output (`width`, `prompt`, `cli.*`), its
#' errors (`error`, `rlang_*`), the cores of this machine (`mc.cores`, `Ncpus`), and the installation of packages
#' (`repos`, `download.file.*`). Options whose names indicate a secret, such as a token or a password, and values that
#' contain environments, connections, external pointers or Python objects are not sent either. A message names such an
#' option if a function that is sent reads it with `getOption()`.
#' @section During training:
#' Esc or Ctrl-C stops the job. The chief writes a checkpoint, and all processes end within ten seconds. The job also
#' ends with this session, unless it is a job of a [slurm_cluster()], or of a [ray_cluster()] with `wait = FALSE`.
#' RStudio shows a job with `wait = FALSE` among its background jobs. Every process has a log in the directory `logs`
#' below `model_dir`. See [job_logs()]. Lost processes are restarted as described in [local_cluster()], and the history
#' records it.
#' @section One process or several:
#' With the same global batch, the same seed and an optimizer of the SGD family, [strategy_multi_worker()] trains the
#' same weights as one process, to six digits. See [check_distribution()]. If the cluster has an evaluator, it evaluates
#' checkpoints while the other processes train. Without `eval_spec`, it is not started.
#'
#' @param object An estimator, such as a [dnn_regressor()].
#' @param train_spec A [train_spec()], or an [input_fn()] that ends without a limit of steps.
#' @param eval_spec An [eval_spec()]. NULL only trains.
#' @param ... Must be empty.
#' @param wait TRUE to wait for the end, FALSE for a handle of the job.
#' @inheritParams train
#' @returns With `wait = TRUE`, a [history][history] that also has `tasks` (a tibble: `task`, `state`, `step`,
#'   `examples_per_second`), `restarts` and `steps_lost` (steps that were trained twice). Otherwise a [job][jobs].
#' @section Errors:
#' * The error of the process that failed first, with its class and the additional fields `task`, `host`, `log` and
#'   `r_traceback`.
#' * `tfdistribute_lost_peer_error` if processes never started or stalled.
#' * `tfdistribute_model_directory_error` if another job is training in `model_dir`.
#' * `tfdistribute_argument_error` if an object cannot be sent to the processes.
#' * `tfdistribute_cluster_error` if the cluster is on other machines.
#' @references <https://www.tensorflow.org/tutorials/distribute/multi_worker_with_estimator>
#' @family jobs
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 16, epochs = NULL)
#' training <- train_spec(input, max_steps = 50)
#' evaluation <- eval_spec(input_fn(mpg ~ wt + hp, mtcars))
#' \donttest{
#' launch(model, training, evaluation, cluster = local_cluster(workers = 2))
#' }
#' @export
launch <- function(
  object,
  train_spec,
  eval_spec = NULL,
  ...,
  wait = TRUE,
  view = getOption("tfdistribute.view", "auto"),
  cluster = object$config$cluster,
  strategy = object$config$strategy
) {
  check_call(..., .remedies = list(train_spec = "Make one with train_spec()."))
  check_estimator(object)
  wait <- check_flag(wait)
  object <- with_cluster(object, cluster, strategy)
  work <- job_work(object, train_spec, eval_spec)
  page <- if (shows_page(view, hooks_of(work$arguments))) new_page(object$model_dir)
  if (!wait) {
    return(start_in_background(object, work$verb, work$arguments, page))
  }
  check_starts_job(object$config$cluster)
  follow_job(start_job(object, work$verb, work$arguments, page), page = page)
}

show_job <- function(job, page) {
  if (!is.null(page)) {
    page$open()
  }
  show_in_rstudio(job)
}

job_work <- function(object, train_spec, eval_spec) {
  check_class(eval_spec, "tfdistribute_eval_spec", "an eval_spec()", null = TRUE)
  if (!inherits(train_spec, "tfdistribute_train_spec")) {
    train_spec <- train_spec(as_input(train_spec))
  }
  arguments <- if (is.null(eval_spec)) {
    list(input_fn = train_spec$input, hooks = train_spec$hooks, max_steps = train_spec$max_steps)
  } else {
    list(train_spec = train_spec, eval_spec = eval_spec)
  }
  list(
    verb = if (is.null(eval_spec)) "train" else "train_and_evaluate",
    arguments = with_fitted_replacements(object, arguments, shows_progress(train_spec$hooks))
  )
}

# Whether a verb starts the tasks of a cluster. It does not in a process that is one of them.
starts_job <- function(cluster) {
  call_backend("starts_job", cluster = cluster)
}

check_starts_job <- function(cluster) {
  if (is.null(cluster)) {
    abort_tfdistribute(
      "cluster",
      problem = "`cluster` is NULL, so there are no processes to start.",
      remedy = "Use a cluster, as in cluster = local_cluster(workers = 2), or call train() to train in this process."
    )
  }
  if (!starts_job(cluster)) {
    abort_tfdistribute(
      "cluster",
      problem = "This process is already a task of a cluster, so it cannot start another one.",
      remedy = "Use `cluster = NULL`, which works in this process alone.",
      argument = "cluster"
    )
  }
}

# Train in separate processes, one without a cluster and a strategy, and return the handle of the job.
train_in_background <- function(object, verb, arguments, page) {
  config <- object$config
  is_alone <- is.null(config$cluster) && is.null(config$strategy)
  start_in_background(
    if (is_alone) with_cluster(object, local_cluster(1)) else object,
    verb,
    arguments,
    page
  )
}

start_in_background <- function(object, verb, arguments, page) {
  cluster <- object$config$cluster
  if (inherits(cluster, "tfdistribute_ray_cluster")) {
    # The supervisor of the job runs inside the cluster, and survives this session.
    cluster["detached"] <- TRUE
    object <- with_cluster(object, cluster)
  }
  check_starts_job(object$config$cluster)
  job <- start_job(object, verb, arguments, page)
  show_job(job, page)
}

# Start a job, which writes the `page`, and return its handle.
start_job <- function(object, verb, arguments, page = NULL) {
  cluster <- object$config$cluster
  prepared <- prepare_job(object, verb, arguments)
  arguments <- prepared$arguments
  object <- prepared$object
  if (shows_progress(hooks_of(arguments))) {
    cli::cli_inform("Starting {show_processes(cluster, verb)} on {show_hosts(cluster)}.")
  }
  cluster <- open_daemons(cluster)
  handle <- with_task_file(
    "start_job",
    object,
    cluster,
    verb,
    arguments,
    parent_pid = Sys.getpid(),
    tracks = !is.null(object$config$track) && !reads_only(list(verb = verb))
  )
  job <- new_job(handle, last_step_of(arguments), task_names(cluster))
  occupy_daemons(job, cluster)
  if (!is.null(page)) {
    view_job(job, page)
  }
  job
}

# Check a job. Returns the estimator and the arguments for its tasks. With `offline`, remote storage is not contacted.
prepare_job <- function(object, verb, arguments, offline = FALSE) {
  # The package divides rows in memory, and does not read them before the job is known to be possible.
  in_memory <- inherits(source_of(arguments$input_fn), "tfdistribute_in_memory_input")
  object["model_dir"] <- absolute_path(object$model_dir)
  prepared <- call_backend(
    "prepare_job",
    config = object$config,
    verb = verb,
    workload = workload(object, arguments$train_spec %||% arguments$input_fn, arguments$eval_spec),
    steps = if (is.null(arguments$max_steps)) arguments$steps,
    offline = offline,
    checkpoint_path = arguments$checkpoint_path,
    input = if (reads_only(list(verb = verb)) && !in_memory) arguments$input_fn
  )
  arguments$checkpoint_path <- prepared$checkpoint_path
  if (!is.null(prepared$max_steps)) {
    # Restarted tasks must not count the steps from their own start.
    arguments$max_steps <- prepared$max_steps
    arguments["steps"] <- list(NULL)
  }
  if (!offline || !is_remote_path(object$model_dir)) {
    data <- arguments$input_fn %||% arguments$train_spec
    object <- with_standardized_response(object, data)
  }
  object <- with_chosen_end(object, verb, arguments)
  list(object = object, arguments = replace(arguments, "validation", NULL))
}

# A tabular model with what this session learned from the rows, and the end of the training that it chose. The processes
# of a cluster then train as usual.
with_chosen_end <- function(object, verb, arguments) {
  if (!is_tabular(object)) {
    return(object)
  }
  if (verb == "train_and_evaluate") {
    abort_tfdistribute(
      "argument",
      problem = "`eval_spec` is given, but tabular models choose the end of their training themselves.",
      remedy = "Leave it out, and call evaluate() after the training.",
      argument = "eval_spec"
    )
  }
  if (verb != "train") {
    return(object)
  }
  alone <- object
  config <- object$config
  config[c("strategy", "cluster")] <- list(NULL)
  alone["config"] <- list(config)
  progress <- new_progress(show = shows_progress(hooks_of(arguments)))
  on.exit(progress$finish())
  learned <- call_backend(
    "complete_tabular",
    estimator = alone,
    input = arguments$input_fn,
    validation = arguments$validation,
    listener = progress$listener
  )
  object[names(learned)] <- learned
  object
}

last_step_of <- function(arguments) {
  arguments$max_steps %||% arguments$train_spec$max_steps
}

# Write the files for the tasks of a job into its private directory, and call a function of the backend with the fields
# of the job. If the function fails, the directory is removed.
with_task_file <- function(.function, object, cluster, verb, arguments, ...) {
  fields <- list(
    cluster = cluster,
    verb = verb,
    command = as.list(task_command(cluster)),
    working_directory = getwd(),
    model_dir = object$model_dir,
    environment = task_environment(cluster),
    ...
  )
  directory <- call_backend("open_job", cluster = cluster, model_dir = object$model_dir)
  is_done <- FALSE
  on.exit(if (!is_done) call_backend("remove_job_directory", directory = directory))
  files <- input_files(arguments)
  arguments <- share_data(object, arguments, directory)
  written <- list(
    directory = directory,
    task_file = write_task(directory, verb, c(list(object = object), arguments)),
    input_files = as.list(files),
    max_steps = last_step_of(arguments)
  )
  answer <- rlang::inject(call_backend(.function, !!!fields, !!!written))
  is_done <- TRUE
  answer
}

# Text such as "2 workers and an evaluator". The chief is also a worker. Only workers evaluate or predict.
show_processes <- function(cluster, verb) {
  counts <- as.list(count_tasks(cluster))
  if (reads_only(list(verb = verb))) {
    counts <- counts[c("chief", "worker")]
  }
  cli::ansi_collapse(c(
    several(sum(counts$chief, counts$worker), "worker"),
    if (isTRUE(counts$ps > 0)) several(counts$ps, "parameter server"),
    if (!is.null(counts$evaluator) && verb != "train") "an evaluator"
  ))
}

# "this machine", "2 hosts", "2 nodes of Slurm", "Ray" or "Kubernetes".
show_hosts <- function(cluster) {
  if (is_managed(cluster)) {
    return(c(kubernetes = "Kubernetes", vertex = "Vertex AI")[[cluster$kind]])
  }
  if (inherits(cluster, "tfdistribute_slurm_cluster")) {
    return(paste(several(cluster$nodes, "node"), "of Slurm"))
  }
  if (cluster$kind %in% names(engines)) {
    return(engines[[cluster$kind]])
  }
  hosts <- length(unique(cluster$hosts))
  if (hosts == 0) "this machine" else several(hosts, "host")
}
