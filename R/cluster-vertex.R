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
