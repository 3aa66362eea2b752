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
#' See [ssh_cluster()] for the conditions.
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
  describe_engine("spark", as.list(environment()))
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
  format_engine(x, "task", "executors", session = session)
}
