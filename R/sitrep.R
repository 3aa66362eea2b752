#' Situation report: versions, devices and problems
#'
#' Prints the versions of R, reticulate, Python and TensorFlow, the installed Estimators, Keras 2 and Keras 3, the
#' devices, and NVIDIA GPUs with their memory and driver. For each problem, it also prints a fix, for example for
#' missing packages, incompatible versions, a driver that is too old for TensorFlow, or CUDA libraries that TensorFlow
#' does not find. It never fails, and installs nothing.
#'
#' @param patches TRUE also prints the changes that tfdistribute makes to TensorFlow, Keras and reticulate. To disable
#'   some of them for a bug report, set the environment variable `TFDISTRIBUTE_WITHOUT_PATCHES` to their names,
#'   separated by commas, before Python starts.
#' @returns A list of class `tfdistribute_sitrep`, invisibly: `versions` (named strings), `devices` (named counts of
#'   TensorFlow's devices), `gpus` (this machine's NVIDIA GPUs, a tibble with columns `name`, `memory_mb` and `driver`),
#'   and `problems` (a tibble with columns `problem` and `fix`, which is empty if nothing is wrong). With
#'   `patches = TRUE`, the list also contains `patches` (a tibble with columns `name`, `target`, `why`, `source`,
#'   `versions`, and `used`, which is TRUE if this session has used the patch).
#' @examples
#' tfdistribute_sitrep()
#' @export
tfdistribute_sitrep <- function(..., patches = FALSE) {
  check_call(...)
  check_flag(patches)
  report <- tryCatch(
    python_report(),
    error = function(error) {
      list(error = conditionMessage(error), fix = "Run install_tfdistribute(), then restart R.")
    }
  )
  sitrep <- structure(
    list(
      versions = sitrep_versions(report),
      devices = c(CPU = report$cpus %||% NA_integer_, GPU = report$gpus %||% NA_integer_),
      gpus = table_of(
        report$nvidia_gpus,
        name = NA_character_,
        memory_mb = NA_integer_,
        driver = NA_character_
      ),
      problems = sitrep_problems(report),
      patches = if (patches) sitrep_patches(report)
    ),
    class = "tfdistribute_sitrep"
  )
  print(sitrep)
  invisible(sitrep)
}

# Versions, devices and problems, as bridge/doctor.py reports them.
python_report <- function() {
  python <- python_found()
  if (is.null(python)) {
    return(list(
      error = "No Python was found.",
      fix = "Run install_tfdistribute(), then restart R."
    ))
  }
  call_backend("python_report")
}

sitrep_versions <- function(report) {
  installed <- function(package) {
    is_installed <- nzchar(system.file(package = package))
    if (is_installed) as.character(utils::packageVersion(package)) else NA
  }
  c(
    tfdistribute = installed("tfdistribute"),
    R = as.character(getRversion()),
    reticulate = installed("reticulate"),
    Python = report$python %||% NA,
    vapply(report$packages, function(version) version %||% NA_character_, ""),
    `R package tensorflow` = installed("tensorflow"),
    `R package tfestimators` = installed("tfestimators"),
    executable = report$executable %||% NA
  )
}

sitrep_problems <- function(report) {
  known <- c(report$problems, numpy_problem(report$packages$numpy))
  other <- c(report$error, report$tensorflow_error)
  tibble::tibble(
    problem = c(vapply(known, function(each) each$problem, ""), as.character(other)),
    fix = c(
      vapply(known, function(each) each$fix, ""),
      rep("Run install_tfdistribute(), then restart R.", length(other))
    )
  )
}

sitrep_patches <- function(report) {
  if (!is.null(report$patches)) {
    table_of(
      report$patches,
      name = "",
      target = "",
      why = "",
      source = "",
      versions = "",
      used = NA
    )
  }
}

numpy_problem <- function(numpy) {
  if (is.null(numpy) || package_version(numpy) < "2" || reads_numpy_2()) {
    return(NULL)
  }
  reticulate <- utils::packageVersion("reticulate")
  list(list(
    problem = sprintf("reticulate %s cannot convert arrays of numpy %s.", reticulate, numpy),
    fix = "Update reticulate to 1.38 or newer, or run `pip install \"numpy<2\" \"pyarrow<21\"`."
  ))
}

#' @export
print.tfdistribute_sitrep <- function(x, ...) {
  cat("tfdistribute situation report\n")
  shown <- x$versions[!is.na(x$versions)]
  cat(paste0("  ", format(names(shown)), "  ", shown, "\n"), sep = "")
  devices <- x$devices[!is.na(x$devices)]
  if (length(devices) > 0) {
    cat("  devices: ", paste(devices, names(devices), collapse = ", "), "\n", sep = "")
  }
  gpu <- x$gpus
  cat(sprintf("  %s, %d MB, driver %s\n", gpu$name, gpu$memory_mb, gpu$driver), sep = "")
  patch <- x$patches
  cat(sprintf("  %s: %s\n    %s\n", patch$name, patch$target, patch$why), sep = "")
  if (nrow(x$problems) == 0) {
    cat("Nothing is missing.\n")
  }
  cat(sprintf("! %s\n  -> %s\n", x$problems$problem, x$problems$fix), sep = "")
  invisible(x)
}
