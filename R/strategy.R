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

#' Train on one device
#'
#' Places all variables and all computation on one device. It uses the same code path as the other strategies, so you
#' can use it to prepare a training with [strategy_mirrored()]. It is not faster than `strategy = NULL`.
#'
#' @eval help_of("strategy_one_device")
#' @returns A description of class `tfdistribute_one_device_strategy`.
#' @section Errors:
#' * `tfdistribute_argument_error` if `device` is not a string.
#' * `tfdistribute_strategy_error`, from a verb, if `device` is not the name of a CPU or GPU. Whether the device exists
#'   is checked when training starts.
#' @references <https://www.tensorflow.org/api_docs/python/tf/distribute/OneDeviceStrategy>
#' @seealso [strategies]
#' @examples
#' strategy_one_device("CPU:0")
#' @export
strategy_one_device <- function(
  # Fields of strategy$one_device
  device,
  ...
) {
  check_call(...)
  describe("strategy", "one_device", as.list(environment()))
}

#' @export
format.tfdistribute_one_device_strategy <- function(x, ...) {
  paste("one device:", short_device(x$device))
}

#' Train on several devices of one machine, with a copy of the model on each
#'
#' Each device computes gradients from its part of a batch. The gradients are summed after every step, so all copies
#' stay equal. The result equals training on one device with the same `batch_size`. It does not use other machines.
#'
#' @eval help_of("strategy_mirrored")
#' @returns A description of class `tfdistribute_mirrored_strategy`.
#' @section Errors:
#' * `tfdistribute_argument_error` if `cross_device` is unknown.
#' * `tfdistribute_strategy_error`, from a verb, if `devices` contains something other than a CPU or GPU, the same
#'   device twice, or a CPU with `cross_device = "nccl"`, or if the number of devices is not a multiple of
#'   `devices_per_replica`. Whether the devices exist is checked when training starts.
#' @references <https://www.tensorflow.org/api_docs/python/tf/distribute/MirroredStrategy>
#' @seealso [strategies]
#' @examples
#' strategy_mirrored()
#' strategy_mirrored(devices = 2)
#' strategy_mirrored(c("GPU:0", "GPU:1"), cross_device = "nccl")
#' strategy_mirrored(devices = 4, devices_per_replica = 2)
#' @export
strategy_mirrored <- function(
  # Fields of strategy$mirrored
  devices = NULL,
  cross_device = c("auto", "nccl", "hierarchical_copy", "one_device"),
  devices_per_replica = 1,
  ...
) {
  check_call(...)
  describe("strategy", "mirrored", as.list(environment()))
}

#' @export
format.tfdistribute_mirrored_strategy <- function(x, ...) {
  reduction <- if (x$cross_device != "auto") paste0(", cross_device = \"", x$cross_device, "\"")
  paste0("mirrored ", format_devices(x$devices), reduction, format_per_replica(x))
}

#' Train on several devices of one machine, with variables in one place
#'
#' The variables stay on the CPU, or on the device if there is only one. Each device computes its part of a batch, and
#' all devices wait for each other after every step. The result equals training on one device with the same
#' `batch_size`. Use this strategy if a GPU cannot hold its own copy of the variables. Otherwise [strategy_mirrored()]
#' transfers less data.
#'
#' @eval help_of("strategy_central_storage")
#' @returns A description of class `tfdistribute_central_storage_strategy`.
#' @section Errors: `tfdistribute_strategy_error`, from a verb, if `devices` contains something other than a CPU or GPU,
#'   or the same device twice. The devices and the optimizer are checked when training starts. `clipnorm`, `clipvalue`
#'   and `global_clipnorm` are not supported.
#' @references <https://www.tensorflow.org/api_docs/python/tf/distribute/experimental/CentralStorageStrategy>
#' @seealso [strategies]
#' @examples
#' strategy_central_storage(devices = 2)
#' @export
strategy_central_storage <- function(
  # Fields of strategy$central_storage
  devices = NULL,
  ...
) {
  check_call(...)
  describe("strategy", "central_storage", as.list(environment()))
}

