#' Make a Keras model of a trained model
#'
#' Converts a trained linear, deep, wide and deep, baseline or tabular model to a functional model of Keras 3 with the
#' same weights. It predicts the same numbers as `predict()`, and you can print it, train it on and save it with the R
#' package keras3. For a model of [keras_model_to_estimator()], `as_keras_model()` returns the Keras model with the
#' trained weights.
#'
#' @param object A trained estimator.
#' @param checkpoint_path Prefix of a checkpoint, as returned by [latest_checkpoint()]. NULL uses the newest.
#' @returns `as_keras_model()` returns a Keras model, a Python object. Its inputs are named as the features, and its
#'   outputs as the predictions of `predict()`: `predictions` for a regressor, and `logits`, `logistic` (two classes),
#'   `probabilities` and `class_ids` for a classifier. Class numbers count from 0, in the order of the levels.
#' @section Inputs:
#' A factor is read by its labels, as strings. Whole numbers are `int64`, and numbers are `float32`, or `float64` if a
#' column needs more digits. Keras converts arrays to 32 bits, so give numbers of 64 bits as tensors or in a dataset. If
#' Keras computes with JAX, set the environment variable `JAX_ENABLE_X64` to `true` for them.
#' @section Columns:
#' Layers of Keras compute the columns: `Rescaling`, `Discretization`, `StringLookup`, `IntegerLookup`, `Hashing`,
#' `HashedCrossing` and `Embedding`. Columns for which Keras has no layer are rejected by name. These are weighted
#' categories, crosses of more than two values, crosses with a `hash_key` or several values per row, and functions
#' (`normalizer_fn`, `activation_fn`) of your own in R. Use `center` and `scale` of [column_numeric()] instead.
#' @section Errors:
#' * `tfdistribute_model_directory_error` if the model has not been trained.
#' * `tfdistribute_unsupported_error` if Keras 3 is missing (it needs TensorFlow 2.16 or newer), or has no layers that
#'   compute the same as the model.
#' @references <https://keras.io/guides/functional_api/>
#' @seealso [export_keras_model()], [export_savedmodel()]
#' @examplesIf tfdistribute_available()
#' columns <- feature_columns(column_numeric("wt", "hp"))
#' model <- linear_regressor(columns, optimizer = "sgd")
#' train(model, mpg ~ wt + hp, data = mtcars, epochs = 1)
#' \dontrun{
#' keras_model <- as_keras_model(model)
#' predict(keras_model, list(wt = mtcars$wt, hp = mtcars$hp))
#' }
#' @export
as_keras_model <- function(object, checkpoint_path = NULL, ...) {
  check_call(...)
  call_backend(
    "as_keras_model",
    estimator = check_estimator(object),
    checkpoint_path = check_string(checkpoint_path, null = TRUE)
  )
}

#' Write a trained model to a Keras file
#'
#' Writes the model of [as_keras_model()] to a `.keras` file. Keras can read the file without this package, with
#' `keras.models.load_model()` or `load_model()` of the R package keras3. To load the weights into an existing model,
#' use
#' `model$load_weights(path)`. If the optimizer of a Keras model keeps moving averages of the weights (`use_ema`), the
#' file contains the averages, as after `fit()`.
#'
#' @inheritParams as_keras_model
#' @param path Path of the file, a string that ends with `.keras`.
#' @param overwrite Whether an existing file is replaced, TRUE or FALSE.
#' @returns `path`, invisibly.
#' @section Errors:
#' * `tfdistribute_argument_error` if `path` does not end with `.keras`, or the file exists.
#' * `tfdistribute_model_directory_error` if the model has not been trained.
#' * `tfdistribute_unsupported_error` as for [as_keras_model()].
#' @references <https://keras.io/guides/serialization_and_saving/>
#' @seealso [export_savedmodel()]
#' @examples
#' \dontrun{
#' export_keras_model(model, "trained.keras")
#' }
#' @export
export_keras_model <- function(object, path, checkpoint_path = NULL, overwrite = FALSE, ...) {
  check_call(...)
  call_backend(
    "export_keras_model",
    estimator = check_estimator(object),
    path = path.expand(check_string(path)),
    checkpoint_path = check_string(checkpoint_path, null = TRUE),
    overwrite = check_flag(overwrite)
  )
  invisible(path)
}
