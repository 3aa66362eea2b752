#' Train with the processes of a cluster
#'
#' Starts one process per task of a cluster, supervises them while they train together, and returns the history. With
#' `wait = FALSE`, it returns a handle of the job once the job has started. [train()] and [train_and_evaluate()] with a
#' cluster do the same. This session is never one of the processes. They run on this machine, on the hosts of an
#' [ssh_cluster()], on the nodes of a [slurm_cluster()], in the actors of a [ray_cluster()], in the tasks of a
#' [spark_cluster()], in the daemons of a [mirai_cluster()], or on a managed platform. See [kubernetes_cluster()] and
#' [vertex_cluster()].
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
#' @param validation An input with the columns of `train_spec`, whose rows choose the end of a [tabular_regressor()] or
#'   [tabular_classifier()]. NULL uses the model's `validation`.
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
  strategy = object$config$strategy,
  validation = NULL
) {
  check_call(..., .remedies = list(train_spec = "Make one with train_spec()."))
  check_estimator(object)
  wait <- check_flag(wait)
  object <- with_cluster(object, cluster, strategy)
  work <- training_work(object, train_spec, eval_spec, validation)
  check_has_cluster(cluster)
  perform_verb(work, wait, TRUE, view)
}

# The training that `train_spec` and `eval_spec` describe.
training_work <- function(object, train_spec, eval_spec, validation = NULL) {
  check_class(eval_spec, "tfdistribute_eval_spec", "an eval_spec()", null = TRUE)
  if (!inherits(train_spec, "tfdistribute_train_spec")) {
    train_spec <- train_spec(as_input(train_spec))
  }
  if (!is.null(eval_spec)) {
    specs <- list(train_spec = train_spec, eval_spec = eval_spec)
    return(new_work(object, "train_and_evaluate", specs))
  }
  arguments <- list(
    input_fn = train_spec$input,
    hooks = train_spec$hooks,
    max_steps = train_spec$max_steps
  )
  arguments$validation <- validation_input(validation, object, train_spec$input)
  new_work(object, "train", arguments)
}

show_job <- function(job, page) {
  if (!is.null(page)) {
    page$open()
  }
  show_in_rstudio(job)
}

# Start the job of prepared work, which writes the `page`, and return its handle.
start_job <- function(work, show, page = NULL) {
  cluster <- work$object$config$cluster
  if (show) {
    cli::cli_inform("Starting {show_processes(cluster, work$verb)} on {show_hosts(cluster)}.")
  }
  handle <- with_job_directory(work$directory, {
    cluster <- open_daemons(cluster)
    send_job(
      "start_job",
      work,
      cluster,
      parent_pid = Sys.getpid(),
      tracks = !is.null(work$object$config$track) && !reads_only(work)
    )
  })
  job <- new_job(handle, last_step_of(work$arguments), task_names(cluster))
  occupy_daemons(job, cluster)
  if (!is.null(page)) {
    view_job(job, page)
  }
  job
}

last_step_of <- function(arguments) {
  arguments$max_steps %||% arguments$train_spec$max_steps
}

# Write the file of a job's tasks into its private directory, and call a function of the backend with the fields of the
# job, and with the rows in memory, which the backend writes.
send_job <- function(.function, work, cluster, ...) {
  arguments <- work$arguments
  shared <- share_data(arguments)
  call_backend(
    .function,
    cluster = cluster,
    verb = work$verb,
    command = as.list(task_command(cluster)),
    working_directory = getwd(),
    model_dir = work$object$model_dir,
    environment = task_environment(cluster),
    directory = work$directory,
    task_file = write_task(
      work$directory,
      work$verb,
      c(list(object = work$object), shared$arguments)
    ),
    input_files = as.list(input_files(arguments)),
    max_steps = last_step_of(arguments),
    estimator = work$object,
    inputs = shared$inputs,
    ...
  )
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
