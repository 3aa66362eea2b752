# All strategies: checks of devices, and printing.

#' Distribution strategies
#'
#' A strategy determines on which devices a model trains and how their gradients are combined. Pass it to [run_config()]
#' as `strategy`. The same model, data and `batch_size` work with every strategy. `batch_size` is the global batch, the
#' examples of one step over all devices. A strategy is a plain R value. Creating it starts neither Python nor
#' TensorFlow, and does not check that the devices exist. The verb that trains checks them.
#'
#' * [strategy_one_device()]: everything on one device.
#' * [strategy_mirrored()]: a copy of the model on each device of this machine.
#' * [strategy_central_storage()]: variables on the CPU, computation on each device of this machine.
#' * [strategy_model_parallel()]: one copy of the model, in parts on several devices of this machine.
#' * [strategy_multi_worker()]: a copy of the model in each worker of a cluster, with synchronous training.
#' * [strategy_parameter_server()]: variables on the parameter servers of a cluster, computation in its workers, with
#'   asynchronous training.
#' * [strategy_tpu()]: a copy of the model on each core of a TPU.
#'
#' @section Devices:
#' `devices` is a count, names such as `"GPU:0"`, `"/gpu:1"`, `"cpu:0"` or `"/device:CPU:1"`, or NULL for all GPUs, or
#' the CPU if there are none. A count uses GPUs if there are any. On a machine without GPUs it creates logical CPU
#' devices, which share the processor's cores.
#'
#' @references <https://www.tensorflow.org/guide/distributed_training>
#' @examples
#' strategy_mirrored(devices = 2)
#' strategy_one_device("CPU:0")
#' @name strategies
NULL

short_device <- function(device) {
  sub("^/device:", "", device)
}

# The strategy of a training in words, or `none`.
show_strategy <- function(config, none = "none") {
  chosen <- cluster_strategy(config$cluster)
  if (!is.null(config$strategy)) {
    format(config$strategy)
  } else if (!is.null(chosen)) {
    paste(format(chosen), "(chosen by the cluster)")
  } else {
    none
  }
}

# The strategy with which the tasks of a cluster train unless the user has chosen one, as Python chooses it. It is never
# stored, because the cluster may be replaced.
cluster_strategy <- function(cluster) {
  counts <- if (!is.null(cluster)) as.list(count_tasks(cluster))
  if (!is.null(counts$ps)) {
    strategy_parameter_server()
  } else if (max(sum(counts$chief, counts$worker), cluster$devices_per_worker) > 1) {
    strategy_multi_worker()
  }
}

check_strategy <- function(value, argument = rlang::caller_arg(value)) {
  remedy <- "Make one with strategy_mirrored() or another strategy_*() function."
  check_class(value, "tfdistribute_strategy", "a strategy", TRUE, argument, remedy)
}

format_per_replica <- function(x) {
  # A description that an older version saved does not have this field.
  per_replica <- x$devices_per_replica %||% 1L
  if (per_replica > 1) paste0(", devices_per_replica = ", per_replica)
}

# "over 2 devices", "over CPU:0 and CPU:1"
format_devices <- function(devices) {
  if (is.null(devices)) {
    "over all GPUs, or the CPU"
  } else if (is.character(devices)) {
    paste("over", toString(short_device(devices)))
  } else {
    interpolate("over {devices} device{?s}")
  }
}
