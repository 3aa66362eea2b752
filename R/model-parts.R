# Parts of a model on different devices, for model functions.

#' Place parts of a model on devices
#'
#' For use in a [model function][estimator]. It says which part of the model is on which *logical device*; the strategy
#' of the [run_config()] says which device that is. With one device, every logical device is that one, so the same model
#' also trains, evaluates and predicts there, with the same numbers.
#'
#' Variables, their optimizer slots and the gradients of the operations are on the device of their part.
#'
#' @param index Number of the device, counted from 1.
#' @param ... Must be empty.
#' @returns `logical_device()`: a context for `with(logical_device(2), ...)`. `logical_devices()`: the number of devices
#'   of a copy of the model, a count.
#' @section Errors:
#' * `tfdistribute_argument_error`: `index` is not a whole number of at least 1.
#' * `tfdistribute_model_error`: called outside a model function.
#' * `tfdistribute_strategy_error`: the strategy gives the model several devices, but not so many.
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
#' train(model, input_fn(mpg ~ wt, mtcars, num_epochs = 2))
#' @export
logical_device <- function(index, ...) {
  check_call()
  call_backend("logical_device", index = check_count(index))
}

#' @rdname logical_device
#' @export
logical_devices <- function(...) {
  check_call()
  call_backend("logical_devices")
}

#' Divide a model into stages that work at the same time
#'
#' For use in a [model function][estimator]. Applies functions one after another, each on a [logical_device()] of its
#' own, to parts of the batch: while the second stage works on the first part, the first stage works on the second. The
#' results are joined, so the loss and the optimizer see the whole batch, and the numbers do not depend on the devices.
#'
#' Each function is called once, with the first part, and its operations are copied for the others. Functions with loops
#' (such as those of `tf$keras$layers$LSTM()`) or with gradients written by hand (such as `tf$nn$silu()`) cannot be
#' copied; they are called once for each part, with the same variables.
#'
#' The first stages wait for the last, and the last for the first: with `k` stages and `m` parts, a share of
#' `(k - 1) / (m + k - 1)` of the time is idle. Use about four times as many parts as stages, if the parts remain large.
#'
#' @param inputs A tensor, or a named list of tensors, with a row for each example.
#' @param ... Functions of one argument: what the stage before returned. Each returns a tensor, or a named list of
#'   tensors, with a row for each example. With more stages than devices, neighbours share a device.
#' @param micro_batches Parts of a batch, a count. The parts are as equal as possible.
#' @returns What the last stage returns, for the whole batch.
#' @section What depends on the parts:
#' Batch normalisation uses the mean of a part, and its moving averages follow the first part only. Dropout draws other
#' values for each part. Losses and metrics that a stage collects, other than regularisation of weights, see the first
#' part only: compute them from what the pipeline returns.
#' @section Errors:
#' * `tfdistribute_argument_error`: an argument has the wrong type.
#' * `tfdistribute_callback_error`: a stage failed.
#' * `tfdistribute_model_error`: called outside a model function, or a stage returned something else.
#' * `tfdistribute_strategy_error`: there are more devices than stages.
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
#' train(model, input_fn(mpg ~ wt, mtcars, num_epochs = 2))
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
