# Checks and printing of the session settings of run_config().

session_fields <- c(
  "allow_soft_placement",
  "cluster_def",
  "device_count",
  "device_filters",
  "experimental",
  "gpu_options",
  "graph_options",
  "inter_op_parallelism_threads",
  "intra_op_parallelism_threads",
  "isolate_session_state",
  "log_device_placement",
  "operation_timeout_in_ms",
  "placement_period",
  "pluggable_device_options",
  "rpc_options",
  "session_inter_op_thread_pool",
  "share_cluster_devices_in_session",
  "use_per_session_threads"
)

# The form and the names of the fields; Python checks their values, and the fields of fields.
check_session_config <- function(settings, path = "session_config") {
  if (is.null(settings)) {
    return(NULL)
  }
  if (is_python_object(settings) || !is.list(settings)) {
    abort_argument(settings, "a named list", path)
  }
  if (length(settings) == 0) {
    return(NULL)
  }
  if (!rlang::is_named(settings) || anyDuplicated(names(settings))) {
    abort_tfdistribute(
      "argument",
      problem = "`{path}` must name each of its {length(settings)} fields once.",
      remedy = "Write list(field = value).",
      argument = path
    )
  }
  unknown <- if (path == "session_config") setdiff(names(settings), session_fields)
  if (length(unknown) > 0) {
    abort_tfdistribute(
      "run_config",
      problem = "`{path}` has no field `{unknown[[1]]}`.",
      remedy = "{did_you_mean(unknown[[1]], session_fields)}Use only {backquoted(session_fields)}.",
      argument = paste0(path, "$", unknown[[1]]),
      value = unknown[[1]]
    )
  }
  for (field in names(settings)) {
    check_session_field(settings[[field]], paste0(path, "$", field))
  }
  settings
}

check_session_field <- function(value, path) {
  if (is.list(value)) {
    # A repeated field of messages is a list without names.
    if (is.null(names(value))) {
      lapply(value, check_session_field, path)
    } else {
      check_session_config(value, path)
    }
  } else if (!is.atomic(value) || is.null(value) || anyNA(value)) {
    abort_argument(value, "a number, a string, TRUE, FALSE or a named list", path)
  }
}

# "gpu_options$allow_growth = TRUE": one string for each field that holds no further fields.
format_fields <- function(fields, path = NULL) {
  formatted <- lapply(names(fields), function(field) {
    here <- paste(c(path, field), collapse = "$")
    value <- fields[[field]]
    if (rlang::is_named(value) && is.list(value)) {
      format_fields(value, here)
    } else {
      paste(here, "=", show_value(if (is.list(value)) unlist(value) else value))
    }
  })
  unlist(formatted)
}
