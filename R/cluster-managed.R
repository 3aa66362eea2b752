#' Describe containers on Kubernetes
#'
#' Describes containers of one image that train together as a job of Kubernetes: a chief, `workers - 1` workers, and
#' optional parameter servers and an evaluator. It is a plain R value and starts nothing. [train()],
#' [train_and_evaluate()] and [launch()] submit the job with `kubectl` for an estimator with this cluster in its
#' [run_config()], and follow it. [write_manifest()] writes the same job to a file. Kubernetes starts and restarts the
#' containers.
#'
#' This was tested with the schemas of all three kinds of job and a server that implements Kubernetes' protocol, but
#' never on a real cluster.
#'
#' @section Requirements:
#' * An image with R, TensorFlow and the same version of this package. See [write_dockerfile()].
#' * `kubectl` on this machine, with a context that may create jobs and secrets in `namespace`. [write_manifest()] does
#'   not need it.
#' * Kubernetes 1.26 or later. The `job_kind` `"TrainJob"` also needs Kubeflow's Trainer (version 2), and `"TFJob"` its
#'   predecessor, the training operator (version 1). [check_cluster()] reports which kinds your cluster has.
#' * A `model_dir` on remote storage or below one of `volumes`, because other files are lost with their container. All
#'   containers must be able to write to it at the same time.
#'
#' @section Data sent to the cluster:
#' The job contains the description of the model, its functions with the variables that they use, and the data of
#' [input_fn()], as in [launch()]. It is stored in a Kubernetes secret, which holds 1 MB and is deleted with the job, or
#' in a file in `staging`. Files that the input reads are not sent. TensorFlow's ports between the containers are
#' unauthenticated and unencrypted, so use a namespace whose network others cannot enter.
#'
#' @section Failures:
#' Kubernetes restarts a container if its exit code is 128 or more, because it was killed or another container was lost
#' (138). Training continues from the newest checkpoint. A mistake in the model or the data (1 to 127) ends the job with
#' its error. [job_stop()] deletes the job, and the chief has 30 seconds to write a checkpoint.
#'
#' @eval help_of("kubernetes_cluster")
#' @returns A description of class `tfdistribute_kubernetes_cluster`, `tfdistribute_cluster`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_cluster_error` if Kubernetes does not accept a name or, when the job is submitted, the job itself.
#' * `tfdistribute_backend_error`, when the job is submitted, if `kubectl` cannot be run.
#' @references <https://kubernetes.io/docs/concepts/workloads/controllers/job/>,
#'   <https://www.kubeflow.org/docs/components/trainer/>, <https://kueue.sigs.k8s.io/docs/tasks/run/trainjobs/>
#' @family clusters
#' @examples
#' kubernetes_cluster("registry.example.org/cars:1", workers = 2)
#' kubernetes_cluster(
#'   "registry.example.org/cars:1",
#'   workers = 2,
#'   job_kind = "TrainJob",
#'   volumes = c("/models" = "models-claim")
#' )
#' @export
kubernetes_cluster <- function(
  # Fields of cluster$kubernetes
  image,
  workers,
  ps = 0,
  evaluator = TRUE,
  job_kind = c("Job", "TrainJob", "TFJob"),
  namespace = "default",
  queue = NULL,
  name = "tfdistribute",
  gpus = 0,
  cpus = NULL,
  memory = NULL,
  volumes = NULL,
  secrets = NULL,
  environment = NULL,
  staging = NULL,
  service_account = NULL,
  time_limit_s = NULL,
  start_timeout_s = 600,
  stall_timeout_s = 300,
  restarts = 3,
  kubectl = "kubectl",
  ...
) {
  check_call(...)
  describe("cluster", "kubernetes", as.list(environment()))
}

#' @export
format.tfdistribute_kubernetes_cluster <- function(x, ...) {
  format_managed(
    x,
    "of a {x$job_kind} in {x$namespace}",
    image = x$image,
    queue = x$queue,
    GPUs = if (x$gpus > 0) paste(x$gpus, "for each container that trains"),
    cores = if (!is.null(x$cpus)) paste(format(x$cpus), "for each container"),
    memory = if (!is.null(x$memory)) paste(x$memory, "for each container"),
    volumes = if (length(x$volumes) > 0) toString(names(x$volumes))
  )
}

