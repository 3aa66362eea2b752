# Clusters whose members a framework starts, such as Ray.

# A cluster whose framework gives each member the CPUs and GPUs that its arguments name.
describe_framework <- function(kind, arguments) {
  described <- describe("cluster", kind, arguments)
  described["devices_per_worker"] <- max(1L, described$gpus_per_worker)
  described
}

# How their clusters are called in sentences.
frameworks <- c(ray = "Ray", spark = "Spark", mirai = "mirai")

# The lines of a printed cluster, with the values of its framework in `...`.
format_framework <- function(x, member, hosts, ...) {
  members <- several(max(x$workers) + x$ps, member)
  gpus <- if (x$gpus_per_worker > 0) paste(" and", several(x$gpus_per_worker, "GPU"))
  format_started(
    x,
    paste("process{?es} in", members, "of", frameworks[[x$kind]]),
    ...,
    `each has` = paste0(several(x$cpus_per_worker, "CPU"), gpus),
    watched = show_watched(x, hosts)
  )
}

#' @export
show_hosts.tfdistribute_ray_cluster <- function(x) {
  frameworks[[x$kind]]
}

#' @export
show_hosts.tfdistribute_spark_cluster <- show_hosts.tfdistribute_ray_cluster

#' @export
show_hosts.tfdistribute_mirai_cluster <- show_hosts.tfdistribute_ray_cluster

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
#' within `lease_s`, the others continue. When Ray has started the actor again, the training restarts with it, see
#' [ssh_cluster()]. If Ray drains a node, as before a spot instance ends, the chief saves a checkpoint first.
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
  resize_every_s = 60,
  start_timeout_s = 120,
  stall_timeout_s = 300,
  restarts = 3,
  ...
) {
  check_call(...)
  describe_framework("ray", as.list(environment()))
}

#' @export
format.tfdistribute_ray_cluster <- function(x, ...) {
  format_framework(x, "actor", "nodes", address = x$address, placement = x$placement)
}

#' Describe a cluster of tasks that Spark starts
#'
#' Describes processes that train together in the tasks of a barrier stage of Spark: a chief, `workers - 1` workers, and
#' optional parameter servers and an evaluator. It is a plain R value and starts no task. For an estimator with this
#' cluster in its [run_config()], [train()], [train_and_evaluate()] and [launch()] submit the stage from a process
#' beside your session, check the executors, start the processes in the tasks, supervise them from this machine and end
#' them. R remains free. A [job][jobs] has the same handle, logs and history as a job of a [local_cluster()].
#'
#' @section Requirements:
#' * The executors have enough slots for all tasks at the same time, and can connect to the ports of this machine.
#'   Dynamic allocation is off, because Spark does not support it for barrier stages.
#' * The executors have R, Python (3.10 or later), and the same versions of this package and of TensorFlow as this
#'   machine. Spark runs `python`, whose version must be the version of this session's Python, unless
#'   spark.pyspark.python names another one. With Spark Connect (3.5 or later), the executors also need pandas and
#'   pyarrow.
#' * `model_dir` is one directory that this machine and all executors share under the same path, or remote storage.
#'   Files that the input reads are on all executors under the same path. Data in memory is sent, and data in Spark is
#'   written into `model_dir`. See "Spark DataFrames" in [input_fn()].
#'
#' Before any process starts, an error reports a connection that is closed, too few slots, dynamic allocation, and all
#' problems of the executors. [check_cluster()] runs the same checks without training.
#' @section Lost executors:
#' Spark ends a barrier stage that loses an executor. The stage is submitted again, at most `restarts` times, and the
#' training restarts from the newest checkpoint as in a [local_cluster()]. This can count as two restarts, because Spark
#' ends the other tasks later. If the connection to Spark ends, the job fails.
#'
#' With `workers = c(2, 4)`, the training starts with four tasks. If the executors have not enough slots again within
#' half of `lease_s`, the stage is submitted with as many tasks as there are slots, but at least two, and with all tasks
#' when it is submitted again later. This requires a connection without Spark Connect, which does not report its slots.
#' A training that loses nothing does not grow, because the number of tasks of a stage is fixed. See [ssh_cluster()] for
#' the conditions.
#'
#' @eval help_of("spark_cluster")
#' @returns A description of class `tfdistribute_spark_cluster`, `tfdistribute_cluster`.
#' @inheritSection ray_cluster Safety
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_cluster_error` if Spark or the executors cannot be used when training starts.
#' @references <https://spark.apache.org/docs/latest/spark-connect-overview.html>
#' @family clusters
#' @examples
#' spark_cluster("sc://localhost:15002", workers = 2)
#' @export
spark_cluster <- function(
  # Fields of cluster$spark
  sc,
  workers,
  ps = 0,
  evaluator = TRUE,
  cpus_per_worker = 1,
  gpus_per_worker = 0,
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
  sc <- spark_address(sc)
  describe_framework("spark", as.list(environment()))
}

# The address at which another process on this machine reaches the connection. It can contain a secret.
spark_address <- function(sc) {
  if (inherits(sc, "spark_shell_connection")) {
    return(sparklyr_address(sc))
  }
  # A connection of pysparklyr has a session of Python.
  session <- if (inherits(sc, "spark_connection")) sc$session else sc
  if (is_python_object(session)) {
    return(call_backend("spark_address", session = session))
  }
  if (
    !rlang::is_string(sc) || !grepl("^(sc://|py4j://:[^@/]+@127[.]0[.]0[.]1:)[^[:space:]]+$", sc)
  ) {
    shown <- if (is.list(sc)) class(sc)[[1]] else sc
    abort_argument(
      shown,
      "a connection to Spark, such as one from sparklyr or \"sc://host:port\"",
      "sc"
    )
  }
  sc
}

# In its JVM, sparklyr has no gateway for Python, but the same one as pyspark can be started there.
sparklyr_address <- function(sc) {
  if (is.null(sc$state$tfdistribute)) {
    settings <- sparklyr::invoke(sparklyr::spark_context(sc), "getConf")
    server <- sparklyr::invoke_new(sc, "org.apache.spark.api.python.Py4JServer", settings)
    sparklyr::invoke(server, "start")
    secret <- sparklyr::invoke(server, "secret")
    port <- sparklyr::invoke(server, "getListeningPort")
    home <- if (!is.null(sc$spark_home)) utils::URLencode(normalizePath(sc$spark_home))
    sc$state$tfdistribute <- paste0("py4j://:", secret, "@127.0.0.1:", port, home)
  }
  sc$state$tfdistribute
}

#' @export
format.tfdistribute_spark_cluster <- function(x, ...) {
  # Without what may be secret.
  session <- if (startsWith(x$sc, "sc:")) sub("/?;.*$", "", x$sc) else "on this machine"
  format_framework(x, "task", "executors", session = session)
}

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
#' With `workers = c(2, 4)`, the training starts with four daemons. If no daemon is idle for a lost task within
#' `lease_s`,
#' the others continue, and the training restarts with the task when a daemon has it, see [ssh_cluster()].
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
  resize_every_s = 60,
  start_timeout_s = 120,
  stall_timeout_s = 300,
  restarts = 3,
  ...
) {
  check_call(...)
  describe_framework("mirai", as.list(environment()))
}

#' @export
format.tfdistribute_mirai_cluster <- function(x, ...) {
  format_framework(x, "daemon", "daemons", profile = x$profile)
}
