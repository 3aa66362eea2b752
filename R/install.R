#' Install the Python packages that tfdistribute needs
#'
#' Makes a virtual environment with reticulate and installs TensorFlow 2.15 with its Estimators. Nothing is installed
#' unless you call this function, and an interactive session asks first. With reticulate 1.41 or newer it is not needed:
#' tfdistribute declares its packages when it loads, and reticulate provides them.
#'
#' @param envname Name or path of the virtual environment.
#' @param gpu TRUE for TensorFlow with CUDA libraries, FALSE for CPUs only, `"auto"` to look for an NVIDIA driver.
#' @param python Path of a Python 3.10 or 3.11 (TensorFlow 2.15 has no builds for newer versions); NULL to look for one.
#' @param ask TRUE to ask before anything is installed.
#' @returns Invisibly, the path of the environment's Python, or NULL if you declined.
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type or is out of range.
#' * `tfdistribute_backend_error`: the environment cannot be made.
#' @references <https://rstudio.github.io/reticulate/articles/python_packages.html>
#' @seealso [tfdistribute_sitrep()]
#' @examples
#' \dontrun{
#' install_tfdistribute()
#' }
#' @export
install_tfdistribute <- function(
  envname = "r-tfdistribute",
  gpu = "auto",
  python = NULL,
  ask = interactive()
) {
  envname <- check_string(envname)
  python <- check_string(python, null = TRUE)
  gpu <- if (identical(gpu, "auto")) has_nvidia_driver() else check_flag(gpu)
  packages <- python_packages(gpu)
  if (check_flag(ask) && !confirm_installation(envname, packages)) {
    return(invisible(NULL))
  }
  python <- find_python(python)
  path <- make_python_environment(envname, packages, python)
  cli::cli_inform(c(v = "Python is ready in {.path {path}}.", i = "Restart R before you train."))
  invisible(path)
}

# TensorFlow removed Estimators after 2.15. That version needs NumPy 1, and a pyarrow of its time.
python_packages <- function(gpu = FALSE) {
  tensorflow <- if (gpu) "tensorflow[and-cuda]==2.15.1" else "tensorflow-cpu==2.15.1"
  c(tensorflow, "tensorflow-estimator==2.15.0", "numpy<2", "pyarrow<21", "google-crc32c")
}

# A Python that TensorFlow 2.15 has builds for, and that can create environments and download packages.
find_python <- function(python = NULL) {
  names <- c("python3.11", "python3.10", "python3")
  candidates <- python %||%
    c(Sys.which(names), file.path("/usr/bin", names), file.path("/usr/local/bin", names))
  test <- "import sys, ssl, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 11))"
  for (candidate in unique(candidates[nzchar(candidates)])) {
    works <- file.exists(candidate) &&
      suppressWarnings(system2(
        candidate,
        c("-c", shQuote(test)),
        stdout = FALSE,
        stderr = FALSE
      )) ==
        0
    if (works) {
      return(candidate)
    }
  }
  abort_tfdistribute(
    "backend",
    problem = if (is.null(python)) {
      "No Python 3.10 or 3.11 with the modules ssl and venv was found; TensorFlow 2.15 needs one."
    } else {
      "`python` \"{python}\" is not Python 3.10 or 3.11 with the modules ssl and venv."
    },
    remedy = "Install one (on Debian: apt-get install python3.11-venv) and give its path as `python`.",
    argument = "python",
    value = show_value(python)
  )
}

has_nvidia_driver <- function() {
  nzchar(Sys.which("nvidia-smi")) || file.exists("/proc/driver/nvidia/version")
}

confirm_installation <- function(envname, packages) {
  cli::cli_inform(c(
    "This makes the virtual environment {.val {envname}} and installs into it:",
    stats::setNames(packages, rep("*", length(packages)))
  ))
  answer <- utils::menu(c("Yes", "No"), title = "Go on?")
  answer == 1
}
