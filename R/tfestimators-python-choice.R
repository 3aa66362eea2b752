# Which Python is used, for scripts that choose one.

#' Choose the Python that is used
#'
#' The functions of the same names in the R package reticulate. Call them before anything starts Python.
#' [install_tfdistribute()] makes an environment that is found without them.
#'
#' @param python Path of a Python program.
#' @param virtualenv Name or path of a virtual environment.
#' @param condaenv Name or path of a conda environment.
#' @param conda Path of conda, or `"auto"`.
#' @param required TRUE for an error where it cannot be used; FALSE to take it as a hint; NULL for TRUE, except while a
#'   package is loaded.
#' @return Invisibly NULL.
#' @section Errors:
#' reticulate's own.
#' @section Source:
#' <https://rstudio.github.io/reticulate/reference/use_python.html>
#' @examples
#' \dontrun{
#' use_virtualenv("r-tfdistribute")
#' }
#' @name use_python
NULL

#' @rdname use_python
#' @export
use_python <- function(python, required = NULL) {
  choose_python("use_python", python, required = required)
}

#' @rdname use_python
#' @export
use_virtualenv <- function(virtualenv = NULL, required = NULL) {
  choose_python("use_virtualenv", virtualenv, required = required)
}

#' @rdname use_python
#' @export
use_condaenv <- function(condaenv = NULL, conda = "auto", required = NULL) {
  choose_python("use_condaenv", condaenv, conda = conda, required = required)
}

#' Install TensorFlow
#'
#' For scripts written for tfestimators: calls [install_tfdistribute()], which installs the TensorFlow that has
#' Estimators into a virtual environment.
#'
#' @param method `"auto"` or `"virtualenv"`.
#' @param version `"default"`, `"2.15"` or `"2.15.1"`, with `"-gpu"` or `"-cpu"` after it to choose, or `"gpu"` or
#'   `"cpu"` alone.
#' @param envname Name or path of the virtual environment; NULL for `"r-tfdistribute"`.
#' @param conda,conda_python_version,extra_packages,restart_session,pip_ignore_installed,python_version,... Accepted for
#'   scripts written for tfestimators, and ignored, but for `extra_packages`, which must be NULL.
#' @return As [install_tfdistribute()].
#' @section Errors:
#' `tfdistribute_unsupported_error` for conda, another version of TensorFlow, or extra packages; else as
#' [install_tfdistribute()].
#' @section Source:
#' Estimators left TensorFlow after 2.15: <https://www.tensorflow.org/guide/migrate/migrating_estimator>.
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
  method <- check_default_choice(method, "method", c("auto", "virtualenv", "conda"))
  refuse_installation(method == "conda", "method", method, "Use `method = \"virtualenv\"`.")
  known <- grepl(
    "^((default|2[.]15([.]1)?)(-(gpu|cpu))?|gpu|cpu)$",
    check_string(version, "version")
  )
  refuse_installation(
    !known,
    "version",
    version,
    "Leave `version` out: 2.15 is the last that has Estimators."
  )
  refuse_installation(
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
  install_tfdistribute(envname %||% "r-tfdistribute", gpu = gpu)
}

refuse_installation <- function(refused, argument, value, remedy) {
  if (refused) {
    abort_tfdistribute(
      "unsupported",
      problem = paste0("`", argument, "` cannot be ", show_value(value), "."),
      remedy = remedy,
      argument = argument,
      value = show_value(value)
    )
  }
}
