# The only file that uses reticulate. All calls of Python go through call_backend(), which passes and returns plain
# values, and raises errors as classed conditions.

# State of the package in this session, such as the imported bridge, and the condition that an R callback raised. As in
# every environment with a state, a variable that was not set is NULL.
the <- rlang::new_environment(list(members = list()))

# Call a function of the Python bridge, and return its result as R values. The dot keeps `.function` apart from
# arguments called `name`. Descriptions and R vectors are converted to plain Python values.
call_backend <- function(.function, ...) {
  check_not_forked()
  # Arguments that are checked where they are given are checked before Python starts.
  arguments <- list(...)
  bridge <- suspendInterrupts(backend())
  arguments <- lapply(arguments, as_wire)
  the$callback_error <- NULL
  the$callback_trace <- NULL
  # Python handles Ctrl-C here. R would notice it in functions that reticulate calls in between, where its condition is
  # lost.
  answer <- suspendInterrupts({
    answer <- bridge$call(.function, arguments, Sys.getenv(tf_config_variable), passes_off())
    if (!is.null(answer$interrupt)) {
      forget_interrupt()
    }
    answer
  })
  raise_kept_warnings()
  if (!is.null(answer$interrupt)) {
    raise_interrupt(answer$text)
  }
  if (!is.null(answer$error)) {
    raise_python_error(answer$error)
  }
  warn_of_new_labels(answer$new_labels)
  answer$value
}

# Passes over a training step that are switched off, as text.
passes_off <- function() {
  paste(getOption("tfdistribute.passes", Sys.getenv("TFDISTRIBUTE_PASSES")), collapse = ",")
}

# The bridge module, imported on first use. Tests replace `the$bridge`.
backend <- function() {
  if (is.null(the$bridge)) {
    the$bridge <- import_bridge()
  }
  the$bridge
}

# TensorFlow, imported and prepared on first use.
delayed_tensorflow <- function() {
  reticulate::import(
    "tensorflow",
    delay_load = list(
      before_load = prefer_own_environment,
      on_load = function() call_backend("tensorflow"),
      on_error = abort_no_python
    )
  )
}

# R's packages tensorflow, keras and keras3 import TensorFlow themselves. tfdistribute prepares it afterwards. If a part
# of it is missing, the first verb reports it.
prepare_tensorflow_of_others <- function() {
  prepare <- function(...) {
    tryCatch(call_backend("prepare_tensorflow"), error = function(error) NULL)
  }
  if (
    reticulate::py_available() && reticulate::py_eval("'tensorflow' in __import__('sys').modules")
  ) {
    prepare()
  } else {
    setHook("reticulate::tensorflow::load", prepare)
  }
}

filter_classes <- function(filter) {
  reticulate::register_class_filter(filter)
}

import_bridge <- function() {
  path <- system.file("python", package = "tfdistribute", mustWork = TRUE)
  prefer_own_environment()
  the$python_pid <- Sys.getpid()
  tryCatch(
    {
      bridge <- reticulate::import_from_path("tfdistribute.bridge", path = path)
      bridge$start()
      reg.finalizer(the, finish_backend, onexit = TRUE)
      bridge
    },
    error = abort_no_python
  )
}

# R ends without Python's functions for the end of a process.
finish_backend <- function(...) {
  if (identical(the$python_pid, Sys.getpid()) && reticulate::py_available()) {
    tryCatch(call_backend("finish"), error = function(error) NULL)
  }
}

# A forked R has Python's memory but neither its threads nor TensorFlow's, so the first step would wait forever.
check_not_forked <- function() {
  if (!is.null(the$python_pid) && the$python_pid != Sys.getpid()) {
    abort_tfdistribute(
      "backend",
      problem = c(
        "This R process (pid {Sys.getpid()}) was forked from process {the$python_pid}, which had started Python. ",
        "TensorFlow does not work in forked processes."
      ),
      remedy = c(
        "Use new R processes: callr::r(), or future::plan(future::multisession) in place of parallel::mclapply() ",
        "or future::multicore."
      )
    )
  }
}

abort_no_python <- function(error) {
  abort_tfdistribute(
    "backend",
    problem = "Python cannot be used by tfdistribute: {conditionMessage(error)}",
    remedy = "Run install_tfdistribute() and restart R; tfdistribute_sitrep() shows what is missing.",
    parent = error
  )
}

# Values for Python ------------------------------------------------------------------------------

# Convert a description to plain values for Python. Named lists become dictionaries, vectors of length one scalars,
# other vectors lists, and functions callables whose errors come back as R conditions. Data is not sent in this way. See
# input-columns.R.
as_wire <- function(x) {
  UseMethod("as_wire")
}

#' @export
as_wire.default <- function(x) {
  if (is.null(x) || is_python_object(x)) {
    return(x)
  }
  if (is.function(x)) {
    return(guard_callback(x))
  }
  if (is.list(x)) {
    wires <- lapply(unclass_list(x), as_wire)
    return(if (is.null(names(x))) wires else rlang::set_names(wires, as_utf8(names(x), "names")))
  }
  if (is.factor(x)) {
    x <- as.character(x)
  }
  if (is.character(x)) {
    x <- as_utf8(x, "text for Python")
  }
  x <- as.vector(x)
  if (length(x) == 1) x else as.list(x)
}

unclass_list <- function(x) {
  names <- names(x)
  attributes(x) <- NULL
  names(x) <- names
  x
}

# Numbers as a NumPy array, which shares R's memory if possible.
as_numpy <- function(x) {
  check_numpy()
  reticulate::r_to_py(if (is.null(dim(x))) as.array(x) else x)
}