#' @export
format.tfdistribute_central_storage_strategy <- function(x, ...) {
  paste("central storage", format_devices(x$devices))
}

#' Train synchronously on several workers, with a copy of the model on each
#'
#' Each worker of a cluster computes gradients from its part of every batch, and all apply the same update. With the
#' same global batch and seed, the result equals the result of one process to six digits. The strategy requires a
#' cluster. See [run_config()]. Each worker uses all GPUs that it can see, or one CPU device. For the devices of one
#' machine, [strategy_mirrored()] is faster.
#'
#' Workers on one machine without GPUs sum their gradients (an all-reduce) in anonymous shared memory, which the
#' operating system frees even if a process crashes. Between machines, gradients are sent through the network.
#'
#' @eval help_of("strategy_multi_worker")
#' @returns A description of class `tfdistribute_multi_worker_strategy`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range, or `compression` does not fit
#'   `communication`.
#' * `tfdistribute_unsupported_error`, from a verb, without a cluster.
#' * `tfdistribute_strategy_error`, from a verb, if the cluster has parameter servers, `communication` is `"nccl"`
#'   without GPUs or `"shared_memory"` with GPUs or on several machines, or a worker's GPUs cannot be divided into
#'   groups of `devices_per_replica`.
#' * `tfdistribute_lost_peer_error`, from a verb, if another process never started or was lost.
#' @references <https://www.tensorflow.org/api_docs/python/tf/distribute/MultiWorkerMirroredStrategy>
#' @seealso [strategies]
#' @examples
#' strategy_multi_worker(communication = "ring", timeout_s = 60)
#' strategy_multi_worker(devices_per_replica = 2)
#' @export
strategy_multi_worker <- function(
  # Fields of strategy$multi_worker
  communication = c("auto", "ring", "nccl", "shared_memory"),
  timeout_s = NULL,
  devices_per_replica = 1,
  compression = c("none", "bfloat16"),
  ...
) {
  check_call(...)
  describe("strategy", "multi_worker", as.list(environment()))
}

#' @export
format.tfdistribute_multi_worker_strategy <- function(x, ...) {
  communication <- if (x$communication != "auto") {
    paste0(", communication = \"", x$communication, "\"")
  }
  timeout <- if (!is.null(x$timeout_s)) paste0(", waiting ", format(x$timeout_s), " s at most")
  # A description that an older version saved does not have this field.
  compressed <- !identical(x$compression %||% "none", "none")
  compression <- if (compressed) paste0(", compression = \"", x$compression, "\"")
  paste0("multi worker", communication, timeout, format_per_replica(x), compression)
}

#' Train asynchronously on several workers, with variables on parameter servers
#'
#' The chief and the workers each compute gradients from whole batches of their own, and update the variables without
#' waiting for each other. A lost worker does not delay the others, but no two trainings give the same result. The
#' strategy requires a cluster with a chief and parameter servers (`ps`). See [run_config()].
#'
#' @eval help_of("strategy_parameter_server")
#' @returns A description of class `tfdistribute_parameter_server_strategy`.
#' @section Errors:
#' * `tfdistribute_unsupported_error`, from a verb, without a cluster.
#' * `tfdistribute_strategy_error`, from a verb, if the cluster has no parameter servers.
#' * `tfdistribute_lost_peer_error`, from a verb, if another process never started or was lost.
#' @references <https://www.tensorflow.org/guide/distributed_training#parameterserverstrategy>
#' @seealso [strategies]
#' @examples
#' strategy_parameter_server()
#' @export
strategy_parameter_server <- function(
  # Fields of strategy$parameter_server
  ...
) {
  check_call(...)
  describe("strategy", "parameter_server", as.list(environment()))
}

#' @export
format.tfdistribute_parameter_server_strategy <- function(x, ...) {
  "parameter server"
}

