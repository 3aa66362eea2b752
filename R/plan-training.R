#' Show the plan of a training
#'
#' Shows every task of a cluster before anything is started: its host, its role, its part of the data, its batches, the
#' location of its output, and its command. It reads no data. It starts Python, but not TensorFlow.
#'
#' [launch()] and the verbs that train start the tasks of a [local_cluster()], an [ssh_cluster()], a
#' [slurm_cluster()], a [ray_cluster()], a [spark_cluster()] or a [mirai_cluster()]. A managed platform starts the tasks
#' of a [kubernetes_cluster()] or [vertex_cluster()]. The tasks of an [address_cluster()] on several machines all run
#' the same script, each with its own `TF_CONFIG`.
#'
#' @param object An estimator, such as a [dnn_regressor()].
#' @param train_spec Training data and limits: a [train_spec()] or an [input_fn()]. NULL if they are not known yet.
#' @param eval_spec Evaluation data and limits: an [eval_spec()] or an [input_fn()]. NULL if they are not known yet.
#' @param cluster An [address_cluster()], [local_cluster()], [ssh_cluster()], [slurm_cluster()],
#'   [ray_cluster()], [spark_cluster()] or [mirai_cluster()], which by default comes from the estimator's
#'   [run_config()]. NULL is for this process alone.
#' @param devices_per_worker Devices of each training process, a count, for a cluster that does not define it. Without a
#'   cluster, a strategy determines the number of devices.
#' @param script Path of the script that every task would run, a string. NULL uses `"train.R"`, or the verb that starts
#'   the tasks of a [local_cluster()].
#' @param strategy A strategy. It replaces the strategy in the [run_config()]. With NULL, the cluster chooses.
#' @returns A tibble of class `tfdistribute_plan` with one row per task. Printing it warns if TensorFlow's ports would
#'   be open to others, and shows firewall rules for the hosts of an [ssh_cluster()]. Columns:
#' * `task`, `host`, `role`, `reads`, `writes`, `command`: strings.
#' * `port`: NA if the task does not listen, or its port is chosen at the start.
#' * `global_batch_size`, `replica_batch_size`: examples, NA if not known.
#' * `environment`: the task's `TF_CONFIG`, NA if its ports are not chosen yet. The task inherits nothing else from this
#'   process's environment.
#' * `logical_devices`: a list of strings. For each part of a [model in parts][logical_device], it contains the devices
#'   that train it, one for each replica.
#' * `micro_batches`: number of parts into which each device divides its batch, NA if the task does not train.
#' * `precision`: number format of large operations, NA if the task computes nothing.
#' @section Errors:
#' * `tfdistribute_sharding_error` if the batch cannot be divided.
#' * `tfdistribute_strategy_error` if the cluster trains with another strategy.
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' @references <https://www.tensorflow.org/guide/distributed_training> and, on ports,
#'   <https://github.com/tensorflow/tensorflow/blob/master/SECURITY.md>, "Use TensorFlow distributed training securely".
#' @family clusters
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt")), model_dir = "runs/cars")
#' spec <- train_spec(input_fn(mpg ~ wt, mtcars, batch_size = 16, epochs = NULL), max_steps = 100)
#' plan_training(model, spec, cluster = local_cluster(workers = 2))
#' @export
plan_training <- function(
  object,
  train_spec = NULL,
  eval_spec = NULL,
  cluster = object$config$cluster,
  devices_per_worker = 1,
  script = NULL,
  ...,
  strategy = object$config$strategy
) {
  check_call(...)
  check_estimator(object)
  check_cluster_argument(cluster, null = TRUE)
  check_strategy(strategy)
  devices_per_worker <- check_count(devices_per_worker)
  devices <- if (is.null(cluster)) 1L else devices_per_worker
  script <- check_string(script, null = TRUE)
  workload <- c(
    workload(object, train_spec, eval_spec),
    list(
      devices_per_worker = devices,
      script = script,
      micro_batches = object$config$micro_batches %||% 1L,
      precision = object$config$precision %||% "float32"
    )
  )
  new_plan(
    call_backend("plan_tasks", cluster = cluster, strategy = strategy, workload = workload)
  )
}

# The facts about the training that a job or a plan needs. Each spec may also be an input, or NULL.
workload <- function(object, train_spec, eval_spec) {
  is_spec <- function(x) inherits(x, c("tfdistribute_train_spec", "tfdistribute_eval_spec"))
  input_of <- function(x, argument = rlang::caller_arg(x)) {
    if (!is.null(x)) source_of(if (is_spec(x)) x else as_input(x, argument))
  }
  training <- input_of(train_spec)
  evaluation <- input_of(eval_spec)
  list(
    model_dir = object$model_dir,
    rows = training$rows,
    global_batch_size = training$batch_size,
    evaluation_rows = evaluation$rows,
    evaluation_batch_size = evaluation$batch_size,
    evaluation_name = if (is_spec(eval_spec)) eval_spec$name
  )
}

