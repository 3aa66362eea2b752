#' Write the job for a managed platform to a file
#'
#' `write_manifest()` writes the job that [launch()] would submit for an estimator with a [kubernetes_cluster()] or
#' [vertex_cluster()] as JSON, so that you can read it, change it and submit it from elsewhere. It checks the job and
#' contacts no other machine. `write_dockerfile()` writes the instructions to build the image of the containers.
#'
#' @section Submitting a manifest:
#' * Kubernetes: `kubectl create -f job.json`.
#' * Vertex AI: `gcloud ai custom-jobs create --region=REGION --display-name=NAME --config=job.json`.
#'
#' With `staging`, the containers read a second file, `job.tar.gz`, which is written beside the manifest. A message
#' names the location to which you must copy it first. Both files contain the model and data in memory, and only you can
#' read them. Each manifest has its own name, so write a new one for each training.
#'
#' @section The image:
#' The image contains R, this package, and TensorFlow in `/opt/tensorflow`. Put the source of the package, as
#' `R CMD build` creates it, beside the Dockerfile, then run `docker build -t IMAGE .` there. Add packages that your
#' functions use. Each container runs `python -m tfdistribute run-task`, which reads the job, runs R, and returns an
#' exit code of 128 or more if a restart may help.
#'
#' @inheritParams launch
#' @param path Path of the file to write, a string.
#' @param base A string that names an image with R and Python 3.10 or 3.11. `docker build --build-arg BASE=` replaces
#'   it.
#' @param version Version of TensorFlow, as in [install_tfdistribute()].
#' @param gpu TRUE for TensorFlow with CUDA libraries, FALSE for CPUs only.
#' @param packages Names of further R packages to install, strings.
#' @returns `path`, invisibly.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type, `object` has no such cluster, or `train_spec` has
#'   no `max_steps` but steps must be counted from the newest checkpoint.
#' * `tfdistribute_cluster_error` if `model_dir` is inside the containers, or the job is too large for a Kubernetes
#'   secret.
#' * The errors of [launch()] for objects that cannot be sent.
#' @references <https://kubernetes.io/docs/reference/kubectl/generated/kubectl_create/>,
#'   <https://cloud.google.com/sdk/gcloud/reference/ai/custom-jobs/create>
#' @family jobs
#' @examplesIf tfdistribute_available()
#' cluster <- kubernetes_cluster("registry.example.org/cars:1", workers = 2)
#' model <- linear_regressor(
#'   feature_columns(column_numeric("wt")),
#'   model_dir = "gs://my-bucket/cars",
#'   config = run_config(cluster = cluster)
#' )
#' input <- input_fn(mpg ~ wt, mtcars, batch_size = 16, epochs = NULL)
#' training <- train_spec(input, max_steps = 1000)
#' path <- write_manifest(model, training, path = tempfile(fileext = ".json"))
#' writeLines(head(readLines(path)))
#' @export
write_manifest <- function(object, train_spec, eval_spec = NULL, path = "job.json", ...) {
  check_call(..., .remedies = list(train_spec = "Make one with train_spec()."))
  check_estimator(object)
  path <- path.expand(check_string(path))
  work <- training_work(object, train_spec, eval_spec)
  cluster <- object$config$cluster
  if (!is_managed(cluster)) {
    abort_tfdistribute(
      "argument",
      problem = "`object` has no cluster of a managed platform, so there is nothing to send.",
      remedy = "Use run_config(cluster = kubernetes_cluster(...)), or vertex_cluster(...)."
    )
  }
  show <- shows_progress(hooks_of(work$arguments))
  work <- prepare_verb(work, starts = TRUE, show, offline = TRUE)
  written <- with_job_directory(
    work$directory,
    send_job("write_manifest", work, cluster, path = path)
  )
  if (!is.null(written$archive)) {
    cli::cli_inform(c(
      i = "Copy {.path {written$archive}} to {.val {written$staged}} before you send the manifest."
    ))
  }
  invisible(path)
}

#' @rdname write_manifest
#' @export
write_dockerfile <- function(
  path = "Dockerfile",
  base = "rocker/r-ver:4.3.3",
  version = getOption("tfdistribute.tensorflow"),
  gpu = FALSE,
  packages = NULL,
  ...
) {
  check_call(...)
  path <- path.expand(check_string(path))
  is_name <- matches_whole(check_string(base), "[A-Za-z0-9][A-Za-z0-9._/:@-]*")
  check_texts(base, is_name, "is not the name of an image", kind = "argument")
  version <- check_tensorflow_version(version %||% default_tensorflow)
  gpu <- check_flag(gpu)
  packages <- check_strings(packages, null = TRUE)
  wrong <- packages[!matches_whole(packages, "[A-Za-z][A-Za-z0-9.]*")]
  if (length(wrong) > 0) {
    abort_argument(wrong[[1]], "names of R packages", "packages")
  }
  # Files in az:// need packages of their own; pyarrow reads other buckets.
  python <- c(python_packages(version, gpu), "azure-storage-blob", "azure-identity")
  write_lines(dockerfile_lines(base, python, packages), path)
  invisible(path)
}

dockerfile_lines <- function(base, python, packages) {
  own <- utils::packageVersion("tfdistribute")
  source <- paste0("tfdistribute_", own, ".tar.gz")
  quoted <- function(texts) toString(paste0("\"", texts, "\""))
  c(
    "# Image for the containers of kubernetes_cluster() and vertex_cluster().",
    paste0("# Put ", source, ", which R CMD build makes, beside this file."),
    paste0("ARG BASE=", base),
    "FROM ${BASE}",
    "RUN apt-get update \\",
    " && apt-get install -y --no-install-recommends python3 python3-venv \\",
    " && rm -rf /var/lib/apt/lists/*",
    "RUN python3 -m venv /opt/tensorflow \\",
    paste0(
      " && /opt/tensorflow/bin/pip install --no-cache-dir ",
      paste0("\"", python, "\"", collapse = " ")
    ),
    paste0("RUN Rscript -e 'install.packages(c(", quoted(c(imported_packages(), packages)), "))'"),
    paste0("COPY ", source, " /tmp/"),
    paste0("RUN R CMD INSTALL /tmp/", source, " \\"),
    " && ln -s \"$(Rscript -e 'cat(system.file(\"python\", package = \"tfdistribute\"))')\" /opt/tfdistribute",
    "ENV PATH=/opt/tensorflow/bin:${PATH}",
    "ENV RETICULATE_PYTHON=/opt/tensorflow/bin/python PYTHONPATH=/opt/tfdistribute",
    "RUN python -m tfdistribute run-task --help \\",
    " && Rscript -e 'stopifnot(tfdistribute::tfdistribute_available())'"
  )
}

# The packages that this package imports, without packages of R itself.
imported_packages <- function() {
  imports <- utils::packageDescription("tfdistribute", fields = "Imports")
  names <- trimws(sub("[(].*", "", strsplit(imports, ",", fixed = TRUE)[[1]]))
  setdiff(names, rownames(utils::installed.packages(priority = "base")))
}
