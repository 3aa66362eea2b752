#' Write a trained Keras model to a file
#'
#' Puts the trained weights into the Keras model that [keras_model_to_estimator()] was given, and writes it to a
#' `.keras` file. Keras reads it without this package: `keras.models.load_model()`, or `load_model()` of the R package
#' keras3. A model that exists already takes the weights with `model$load_weights(path)`. If the optimizer keeps moving
#' averages of the weights (`use_ema`), the file has the averages, as after `fit()`.
#'
#' @param object An estimator made by [keras_model_to_estimator()].
#' @param path The file; its name ends with `.keras`.
#' @param checkpoint_path Prefix of a checkpoint, as [latest_checkpoint()] returns it; NULL for the newest.
#' @param overwrite TRUE to replace an existing file.
#' @param ... Must be empty.
#' @returns Invisibly, `path`.
#' @section Errors:
#' * `tfdistribute_argument_error`: `path` does not end with `.keras`, or exists.
#' * `tfdistribute_model_directory_error`: the model has not been trained.
#' * `tfdistribute_unsupported_error`: it is not a Keras model.
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
