#' Write a trained Keras model to a file
#'
#' Copies the trained weights into the Keras model of [keras_model_to_estimator()], and writes the model to a `.keras`
#' file. Keras can read the file without this package, with `keras.models.load_model()` or `load_model()` of the R
#' package keras3. To load the weights into an existing model, use `model$load_weights(path)`. If the optimizer keeps
#' moving averages of the weights (`use_ema`), the file contains the averages, as after `fit()`.
#'
#' @param object An estimator that [keras_model_to_estimator()] returned.
#' @param path Path of the file, a string that ends with `.keras`.
#' @param checkpoint_path Prefix of a checkpoint, as returned by [latest_checkpoint()]. NULL uses the newest.
#' @param overwrite Whether an existing file is replaced, TRUE or FALSE.
#' @param ... Must be empty.
#' @returns `path`, invisibly.
#' @section Errors:
#' * `tfdistribute_argument_error` if `path` does not end with `.keras`, or the file exists.
#' * `tfdistribute_model_directory_error` if the model has not been trained.
#' * `tfdistribute_unsupported_error` if the model is not a Keras model.
#' @references <https://keras.io/guides/serialization_and_saving/>
#' @seealso [export_savedmodel()]
#' @examples
#' \dontrun{
#' export_keras_model(model, "trained.keras")
#' }
#' @export
export_keras_model <- function(object, path, checkpoint_path = NULL, overwrite = FALSE, ...) {
  check_call()
  call_backend(
    "export_keras_model",
    estimator = check_estimator(object),
    path = path.expand(check_string(path)),
    checkpoint_path = check_string(checkpoint_path, null = TRUE),
    overwrite = check_flag(overwrite)
  )
  invisible(path)
}
