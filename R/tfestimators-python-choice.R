# Choice and installation of a Python, for scripts of tfestimators.

#' Choose the Python to use
#'
#' These functions are for scripts of tfestimators, which also exports these functions of the R package reticulate. Use
#' them before Python starts. You do not need them for the environment of [install_tfdistribute()], which tfdistribute
#' finds without them.
#'
#' @references <https://rstudio.github.io/reticulate/reference/use_python.html>
#' @seealso [reticulate::use_python()]
#' @examples
#' \dontrun{
#' use_virtualenv("r-tfdistribute")
#' }
#' @importFrom reticulate use_condaenv use_python use_virtualenv
#' @rawNamespace export(use_condaenv, use_python, use_virtualenv)
#' @aliases use_condaenv use_python use_virtualenv
#' @name use_python
NULL

#' Install TensorFlow
#'
#' This function is for scripts of tfestimators. It calls [install_tfdistribute()], which installs TensorFlow with
#' Estimators into a virtual environment.
#'
#' @param method `"auto"` or `"virtualenv"`.
#' @param version `"default"`, or a version as in [install_tfdistribute()], optionally followed by `"-gpu"` or `"-cpu"`.
#'   Just `"gpu"` or `"cpu"` is also accepted.
#' @param envname A string that names the virtual environment, or its path. NULL uses `"r-tfdistribute"`.
#' @param conda,conda_python_version,restart_session,pip_ignore_installed,python_version,... Ignored. These arguments
#'   are accepted for scripts written for tfestimators.
#' @param extra_packages Must be NULL.
#' @returns The same value as [install_tfdistribute()].
#' @section Errors:
#' * `tfdistribute_unsupported_error` if the call requests conda, an unsupported version of TensorFlow or extra
#'   packages.
#' * The errors of [install_tfdistribute()].
#' @references <https://tensorflow.rstudio.com/install/>
#' @examples
#' \dontrun{
#' install_tensorflow()
#' }
#' @export
install_tensorflow <- function(
  method = c("auto", "virtualenv", "conda"),
  conda = "auto",
  version = "default",
  envname = NULL,
  extra_packages = NULL,
  restart_session = TRUE,
  conda_python_version = NULL,
  ...,
  pip_ignore_installed = TRUE,
  python_version = conda_python_version
) {
  method <- check_default_choice(method, c("auto", "virtualenv", "conda"))
  check_installation_option(method == "conda", "method", method, "Use `method = \"virtualenv\"`.")
  known <- grepl(
    "^((default|newest|2[.](1[5-9]|2[01])([.][0-9]+)?)(-(gpu|cpu))?|gpu|cpu)$",
    check_string(version)
  )
  check_installation_option(
    !known,
    "version",
    version,
    "Use \"default\", or a version from \"2.15\" to \"2.21\"."
  )
  check_installation_option(
    length(extra_packages) > 0,
    "extra_packages",
    extra_packages,
    "Install them into the environment with pip."
  )
  gpu <- if (grepl("gpu$", version)) {
    TRUE
  } else if (grepl("cpu$", version)) {
    FALSE
  } else {
    "auto"
  }
  number <- sub("-?([cg]pu)?$", "", version)
  if (number %in% c("", "default")) {
    number <- getOption("tfdistribute.tensorflow")
  }
  install_tfdistribute(envname %||% "r-tfdistribute", version = number, gpu = gpu)
}

check_installation_option <- function(refused, argument, value, remedy) {
  if (refused) {
    abort_tfdistribute(
      "unsupported",
      problem = "`{argument}` cannot be {show_value(value)}.",
      remedy = remedy,
      value = show_value(value)
    )
  }
}