#' Train one model on several devices of one machine
#'
#' This strategy is for a model that does not fit on one device, or whose parts can work at the same time. The model
#' function of [estimator()] assigns its parts to devices with [pipeline()] or [logical_device()], and everything else
#' is on the first device. The numbers are the same as on one device. To train several copies of such a model, each on
#' its own devices, use `devices_per_replica` of [strategy_mirrored()] or [strategy_multi_worker()].
#'
#' @eval help_of("strategy_model_parallel")
#' @returns A description of class `tfdistribute_model_parallel_strategy`.
#' @section Evaluation and prediction:
#' Evaluation and prediction use one device, so that the model also works on a machine with fewer devices. With
#' `run_config(eval_distribute = strategy_model_parallel(2))`, evaluation uses the same devices as training.
#' @section Errors: `tfdistribute_strategy_error`, from a verb, if `devices` contains something other than a CPU or GPU,
#'   or the same device twice, or, from a verb, if a device does not exist, or a [pipeline()] has fewer stages than
#'   there are devices.
#' @references "GPipe", <https://arxiv.org/abs/1811.06965>
#' @seealso [strategies], `vignette("models-in-parts")`
#' @examples
#' strategy_model_parallel(devices = 2)
#' @export
strategy_model_parallel <- function(
  # Fields of strategy$model_parallel
  devices = NULL,
  ...
) {
  check_call(...)
  describe("strategy", "model_parallel", as.list(environment()))
}

#' @export
format.tfdistribute_model_parallel_strategy <- function(x, ...) {
  paste("one model", format_devices(x$devices))
}

#' Train on a TPU
#'
#' Places a copy of the model on each core of the TPU of this machine, a TPU VM. Each core computes gradients from its
#' part of a batch, and the gradients are summed after every step. Many steps run on the TPU before control returns to
#' the host, where hooks are called and checkpoints are written. Evaluation and prediction run on the host's CPU, and
#' training can continue from a checkpoint under any other strategy.
#'
#' The authors of this package have no TPU. Graphs and rules are tested with the description of a TPU, and the numbers
#' with the TPU compiler on a CPU. On a TPU VM, `source(system.file("examples", "verify-tpu.R", package =
#' "tfdistribute"))` tests in a few minutes whether training works there with the numbers of a CPU, to three digits,
#' because a TPU multiplies in 16 bits.
#'
#' A TPU computes with numbers, in batches of one size. Therefore `batch_size` must be a multiple of the number of
#' copies of the model, and the number of rows must be a multiple of `batch_size` unless the input repeats forever
#' (`epochs = NULL`). Factors are read as codes.
#'
#' @eval help_of("strategy_tpu")
#' @returns A description of class `tfdistribute_tpu_strategy`.
#' @section Errors:
#' * `tfdistribute_argument_error` if `address` is not a string, or another argument is not a count.
#' * `tfdistribute_unsupported_error`, from a verb, if `address` is not `"local"`.
#'
#' When a training starts:
#' * `tfdistribute_strategy_error` if the machine has no TPU (`/dev/accel0` or `/dev/vfio/0`), no driver (`libtpu.so`),
#'   or a TensorFlow without TPU kernels. The error names the missing part before anything starts.
#' * `tfdistribute_sharding_error` if batches would differ in size.
#' * `tfdistribute_input_error` if a feature or the response contains strings.
#' * `tfdistribute_run_config_error` if `precision`, `micro_batches`, `eval_distribute` or `save_checkpoints_steps` does
#'   not work on a TPU.
#' @references <https://www.tensorflow.org/api_docs/python/tf/compat/v1/distribute/experimental/TPUStrategy>,
#'   <https://cloud.google.com/tpu/docs/runtimes>
#' @seealso [strategies]
#' @examples
#' strategy_tpu()
#' strategy_tpu(steps_per_run = 50)
#' @export
strategy_tpu <- function(
  # Fields of strategy$tpu
  address = "local",
  steps_per_run = "auto",
  ...
) {
  check_call(...)
  describe("strategy", "tpu", as.list(environment()))
}

#' @export
format.tfdistribute_tpu_strategy <- function(x, ...) {
  # A description that an older version saved does not have this field.
  steps <- x$steps_per_run %||% "auto"
  paste0("TPU", if (steps != "auto") paste0(", steps_per_run = ", steps))
}
