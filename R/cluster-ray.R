#' Describe a cluster of actors that Ray starts
#'
#' Describes processes that train together in the actors of a Ray cluster: a chief, `workers - 1` workers, and optional
#' parameter servers and an evaluator. It is a plain R value and starts nothing. For an estimator with this cluster in
#' its [run_config()], [train()], [train_and_evaluate()] and [launch()] connect to Ray, request a placement group with
#' an actor for each worker and parameter server, check the nodes, start the processes in the actors, supervise them
#' from this machine and end them. A [job][jobs] has the same handle, logs and history as a job of a
#' [local_cluster()].
#'
#' @section Requirements:
#' * The Python of this session has the package `ray`, with the versions of Ray and Python of the Ray cluster.
#' * This session runs on a node of the Ray cluster, or uses the address of a Ray client (`"ray://host:10001"`). The
#'   nodes can connect to the ports of this machine.
#' * The nodes have R, Python (3.10 or later), and the same versions of this package and of TensorFlow as this machine.
#' * `model_dir` is one directory that this machine and all nodes share under the same path, or remote storage. Files
#'   that the input reads are on all nodes under the same path. Data in memory is sent.
#'
#' Before any process starts, an error reports an address that does not answer, another version of Ray or Python, actors
#' for which the nodes are too small, and all problems of the nodes. [check_cluster()] runs the same checks without
#' training. If the Ray cluster is busy, the job waits for at most `start_timeout_s`. The processes in an actor compute
#' with as many threads as the actor has CPUs, and see only its GPUs.
#' @section Without this session:
#' With `wait = FALSE`, the job survives this session, and this machine may be switched off. The supervisor of the job
#' then runs on the head node of the Ray cluster, in a detached actor that needs no CPU, and opens its port there.
#' [job_find()] finds the job in any session on a machine that shares `model_dir`, and [job_logs()], [job_wait()] and
#' the other functions for [jobs] work as usual. [job_stop()] also needs `ray` and the address of the cluster. The files
#' of the job are in `model_dir`, or for remote storage in the working directory of this session, which the head node
#' must then share. The head node runs the supervisor with the Python of Ray and as your user. If Ray does not answer,
#' for example after the loss of the head node, the job keeps its last state, with a note. If its cluster is gone,
#' remove its directory in `model_dir/.jobs`, and a new training continues from the newest checkpoint.
#' @section Safety:
#' During the job, a port of this machine is open. Each actor connects to it and shows a token that only the actors of
#' the job get. The description of the model, the data and the variables in `environment` travel over this connection.
#' It is not encrypted, and neither are the connections of Ray and TensorFlow, so use a network that you trust. On the
#' nodes, files are stored in a directory that only you can read, which is removed with the job.
#' @section Lost nodes:
#' Ray restarts a lost actor, on another node if necessary, and the training processes restart from the newest
#' checkpoint as in a [local_cluster()]. If no node is free within `start_timeout_s`, or Ray no longer answers, the job
#' fails and names the cause.
#'
#' With `workers = c(2, 4)`, the training starts when Ray has room for four actors. If no node is free for a lost actor
#' within `lease_s`, the others continue, and the actor is used again at the first restart after Ray has started it. See
#' [ssh_cluster()] for the conditions.
#'
#' @eval help_of("ray_cluster")
#' @returns A description of class `tfdistribute_ray_cluster`, `tfdistribute_cluster`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_cluster_error` if Ray or the nodes cannot be used when training starts.
#' @references <https://docs.ray.io/en/latest/ray-core/scheduling/placement-group.html>
#' @family clusters
#' @examples
#' ray_cluster(workers = 2)
#' ray_cluster("ray://head:10001", workers = 4, cpus_per_worker = 8, gpus_per_worker = 1)
#' @export
ray_cluster <- function(
  # Fields of cluster$ray
  address = "auto",
  workers,
  ps = 0,
  evaluator = TRUE,
  cpus_per_worker = 1,
  gpus_per_worker = 0,
  placement = c("pack", "spread", "strict_pack", "strict_spread"),
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
  describe_engine("ray", as.list(environment()))
}

#' @export
format.tfdistribute_ray_cluster <- function(x, ...) {
  format_engine(x, "actor", "nodes", address = x$address, placement = x$placement)
}
