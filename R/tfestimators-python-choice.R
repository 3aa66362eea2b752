# Choice of a Python, for scripts of tfestimators.

#' Choose the Python to use
#'
#' These functions are for scripts of tfestimators. They call the functions of the same names in the R package
#' reticulate. Use them before Python starts. You do not need them for the environment of [install_tfdistribute()],
#' which tfdistribute finds without them.
#'
#' @param python Path of a Python program.
#' @param virtualenv A string that names a virtual environment, or its path.
#' @param condaenv A string that names a conda environment, or its path.
#' @param conda Path of conda, or `"auto"`.
#' @param required Whether an unusable Python is an error, TRUE or FALSE. FALSE makes the choice only a hint. NULL means
#'   TRUE, except while a package is loaded.
#' @returns Invisibly NULL.
#' @section Errors: `tfdistribute_backend_error` if reticulate cannot use this Python.
#' @references <https://rstudio.github.io/reticulate/reference/use_python.html>
#' @examples
#' \dontrun{
#' use_virtualenv("r-tfdistribute")
#' }
#' @name use_python
NULL

#' @rdname use_python
#' @export
use_python <- function(python, required = NULL, ...) {
  check_call(...)
  try_python("use_python", python, required = required)
}

#' @rdname use_python
#' @export
use_virtualenv <- function(virtualenv = NULL, required = NULL, ...) {
  check_call(...)
  try_python("use_virtualenv", virtualenv, required = required)
}

#' @rdname use_python
#' @export
use_condaenv <- function(condaenv = NULL, conda = "auto", required = NULL, ...) {
  check_call(...)
  try_python("use_condaenv", condaenv, conda = conda, required = required)
}

try_python <- function(how, chosen, ..., argument = rlang::caller_arg(chosen)) {
  tryCatch(
    choose_python(how, chosen, ...),
    error = function(error) {
      abort_tfdistribute(
        "backend",
        problem = "`{argument}` {show_value(chosen)} cannot be used: {conditionMessage(error)}",
        remedy = "See tfdistribute_sitrep() for the Python that is in use.",
        value = show_value(chosen),
        parent = error
      )
    }
  )
}

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
