#' Install the Python packages that tfdistribute needs
#'
#' Creates a virtual environment with reticulate and installs TensorFlow into it, with Estimators and Keras 2. Nothing
#' is installed unless you call this function, and an interactive session first asks for permission. With reticulate
#' 1.41 or newer, you do not need this function, because tfdistribute declares its packages when it loads, and
#' reticulate provides them.
#'
#' TensorFlow contains Estimators and Keras 2 up to version 2.15. For a newer version, the packages tensorflow-estimator
#' and tf_keras are also installed, and give the same results. Keras 3 (`import keras`, or the R package keras3) is not
#' affected. tfdistribute is tested with 2.15, 2.18 and 2.21, and works with the versions between them. Newest versions
#' of all other packages are installed, and `lock = TRUE` installs the versions with which tfdistribute was tested.
#'
#' @section Choosing a version without this function:
#' Set `options(tfdistribute.tensorflow = "2.15")` before the package is loaded, for example in `.Rprofile`. reticulate
#' 1.41 or newer then provides that version, and it becomes the default of `install_tfdistribute()`.
#'
#' @param envname A string that names the virtual environment, or its path.
#' @param version Version of TensorFlow: `"2.15"` to `"2.21"`, with a third number if you wish. NULL or `"newest"` for
#'   2.21.
#' @param gpu TRUE for TensorFlow with CUDA libraries, FALSE for CPUs only, `"auto"` to look for an NVIDIA driver.
#' @param python Path of a Python that TensorFlow supports: 3.10 or 3.11 for TensorFlow 2.15, up to 3.12 for 2.16 to
#'   2.19, up to 3.13 for 2.20 and 2.21. NULL to look for one.
#' @param trees TRUE to install ydf, too, which [boosted_trees_regressor()] and [boosted_trees_classifier()] train with,
#'   and tabular models have trees with. It needs TensorFlow 2.20 or 2.21.
#' @param lock TRUE for exactly the tested version of every package, for TensorFlow 2.15, 2.18 or 2.21 on CPUs.
#' @param requirements Path of a list of exact versions, as from [write_requirements()], which are installed in place of
#'   all others, or NULL. Not together with `lock = TRUE`.
#' @param ask Whether to ask before anything is installed, TRUE or FALSE.
#' @returns The path of the environment's Python, or NULL if you declined, invisibly.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_backend_error` if the environment cannot be created.
#' @references <https://rstudio.github.io/reticulate/articles/python_packages.html>
#' @seealso [tfdistribute_sitrep()]
#' @examples
#' \dontrun{
#' install_tfdistribute()
#' install_tfdistribute(version = "2.15")
#' install_tfdistribute(lock = TRUE)
#' }
#' @export
install_tfdistribute <- function(
  envname = "r-tfdistribute",
  version = getOption("tfdistribute.tensorflow"),
  gpu = "auto",
  python = NULL,
  lock = FALSE,
  requirements = NULL,
  ask = interactive(),
  trees = FALSE,
  ...
) {
  check_call(...)
  envname <- check_string(envname)
  requirements <- check_path(requirements)
  version <- if (is.null(requirements)) version else locked_tensorflow(requirements)
  version <- check_tensorflow_version(version %||% default_tensorflow, "version")
  gpu <- if (identical(gpu, "auto")) has_nvidia_driver() else check_flag(gpu)
  trees <- if (check_flag(trees)) trees_package(version)
  packages <- c(python_packages(version, gpu), trees)
  both <- list(lock = if (check_flag(lock)) lock, requirements = requirements)
  check_one_given(both, required = FALSE)
  tested <- if (lock) tested_packages(version, gpu) else requirements
  python <- find_python(check_string(python, null = TRUE), version)
  if (check_flag(ask) && !confirm_installation(envname, tested %||% packages)) {
    return(invisible(NULL))
  }
  path <- make_python_environment(envname, packages, python, tested, trees)
  cli::cli_inform(c(v = "Python is ready in {.path {path}}.", i = "Restart R before you train."))
  invisible(path)
}

# The same versions are in inst/python/tfdistribute/versions.py and pyproject.toml, and tests compare them.
default_tensorflow <- "2.21"

# The newest Python for which each TensorFlow has builds.
newest_python <- c(
  "2.15" = 11,
  "2.16" = 12,
  "2.17" = 12,
  "2.18" = 12,
  "2.19" = 12,
  "2.20" = 13,
  "2.21" = 13
)

minor_version <- function(version) {
  sub("^([0-9]+[.][0-9]+).*$", "\\1", version)
}

