# TensorFlow itself, for model functions and hooks.

#' TensorFlow
#'
#' `tf` is Python's module `tensorflow`, for code that calls TensorFlow directly: model functions of [estimator()],
#' [input_dataset()] and [hooks]. Attaching the package does not start Python, but the first use of `tf` does. It is the
#' same module as the `tf` of R's package tensorflow. With both packages, `tf$estimator` exists and `tf$keras` is Keras
#' 2 from the first use of either `tf`.
#'
#' A name that only TensorFlow 1 has, such as `tf$layers`, raises an error that names its replacement.
#'
#' R has one thread. An R function that TensorFlow calls on another thread is rejected with an error, for example the
#' function of a `tf$distribute$MirroredStrategy()$run()` with several replicas, or of a `tf$py_function()` in a data
#' set. [estimator()] and [input_generator()] call R functions on R's thread, under every strategy.
#'
#' Whole numbers must be R integers (`8L`). R lists without names become Python lists, and lists with names become
#' dictionaries.
#'
#' @format A Python module.
#' @section Errors:
#' * `tfdistribute_backend_error` if TensorFlow is not installed.
#' * `tfdistribute_unsupported_error` if TensorFlow 1 had the name, but TensorFlow 2 does not.
#' * `tfdistribute_argument_error` if TensorFlow has no such name.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf>
#' @seealso [tf_config()]
#' @examplesIf tfdistribute_available()
#' tf$version$VERSION
#' @export
tf <- NULL

#' Version and location of TensorFlow
#'
#' Reports the TensorFlow of this session, and starts it. It does not fail if TensorFlow is missing.
#'
#' @returns A list of class `tfdistribute_tf_config`: `available` (TRUE or FALSE), `version` (a [numeric_version()]),
#'   `version_str`, `location` (the module's directory), `python` (the program) and `python_version`. Without
#'   TensorFlow, the list contains `available` and `error_message`.
#' @references The function with the same name in R's tensorflow package has the same interface.
#' @seealso [tfdistribute_sitrep()], which also reports missing packages.
#' @examplesIf tfdistribute_available()
#' tf_config()
#' @export
tf_config <- function(...) {
  check_call(...)
  found <- tryCatch(
    {
      report <- call_backend("python_report")
      module <- call_backend("tensorflow")
      version <- as.character(module$version$VERSION)
      list(
        available = TRUE,
        version = numeric_version(sub("^([0-9.]*[0-9]).*$", "\\1", version)),
        version_str = version,
        location = dirname(as.character(module$`__file__`)),
        python = report$executable,
        python_version = report$python
      )
    },
    error = function(error) list(available = FALSE, error_message = conditionMessage(error))
  )
  structure(found, class = "tfdistribute_tf_config")
}

#' @export
print.tfdistribute_tf_config <- function(x, ...) {
  if (x$available) {
    cat("TensorFlow ", x$version_str, " (", x$location, ")\n", sep = "")
    cat("Python ", x$python_version, " (", x$python, ")\n", sep = "")
  } else {
    cat("TensorFlow is not available: ", x$error_message, "\n", sep = "")
  }
  invisible(x)
}

# Names of TensorFlow 1 in `tf`, and their replacements.

# `tf` and its modules store the path by which the user reached them.
as_tensorflow_module <- function(module, path = character()) {
  class(module) <- c("tfdistribute_module", class(module))
  attr(module, "path") <- path
  module
}

#' @export
`$.tfdistribute_module` <- function(x, name) {
  path <- c(attr(x, "path"), name)
  found <- tryCatch(NextMethod(), error = function(error) abort_no_attribute(error, path))
  if (inherits(found, "python.builtin.module")) as_tensorflow_module(found, path) else found
}

abort_no_attribute <- function(error, path) {
  if (!grepl("AttributeError", conditionMessage(error), fixed = TRUE)) {
    rlang::cnd_signal(error)
  }
  call_backend("missing_name", path = as.list(path))
}

# Functions of other packages that tfestimators exports.

#' Functions of other packages
#'
#' These functions are for scripts of tfestimators, which also exports them. Their packages document them: the helpers
#' that select columns in [tidyselect::language], and the pipe in the package magrittr.
#'
#' @importFrom magrittr %>%
#' @importFrom tidyselect all_of any_of contains ends_with everything last_col matches num_range one_of starts_with
#' @rawNamespace export("%>%", all_of, any_of, contains, ends_with, everything, last_col, matches, num_range, one_of,
#'   starts_with)
#' @aliases %>% all_of any_of contains ends_with everything last_col matches num_range one_of starts_with
#' @keywords internal
#' @name reexports
NULL

#' Show the columns of a table
#'
#' This function is for scripts of tfestimators, which also exports this function of tibble and dplyr. It shows a table
#' with a line for each column.
#'
#' @param x A data frame, or another object that has a method.
#' @param width Width of the output, a number of characters. NULL (default) uses the width of the console.
#' @param ... Arguments for methods.
#' @returns `x`, invisibly.
#' @seealso [tibble::glimpse()]
#' @examples
#' glimpse(mtcars)
#' @usage glimpse(x, width = NULL, ...)
#' @name glimpse
#' @rawNamespace export(glimpse)
NULL