# An older reticulate would fail in its own words, or end R.
check_numpy <- function(version = reticulate::import("numpy")$`__version__`) {
  found <- if (!isTRUE(the$numpy_fits)) numpy_problem(version)[[1]]
  if (!is.null(found)) {
    abort_tfdistribute(
      "backend",
      problem = "{found$problem}",
      remedy = "Run install_tfdistribute() and restart R. {found$fix}"
    )
  }
  the$numpy_fits <- TRUE
}

python_value <- function(x, convert = FALSE) {
  reticulate::r_to_py(x, convert = convert)
}

# A NumPy array as an R array. R has no 16-bit or long double numbers.
array_of_python <- function(x) {
  if (dtype_name(x$dtype) %in% c("float16", "bfloat16", "float128")) {
    x <- x$astype("float64")
  }
  reticulate::py_to_r(x)
}

python_attribute <- function(x, name) {
  if (is_python_object(x)) reticulate::py_to_r(reticulate::py_get_attr(x, name))
}

is_python_object <- function(x) {
  inherits(x, "python.builtin.object")
}

# The Python object that the bridge returned without conversion to R.
unconverted_object <- function(kept) {
  reticulate::py_get_attr(kept, "value")
}

# The name of a Python module that another process can import. NULL for anything else.
python_module_name <- function(x) {
  if (!inherits(x, "python.builtin.module")) {
    return(NULL)
  }
  # A module that was not used yet has only a name.
  name <- tryCatch(
    as.character(reticulate::py_get_attr(x, "__name__")),
    error = function(error) NULL
  )
  if (!identical(name, "__main__")) name
}

python_module <- function(name) {
  if (name == "tensorflow") {
    return(as_tensorflow_module(delayed_tensorflow()))
  }
  reticulate::import(name, delay_load = TRUE)
}

dtype_name <- function(x) {
  as.character(x$name)
}

# Python itself ----------------------------------------------------------------------------------

#' Check whether the Python backend is available
#'
#' Looks for TensorFlow and its Estimators in the Python that reticulate would use. It starts neither Python nor
#' TensorFlow in this session, and downloads nothing. With reticulate 1.41 or newer, it returns FALSE if reticulate
#' would first have to create an environment.
#'
#' @returns TRUE or FALSE.
#' @seealso [tfdistribute_sitrep()], which reports missing packages.
#' @examples
#' tfdistribute_available()
#' @export
tfdistribute_available <- function(...) {
  check_call(...)
  python <- python_found()
  # Importing the second would fail before the engine has completed a newer TensorFlow.
  look <- "
from importlib.util import find_spec
raise SystemExit(not (find_spec('tensorflow') and find_spec('tensorflow_estimator')))"
  !is.null(python) && processx::run(python, c("-c", look), error_on_status = FALSE)$status == 0
}

# reticulate 1.41 or newer installs declared packages when Python starts.
declare_python_packages <- function(
  declare = get0("py_require", envir = asNamespace("reticulate"))
) {
  if (!is.null(declare)) {
    version <- check_tensorflow_version(
      getOption("tfdistribute.tensorflow", default_tensorflow),
      "options(tfdistribute.tensorflow)"
    )
    declare(
      python_packages(version, has_nvidia_driver()),
      python_version = python_range(version)
    )
  }
}

python_variable <- "RETICULATE_PYTHON"

# Use the environment of install_tfdistribute(), unless the user has chosen a Python.
prefer_own_environment <- function() {
  chosen <- nzchar(Sys.getenv(python_variable)) || reticulate::py_available()
  if (!chosen && "r-tfdistribute" %in% reticulate::virtualenv_list()) {
    reticulate::use_virtualenv("r-tfdistribute", required = FALSE)
  }
}

# The Python of this session, which its child processes use too.
python_in_use <- function() {
  backend()
  reticulate::py_config()$python
}

# The Python that this session uses or would use. NULL if reticulate finds none, or would create one.
python_found <- function() {
  prefer_own_environment()
  find <- if (reticulate::py_available()) reticulate::py_config else reticulate::py_discover_config
  tryCatch(find()$python, error = function(error) NULL)
}

# `tested` is the path of a complete list, whose packages are installed as they stand there.
make_python_environment <- function(envname, packages, python, tested = NULL, more = NULL) {
  tryCatch(
    {
      if (reticulate::virtualenv_exists(envname)) {
        # Another version may be installed under another of these names, and both would overwrite each other.
        names <- c("tensorflow", "tensorflow-cpu")
        reticulate::virtualenv_remove(envname, packages = names, confirm = FALSE)
      } else {
        # virtualenv_create() of newer versions also needs pip in `python`, a package of its own in Debian.
        is_path <- grepl("[/\\\\]", envname)
        path <- if (is_path) envname else file.path(reticulate::virtualenv_root(), envname)
        processx::run(python, c("-m", "venv", path.expand(path)))
      }
      if (is.null(tested)) {
        reticulate::virtualenv_install(envname, packages = packages)
      } else {
        pip <- c("-m", "pip", "install", "--no-deps", "--requirement", tested, more)
        processx::run(reticulate::virtualenv_python(envname), pip, echo = TRUE)
      }
      reticulate::virtualenv_python(envname)
    },
    error = function(error) {
      abort_tfdistribute(
        "backend",
        problem = "`envname` \"{envname}\" could not be created: {conditionMessage(error)}",
        remedy = "Install a Python with its venv module, or give another `envname`, then call it again.",
        value = envname,
        parent = error
      )
    }
  )
}