format_managed <- function(x, where, ...) {
  limit <- if (!is.null(x$time_limit_s)) paste0(", ends after ", format(x$time_limit_s), " s")
  format_started(
    x,
    paste("container{?s}", where),
    ...,
    staging = x$staging,
    waits = paste0(format(x$start_timeout_s), " s for the other containers", limit)
  )
}

#' @export
show_hosts.tfdistribute_kubernetes_cluster <- function(x) {
  "Kubernetes"
}

#' Describe containers on Vertex AI
#'
#' Describes containers of one image that train together as a custom job of Google's Vertex AI: a chief, `workers - 1`
#' workers, and optional parameter servers and an evaluator. It is a plain R value and starts nothing. [train()],
#' [train_and_evaluate()] and [launch()] submit the job with Google's Python SDK for an estimator with this cluster in
#' its [run_config()], and follow it. [write_manifest()] writes the same job to a file. Vertex AI starts and restarts
#' the containers.
#'
#' This was tested with Google's SDK and a server that implements Vertex AI's protocol, but never on the real service.
#'
#' @section Requirements:
#' * An image with R, TensorFlow and the same version of this package. See [write_dockerfile()].
#' * The Python package google-cloud-aiplatform in this session's Python, and google-cloud-logging for [job_logs()].
#'   [write_manifest()] needs neither.
#' * Credentials: `gcloud auth application-default login`, or `GOOGLE_APPLICATION_CREDENTIALS`.
#' * A `model_dir` in Cloud Storage, `"gs://..."`.
#'
#' @section Data sent to the platform:
#' As in [kubernetes_cluster()], the job contains the description of the model, its functions with the variables that
#' they use, and the data of [input_fn()]. It is copied to `staging` and stays there. The containers compare its digest.
#'
#' @section Failures:
#' Vertex AI restarts a container that ended with an error and, with `restarts`, the whole job with it. Training
#' continues from the newest checkpoint. The state of the job contains Vertex AI's message, and [job_logs()] contains
#' the error of the container.
#'
#' @eval help_of("vertex_cluster")
#' @returns A description of class `tfdistribute_vertex_cluster`, `tfdistribute_cluster`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_cluster_error` if Vertex AI does not accept a name or, when the job is submitted, the job itself.
#' * `tfdistribute_backend_error`, when the job is submitted, if the SDK is not installed.
#' @references <https://cloud.google.com/vertex-ai/docs/training/create-custom-job>
#' @family clusters
#' @examples
#' vertex_cluster(
#'   "my-project",
#'   "europe-west4",
#'   image = "europe-docker.pkg.dev/my-project/images/cars:1",
#'   staging = "gs://my-bucket/jobs",
#'   workers = 2
#' )
#' @export
vertex_cluster <- function(
  # Fields of cluster$vertex
  project,
  location,
  image,
  staging,
  workers,
  ps = 0,
  evaluator = TRUE,
  machine_type = "n1-standard-8",
  accelerator = NULL,
  accelerators = 1,
  name = "tfdistribute",
  environment = NULL,
  service_account = NULL,
  network = NULL,
  time_limit_s = NULL,
  start_timeout_s = 600,
  stall_timeout_s = 300,
  restarts = TRUE,
  ...
) {
  check_call(...)
  describe("cluster", "vertex", as.list(environment()))
}

#' @export
format.tfdistribute_vertex_cluster <- function(x, ...) {
  accelerators <- if (!is.null(x$accelerator)) {
    paste0(", ", x$accelerators, " ", x$accelerator, " for each that trains")
  }
  format_managed(
    x,
    "on Vertex AI in {x$location}",
    project = x$project,
    image = x$image,
    machines = paste0(x$machine_type, accelerators)
  )
}

#' @export
show_hosts.tfdistribute_vertex_cluster <- function(x) {
  "Vertex AI"
}