check_tensorflow_version <- function(version, argument = rlang::caller_arg(version)) {
  version <- check_string(version, argument = argument)
  if (version == "newest") {
    return(default_tensorflow)
  }
  if (
    !grepl("^2[.][0-9]+([.][0-9]+)?$", version) || !minor_version(version) %in% names(newest_python)
  ) {
    abort_argument(version, "\"newest\", or a version from \"2.15\" to \"2.21\"", argument)
  }
  version
}

# TensorFlow 2.15 and an old reticulate require NumPy 1, and thus a pyarrow of the same time. tf_keras requires the
# package tensorflow. With tensorflow-cpu, both would be installed over each other.
python_packages <- function(version = default_tensorflow, gpu = FALSE) {
  minor <- minor_version(version)
  exact <- if (version == minor) paste0(minor, ".*") else version
  tensorflow <- if (gpu) {
    "tensorflow[and-cuda]"
  } else if (minor == "2.15") {
    "tensorflow-cpu"
  } else {
    "tensorflow"
  }
  c(
    paste0(tensorflow, "==", exact),
    if (minor != "2.15") c(paste0("tf_keras==", minor, ".*"), "tensorboard"),
    if (minor == "2.15" || !reads_numpy_2()) c("numpy<2", "pyarrow<21") else c("numpy", "pyarrow"),
    "tensorflow-estimator==2.15.0",
    "google-crc32c"
  )
}

# ydf needs protobuf 6, which older versions of TensorFlow do not support.
trees_package <- function(version) {
  if (package_version(minor_version(version)) < "2.20") {
    abort_argument(
      TRUE,
      "FALSE with TensorFlow {version}",
      "trees",
      remedy = "Use version = \"2.20\" or a newer one."
    )
  }
  "ydf>=0.16"
}

# The path of the list with the tested version of every package.
tested_packages <- function(version, gpu) {
  files <- list.files(system.file("tested-packages", package = "tfdistribute"), full.names = TRUE)
  file <- files[sub("[.]txt$", "", basename(files)) == version]
  if (gpu) {
    abort_argument(
      TRUE,
      "FALSE with GPUs",
      "lock",
      remedy = "Use `gpu = FALSE`, or `lock = FALSE`."
    )
  }
  if (length(file) == 0) {
    abort_argument(version, "2.15, 2.18 or 2.21 with `lock = TRUE`", "version")
  }
  file
}

# The version of TensorFlow in a list of exact versions.
locked_tensorflow <- function(path) {
  lines <- if (file.exists(path)) readLines(path, warn = FALSE)
  pattern <- "^tensorflow(-cpu)?==([0-9.]+).*$"
  found <- grep(pattern, lines, value = TRUE)
  if (length(found) == 0) {
    abort_argument(
      path,
      "the path of a list with a version of TensorFlow",
      "requirements",
      remedy = "Make one with write_requirements(model, \"requirements.txt\")."
    )
  }
  sub(pattern, "\\2", found[[1]])
}

# reticulate converts arrays of NumPy 2 from version 1.38 on.
reads_numpy_2 <- function() {
  utils::packageVersion("reticulate") >= "1.38"
}

python_range <- function(version = default_tensorflow) {
  sprintf(">=3.10,<3.%d", newest_python[[minor_version(version)]] + 1)
}

# A Python that has builds of a version of TensorFlow, and that can create environments and download packages.
find_python <- function(python = NULL, version = default_tensorflow) {
  newest <- newest_python[[minor_version(version)]]
  names <- c(sprintf("python3.%d", seq(newest, 10)), "python3")
  candidates <- python %||%
    c(Sys.which(names), file.path("/usr/bin", names), file.path("/usr/local/bin", names))
  for (candidate in unique(candidates[nzchar(candidates)])) {
    if (is_suitable_python(candidate, newest)) {
      return(candidate)
    }
  }
  abort_no_suitable_python(python, version, newest)
}

is_suitable_python <- function(python, newest) {
  test <- sprintf(
    "import sys, ssl, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, %d))",
    newest
  )
  file.exists(python) &&
    suppressWarnings(system2(python, c("-c", shQuote(test)), stdout = FALSE, stderr = FALSE)) == 0
}

pythons_to <- function(newest) {
  if (newest == 11) "3.10 or 3.11" else sprintf("3.10 to 3.%d", newest)
}

abort_no_suitable_python <- function(python, version, newest) {
  abort_tfdistribute(
    "backend",
    problem = if (is.null(python)) {
      "No Python {pythons_to(newest)} with the modules ssl and venv was found; TensorFlow {version} needs one."
    } else {
      paste(
        "`python` \"{python}\" is not Python {pythons_to(newest)} with the modules ssl and venv, which TensorFlow",
        "{version} needs."
      )
    },
    remedy = "Install one (on Debian: apt-get install python3-venv) and give its path as `python`.",
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
