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

# "GPU:0", "/gpu:1" and "/device:CPU:1" as TensorFlow writes them: "/device:GPU:0".
canonical_device <- function(name, argument = rlang::caller_arg(name)) {
  pattern <- "^(/job:localhost)?(/replica:0)?(/task:0)?/?(device:)?(cpu|gpu):([0-9]{1,4})$"
  if (!grepl(pattern, trimws(name), ignore.case = TRUE)) {
    abort_tfdistribute(
      "strategy",
      problem = "`{argument}` does not name a CPU or GPU of this machine: {show_value(name)}.",
      remedy = "Write a type and a number, such as \"CPU:0\" or \"GPU:1\".",
      argument = argument,
      value = name
    )
  }
  type <- toupper(sub(pattern, "\\5", trimws(name), ignore.case = TRUE))
  index <- as.integer(sub(pattern, "\\6", trimws(name), ignore.case = TRUE))
  paste0("/device:", type, ":", index)
}

short_device <- function(device) {
  sub("^/device:", "", device)
}

check_devices <- function(devices) {
  if (is.list(devices) && length(devices) > 0 && all(vapply(devices, is.character, NA))) {
    devices <- unlist(devices)
  }
  if (is.null(devices)) {
    NULL
  } else if (is_names(devices)) {
    check_device_names(devices)
  } else if (is_number(devices) && devices %in% 1:1000) {
    as.integer(devices)
  } else {
    abort_argument(
      devices,
      "a count from 1 to 1000, names such as \"GPU:0\", or NULL",
      kind = "strategy"
    )
  }
}

is_names <- function(value) {
  is.character(value) && length(value) > 0 && !anyNA(value)
}

check_device_names <- function(devices) {
  names <- vapply(devices, canonical_device, "", argument = "devices", USE.NAMES = FALSE)
  twice <- anyDuplicated(names)
  if (twice > 0) {
    abort_tfdistribute(
      "strategy",
      problem = "`devices` names {short_device(names[[twice]])} twice: {show_value(devices)}.",
      remedy = "Name each device once.",
      argument = "devices",
      value = show_value(devices)
    )
  }
  names
}

check_strategy <- function(value, argument = rlang::caller_arg(value)) {
  remedy <- "Make one with strategy_mirrored() or another strategy_*() function."
  check_class(value, "tfdistribute_strategy", "a strategy", TRUE, argument, remedy)
}

check_per_replica <- function(devices_per_replica, devices = NULL) {
  per_replica <- check_count(devices_per_replica)
  count <- if (is.character(devices)) length(devices) else devices
  if (!is.null(count) && count %% per_replica != 0) {
    abort_tfdistribute(
      "strategy",
      problem = c(
        "{count} device{?s} cannot be divided into replicas of {per_replica} ",
        "(`devices_per_replica = {per_replica}`)."
      ),
      remedy = "Use a multiple of {per_replica} devices.",
      argument = "devices_per_replica",
      value = per_replica
    )
  }
  per_replica
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
