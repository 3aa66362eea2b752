# Choice of a Python, for scripts of tfestimators.

#' Choose the Python to use
#'
#' Call the functions of the same names in the R package reticulate. Use them before anything starts Python. The
#' environment that [install_tfdistribute()] makes is found without them.
#'
#' @param python Path of a Python program.
#' @param virtualenv Name or path of a virtual environment.
#' @param condaenv Name or path of a conda environment.
#' @param conda Path of conda, or `"auto"`.
#' @param required TRUE for an error if it cannot be used, FALSE for a hint only; NULL is TRUE, except while a package
#'   is loaded.
#' @param ... Must be empty.
#' @returns Invisibly NULL.
#' @section Errors: `tfdistribute_backend_error`: reticulate cannot use this Python.
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
  check_call()
  try_python("use_python", python, required = required)
}

#' @rdname use_python
#' @export
use_virtualenv <- function(virtualenv = NULL, required = NULL, ...) {
  check_call()
  try_python("use_virtualenv", virtualenv, required = required)
}

#' @rdname use_python
#' @export
use_condaenv <- function(condaenv = NULL, conda = "auto", required = NULL, ...) {
  check_call()
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
        argument = argument,
        value = show_value(chosen),
        parent = error
      )
    }
  )
}

#' Install TensorFlow
#'
#' Calls [install_tfdistribute()], which installs TensorFlow with Estimators into a virtual environment. It is for
#' scripts written for tfestimators.
#'
#' @param method `"auto"` or `"virtualenv"`.
#' @param version `"default"`, or a version as in [install_tfdistribute()], optionally followed by `"-gpu"` or `"-cpu"`;
#'   or just `"gpu"` or `"cpu"`.
#' @param envname Name or path of the virtual environment; NULL for `"r-tfdistribute"`.
#' @param conda,conda_python_version,restart_session,pip_ignore_installed,python_version,... Ignored; accepted for
#'   scripts written for tfestimators.
#' @param extra_packages Must be NULL.
#' @returns As [install_tfdistribute()].
#' @section Errors:
#' * `tfdistribute_unsupported_error`: conda, an unsupported version of TensorFlow or extra packages were requested.
#' * Those of [install_tfdistribute()].
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
      argument = argument,
      value = show_value(value)
    )
  }
}
