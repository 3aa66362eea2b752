# Parts of a model on different devices, for model functions.

#' Place parts of a model on devices
#'
#' Assigns a part of the model to a *logical device* in a [model function][estimator]. The strategy of the
#' [run_config()] maps logical devices to devices. If there is only one device, every logical device is this device.
#' Therefore the same model also trains, evaluates and predicts on one device, with the same numbers.
#'
#' Variables, their optimizer slots and the gradients of the operations are on the device of their part.
#'
#' @param index Number of the device, counted from 1.
#' @returns `logical_device()`: a context for `with(logical_device(2), ...)`. `logical_devices()`: the number of devices
#'   of a copy of the model, a count.
#' @section Errors:
#' * `tfdistribute_argument_error` if `index` is not a whole number of at least 1.
#' * `tfdistribute_model_error` if the function is called outside a model function.
#' * `tfdistribute_strategy_error` if the strategy gives the model several devices, but not enough.
#' @references `num_cores_per_replica` of
#'   <https://www.tensorflow.org/api_docs/python/tf/tpu/experimental/DeviceAssignment>
#' @seealso [pipeline()], [strategy_model_parallel()], `vignette("models-in-parts")`
#' @examples
#' in_two_parts <- function(features, labels, mode) {
#'   hidden <- with(logical_device(1), {
#'     x <- tf$reshape(features$wt, c(-1L, 1L))
#'     tf$compat$v1$layers$dense(x, 8L, activation = tf$nn$relu)
#'   })
#'   predicted <- with(logical_device(2), {
#'     tf$squeeze(tf$compat$v1$layers$dense(hidden, 1L), 1L)
#'   })
#'   list(
#'     predictions = list(mpg = predicted),
#'     loss = if (mode != "infer") tf$reduce_mean(tf$math$squared_difference(labels, predicted)),
#'     optimizer = "adam"
#'   )
#' }
#' model <- estimator(in_two_parts, config = run_config(strategy_model_parallel(devices = 2)))
#' @examplesIf tfdistribute_available()
#' train(model, input_fn(mpg ~ wt, mtcars, epochs = 2))
#' @export
logical_device <- function(index, ...) {
  check_call(...)
  call_backend("logical_device", index = check_count(index))
}

#' @rdname logical_device
#' @export
logical_devices <- function(...) {
  check_call(...)
  call_backend("logical_devices")
}

#' Divide a model into stages that work at the same time
#'
#' Applies functions one after another to parts of the batch in a [model function][estimator]. Each function is on its
#' own [logical_device()], so that the first stage works on the second part while the second stage works on the first
#' part. The results are joined, so the loss and the optimizer see the whole batch, and the numbers do not depend on the
#' devices.
#'
#' Each function is called once, with the first part, and its operations are copied for the other parts. Functions with
#' loops (such as `tf$keras$layers$LSTM()`) or with custom gradients (such as `tf$nn$silu()`) cannot be copied, so they
#' are called once for each part, with the same variables.
#'
#' The first stages wait for the last stage, and the last stage waits for the first. With `k` stages and `m` parts, a
#' share of `(k - 1) / (m + k - 1)` of the time is idle. Use about four times as many parts as stages, if the parts
#' remain large.
#'
#' @param inputs A tensor, or a named list of tensors, with a row for each example.
#' @param ... Functions of one argument, the return value of the previous stage. Each returns a tensor, or a named list
#'   of tensors, with a row for each example. With more stages than devices, neighboring stages share a device.
#' @param micro_batches Parts of a batch, a count. The parts are as equal as possible.
#' @returns The return value of the last stage, for the whole batch.
#' @section Effects of the parts:
#' Batch normalization uses the mean of a part, and its moving averages follow only the first part. Dropout draws other
#' values for each part. Losses and metrics that a stage collects, other than regularization of weights, see only the
#' first part, so compute them from the pipeline's return value instead.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type.
#' * `tfdistribute_callback_error` if a stage fails.
#' * `tfdistribute_model_error` if the function is called outside a model function, or a stage returns another object.
#' * `tfdistribute_strategy_error` if there are more devices than stages.
#' @references "GPipe", <https://arxiv.org/abs/1811.06965>
#' @seealso [strategy_model_parallel()], `vignette("models-in-parts")`
#' @examples
#' deep <- function(features, labels, mode) {
#'   predicted <- pipeline(
#'     tf$reshape(features$wt, c(-1L, 1L)),
#'     function(x) tf$compat$v1$layers$dense(x, 16L, activation = tf$nn$relu),
#'     function(x) tf$squeeze(tf$compat$v1$layers$dense(x, 1L), 1L),
#'     micro_batches = 4
#'   )
#'   list(
#'     predictions = list(mpg = predicted),
#'     loss = if (mode != "infer") tf$reduce_mean(tf$math$squared_difference(labels, predicted)),
#'     optimizer = "adam"
#'   )
#' }
#' model <- estimator(deep, config = run_config(strategy_model_parallel(devices = 2)))
#' @examplesIf tfdistribute_available()
#' train(model, input_fn(mpg ~ wt, mtcars, epochs = 2))
#' @export
pipeline <- function(inputs, ..., micro_batches = 1) {
  stages <- list(...)
  for (index in seq_along(stages)) {
    check_function(stages[[index]], argument = paste("stage", index))
  }
  call_backend(
    "pipeline",
    inputs = inputs,
    stages = unname(stages),
    micro_batches = check_count(micro_batches)
  )
}