new_plan <- function(rows) {
  plan <- table_of(
    rows,
    task = "",
    host = "",
    port = NA_integer_,
    role = "",
    reads = "",
    global_batch_size = NA_integer_,
    replica_batch_size = NA_integer_,
    writes = "",
    environment = NA_character_,
    command = "",
    micro_batches = NA_integer_,
    precision = NA_character_
  )
  plan$logical_devices <- lapply(rows, function(row) as.character(unlist(row$logical_devices)))
  structure(plan, class = c("tfdistribute_plan", class(plan)))
}

#' @export
print.tfdistribute_plan <- function(x, ...) {
  if (!all(c("task", "host", "port", "role", "reads", "writes", "command") %in% names(x))) {
    return(NextMethod())
  }
  writeLines(interpolate("<plan> {nrow(x)} task{?s}"))
  for (same in split(seq_len(nrow(x)), factor(roles_of(x), unique(roles_of(x))))) {
    shown <- if (nrow(x) > 8) same[[1]] else same
    for (row in shown) {
      writeLines(format_task(as.list(x)[names(x)], row))
    }
    if (length(shown) < length(same)) {
      writeLines(interpolate(
        "... and {length(same) - 1} more task{?s} like it, up to {x$task[[max(same)]]}"
      ))
    }
  }
  # A single task communicates with no other.
  listening <- grepl("^(chief|worker|ps) ", x$task)
  if (sum(listening) > 1) {
    # The ports of a local_cluster() and an ssh_cluster() are unknown.
    writeLines(c(
      "! TensorFlow's servers listen on every network interface, without password or encryption.",
      "  Anyone who can connect can run code.",
      if (all(grepl("^node [0-9]+$", x$host[listening]))) {
        "  Whoever can log in to these nodes, or shares their network, can connect."
      } else if (any(grepl(" ", x$host[listening], fixed = TRUE))) {
        # Descriptions of the platforms that run containers.
        "  Use a namespace or a network that others cannot enter."
      } else if (any(x$host[is.na(x$port) & listening] != "localhost")) {
        firewall_rules(unique(x$host[listening]))
      } else if (anyNA(x$port[listening])) {
        "  With a private network, only the processes of the job can connect."
      } else {
        "  Close the ports to all but the machines of this cluster."
      }
    ))
  }
  invisible(x)
}

# Rules with which each host accepts connections to TensorFlow's ports only from the other hosts. The ports are chosen
# from the range that Linux uses for this.
firewall_rules <- function(hosts) {
  names <- unique(sub("^.*@", "", hosts))
  if (length(names) < 2) {
    return("  Close the ports 32768 to 60999 of this host to all others, except for replies.")
  }
  to_ports <- "-p tcp --syn --dport 32768:60999"
  rules <- lapply(utils::head(names, 8), function(name) {
    c(
      paste0("  on ", name, ":"),
      paste0("    iptables -A INPUT -s ", setdiff(names, name), " ", to_ports, " -j ACCEPT"),
      paste0("    iptables -A INPUT ! -i lo ", to_ports, " -j DROP")
    )
  })
  c(
    "  Let only the hosts of this cluster connect, with addresses in place of names that only ssh knows:",
    unlist(rules),
    if (length(names) > 8) "  and likewise on the other hosts."
  )
}

# "chief", "worker", ...
roles_of <- function(plan) {
  sub(" .*", "", plan$task)
}

format_task <- function(plan, row) {
  place <- plan$host[[row]]
  if (!is.na(plan$port[[row]])) {
    place <- paste0(place, ":", plan$port[[row]])
  }
  devices <- plan$logical_devices[[row]]
  parts <- plan$micro_batches[[row]]
  precision <- plan$precision[[row]]
  c(
    paste0(plan$task[[row]], " on ", place, ": ", plan$role[[row]]),
    paste0("  reads    ", plan$reads[[row]]),
    if (!is.na(plan$replica_batch_size[[row]])) {
      batches <- paste(plan$replica_batch_size[[row]], "of", plan$global_batch_size[[row]])
      place <- if (length(devices) > 0) "replica" else "device"
      in_parts <- if (isTRUE(parts > 1)) paste0(", in ", parts, " parts")
      paste0("  batch    ", batches, " on each ", place, in_parts)
    },
    if (isTRUE(precision != "float32")) paste0("  computes in ", precision),
    if (length(devices) > 0) paste0("  device ", seq_along(devices), " ", devices),
    paste0("  writes   ", plan$writes[[row]]),
    paste0("  command  ", plan$command[[row]])
  )
}
