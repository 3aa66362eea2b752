#' Describe a cluster of daemons of mirai
#'
#' Describes processes that train together in daemons of the package mirai: a chief, `workers - 1` workers, and optional
#' parameter servers and an evaluator. It is a plain R value and starts nothing. Set the daemons with
#' `mirai::daemons()`. For an estimator with this cluster in its [run_config()], [train()], [train_and_evaluate()] and
#' [launch()] send a task to one idle daemon for each worker and parameter server, check the hosts of the daemons,
#' start the processes there, supervise them from this machine and end them. The daemons are occupied until the job
#' ends. A [job][jobs] has the same handle, logs and history as a job of a [local_cluster()].
#'
#' @section Requirements:
#' * The daemons are connected to this session with mirai's dispatcher, the default of `mirai::daemons()`. They can
#'   connect to other ports of this machine, so a tunnel of ssh to mirai's port is not enough.
#' * The hosts of the daemons have R, Python (3.10 or later), and the same versions of this package and of TensorFlow as
#'   this machine.
#' * `model_dir` is one directory that this machine and all hosts share under the same path, or remote storage. Files
#'   that the input reads are on all hosts under the same path. Data in memory is sent.
#'
#' Before any process starts, an error reports daemons that are not set, too few daemons, and all problems of their
#' hosts. [check_cluster()] runs the same checks without training. If the daemons have other work, the job waits for at
#' most `start_timeout_s`. mirai gives its daemons no CPUs or GPUs, so the processes see the GPUs that the daemon's
#' `CUDA_VISIBLE_DEVICES` lists.
#' @section Lost daemons:
#' Only this session can send work to its daemons. If a daemon is lost, the session sends its task to another idle
#' daemon, and the training processes restart from the newest checkpoint as in a [local_cluster()]. A daemon that
#' `mirai::daemons(n)` started on this machine is started again. The session does so while it waits for the job, in
#' every function for [jobs], and, if the package later is installed, while the console is idle.
#'
#' @eval help_of("mirai_cluster")
#' @returns A description of class `tfdistribute_mirai_cluster`, `tfdistribute_cluster`.
#' @inheritSection ray_cluster Safety
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_cluster_error` if the daemons or their hosts cannot be used when training starts.
#' @references <https://mirai.r-lib.org>
#' @family clusters
#' @examples
#' mirai_cluster(workers = 2)
#' @export
mirai_cluster <- function(
  # Fields of cluster$mirai
  workers,
  ps = 0,
  evaluator = TRUE,
  cpus_per_worker = 1,
  gpus_per_worker = 0,
  profile = NULL,
  rscript = "Rscript",
  python = NULL,
  libraries = NULL,
  environment = NULL,
  lease_s = 30,
  start_timeout_s = 120,
  stall_timeout_s = 300,
  restarts = 3,
  ...
) {
  check_call(...)
  describe_engine("mirai", as.list(environment()))
}

#' @export
format.tfdistribute_mirai_cluster <- function(x, ...) {
  format_engine(x, "daemon", "daemons", profile = x$profile)
}
