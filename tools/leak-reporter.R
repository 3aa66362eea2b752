# A testthat reporter that notes what a test leaves behind: environment variables, options, the working directory,
# child processes, connections, files in TMPDIR. It also writes the name of the running test to a file for the watch in tools/test-r.

# Set by Python, TensorFlow, R or its packages of dates when they start; they last as long as the process.
lasting_variables <- paste0(
  "^(RETICULATE_|TF_|TF2_|KMP_|OMP_|OPENBLAS_|MPL|PYTHON|TPU_|VIRTUAL_ENV|PATH$|LD_LIBRARY_PATH$|R_|TESTTHAT|",
  "RSTUDIO_|CUDA_|GRPC_|RENV_|KERAS_|HDF5_|ENABLE_RUNTIME_UPTIME_TELEMETRY$|COLUMNS$|LINES$|TZDIR$|_$)"
)
lasting_options <- "^(rlang_trace_top_env|testthat_|reticulate\\.|cli\\.|crayon\\.|ggplot2\\.|pkgbuild|callr|device)"

# Processes that this one started. It leads a session of its own under tools/test-r: orphans are in it too.
child_processes <- function() {
  stat_files <- Sys.glob("/proc/[0-9]*/stat")
  stats <- lapply(stat_files, function(path) {
    # A process may end between the listing and the reading.
    suppressWarnings(
      tryCatch(readLines(path, n = 1, warn = FALSE), error = function(condition) character())
    )
  })
  stats <- unlist(lapply(stats, function(line) line[nzchar(line)]))
  # pid (name) state ppid group session ...; the name may hold spaces and parentheses
  fields <- strsplit(sub("^.*\\) ", "", stats), " ", fixed = TRUE)
  state <- vapply(fields, `[[`, character(1), 1)
  parent <- vapply(fields, `[[`, character(1), 2)
  session <- vapply(fields, `[[`, character(1), 4)
  own <- as.character(Sys.getpid())
  ids <- sub(" .*$", "", stats)
  sort(ids[(parent == own | session == own) & ids != own & state != "Z"])
}

process_state <- function() {
  variables <- Sys.getenv()
  settings <- options()
  list(
    variables = variables[!grepl(lasting_variables, names(variables))],
    options = settings[!grepl(lasting_options, names(settings))],
    directory = getwd(),
    children = child_processes(),
    # showConnections() would collect garbage, which takes a fifth of a second where TensorFlow is loaded.
    connections = getAllConnections(),
    # tools/test-r gives R a directory of its own: what is there besides R's was left by this package or by a process.
    # The files of a model on remote storage last as long as Python.
    files = grep(
      "^tfdistribute-bucket-",
      list.files(dirname(tempdir()), all.files = TRUE, no.. = TRUE),
      value = TRUE,
      invert = TRUE
    )
  )
}

differing_names <- function(before, after, names_to_compare) {
  differs <- function(name) !identical(before[name], after[name], ignore.environment = TRUE)
  Filter(differs, names_to_compare)
}

describe_leaks <- function(before, after) {
  variables <- differing_names(
    unclass(before$variables),
    unclass(after$variables),
    union(names(before$variables), names(after$variables))
  )
  # A package that loads in a test may bring options of its own: only known ones and this package's are compared.
  own_options <- grep("^tfdistribute", names(after$options), value = TRUE)
  changed_options <- differing_names(
    before$options,
    after$options,
    union(names(before$options), own_options)
  )
  c(
    sprintf("environment variable %s", variables),
    sprintf("option %s", changed_options),
    if (!identical(before$directory, after$directory)) paste("working directory", after$directory),
    sprintf("child process %s", setdiff(after$children, before$children)),
    sprintf("connection %s", setdiff(after$connections, before$connections)),
    sprintf("temporary file %s", setdiff(after$files, before$files))
  )
}

# Leaks without the connections that nothing refers to: the garbage collection of showConnections() closes them.
without_closed <- function(leaks) {
  is_connection <- startsWith(leaks, "connection")
  if (!any(is_connection)) {
    return(leaks)
  }
  leaks[!is_connection | leaks %in% paste("connection", rownames(showConnections()))]
}

LeakReporter <- R6::R6Class(
  "LeakReporter",
  inherit = testthat::Reporter,
  public = list(
    leaks = character(),
    current_test_file = NULL,
    file = "",
    before = NULL,

    initialize = function(current_test_file) {
      super$initialize()
      self$current_test_file <- current_test_file
    },

    start_file = function(filename) {
      self$file <- filename
    },

    start_test = function(context, test) {
      self$before <- process_state()
      self$note(sprintf("%s: %s", self$file, test))
    },

    end_test = function(context, test) {
      found <- describe_leaks(self$before, process_state())
      # What nothing refers to is closed by the garbage collection. A process that was just told to end is given a moment
      # to do so, and to remove its files.
      found <- without_closed(found)
      deadline <- Sys.time() + 5
      while (
        any(grepl("^(child process|temporary file|connection)", found)) && Sys.time() < deadline
      ) {
        Sys.sleep(0.05)
        found <- without_closed(describe_leaks(self$before, process_state()))
      }
      if (length(found) > 0) {
        self$leaks <- c(self$leaks, sprintf("%s: %s leaves behind: %s", self$file, test, found))
      }
      self$note("")
    },

    note = function(text) {
      if (nzchar(self$current_test_file)) {
        writeLines(text, self$current_test_file)
      }
    }
  )
)
