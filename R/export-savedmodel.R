#' Export a trained model for serving
#'
#' Writes a SavedModel for TensorFlow Serving and `tf.saved_model.load`. The exported model returns the same numbers as
#' `predict()`. The export is atomic, so if it fails, an earlier export remains unchanged.
#'
#' @inheritParams evaluate
#' @param export_dir_base Directory of the export or, with `versioned`, of its versions. A directory that contains
#'   anything but an export is never replaced.
#' @param serving_input_receiver_fn A Python or R function that returns a `ServingInputReceiver`, for other kinds of
#'   requests. NULL uses `input`.
#' @param assets_extra Files to copy next to the model: a list of source paths, named by their paths below
#'   `assets.extra` in the export, or NULL.
#' @param as_text Whether the graph is written as text, TRUE or FALSE.
#' @param overwrite Whether an existing export is replaced, TRUE or FALSE.
#' @param versioned Whether the export is written to a new directory below `export_dir_base`, named by the time in
#'   seconds, TRUE or FALSE.
#' @param input Content of a request to the exported model. With an [input_fn()], a request contains one tensor per
#'   feature that the model reads, by name, and the data is not used. With [feature_columns()], it contains serialized
#'   `tf.train.Example` messages with the features of these columns. With NULL, it contains messages with the model's
#'   own columns, or, if the model has none, one tensor per training feature.
#' @param format Format of the export. `"savedmodel"` is TensorFlow's. `"onnx"` writes the file `model.onnx` into the
#'   directory, for ONNX Runtime and other programs without TensorFlow.
#' @returns The directory of the export, a string, which is returned invisibly.
#' @section Requests:
#' The signatures are the same as TensorFlow's. `predict` returns all predictions. The default signature
#' (`serving_default`) also returns all predictions if requests are tensors. If requests are messages, in the input
#' `inputs`, it returns `outputs` for a regressor, and `scores` and `classes` for a classifier. Messages store whole
#' numbers as `int64_list`, other numbers as `float_list` and strings as `bytes_list`.
#' @section ONNX:
#' `format = "onnx"` needs Keras 3 (with TensorFlow 2.16 or newer) and the Python packages tf2onnx and onnx, for example
#' `pip install tf2onnx onnx`. It exports the models of [as_keras_model()], with the same outputs. A request has one
#' tensor per feature, with one or more columns. A factor that the model reads as codes is a whole number, and values
#' that are not in a vocabulary have no category. Columns that hash values are rejected by name, because ONNX has no
#' operator for them, as are `input`, `serving_input_receiver_fn`, `assets_extra` and `as_text`.
#' @section Errors:
#' * `tfdistribute_backend_error` if a package that the format needs is not installed.
#' * `tfdistribute_model_directory_error` if the model has not been trained, or the directory contains an export (with
#'   `overwrite = FALSE`) or other files.
#' * `tfdistribute_input_error` if `input` lacks a feature.
#' * `tfdistribute_model_error` if columns read the same feature in two ways.
#' * `tfdistribute_unsupported_error` if the content of a request is unknown, or ONNX has no operator for a column.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#export_saved_model>
#' @seealso [classifier_parse_example_spec()]
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' train(model, input_fn(mpg ~ wt + hp, mtcars, epochs = 10))
#' path <- export_savedmodel(model, tempfile("export-"), input = input_fn(~ wt + hp, mtcars))
#' list.files(path)
#' @export
export_savedmodel <- function(object, export_dir_base, ...) {
  check_required()
  UseMethod("export_savedmodel")
}

#' @rdname export_savedmodel
#' @export
export_savedmodel.tfdistribute_estimator <- function(
  object,
  export_dir_base,
  serving_input_receiver_fn = NULL,
  assets_extra = NULL,
  as_text = FALSE,
  checkpoint_path = NULL,
  overwrite = TRUE,
  versioned = !overwrite,
  ...,
  input = NULL,
  format = c("savedmodel", "onnx")
) {
  check_call(...)
  overwrite <- check_flag(overwrite)
  path <- call_backend(
    "export_savedmodel",
    estimator = object,
    export_dir_base = path.expand(check_string(export_dir_base)),
    serving_input_receiver_fn = check_receiver(serving_input_receiver_fn, input),
    assets_extra = check_assets(assets_extra),
    as_text = check_flag(as_text),
    checkpoint_path = check_string(checkpoint_path, null = TRUE),
    overwrite = overwrite,
    versioned = check_flag(versioned),
    input = check_request(input),
    format = check_default_choice(format, c("savedmodel", "onnx"))
  )
  invisible(path)
}

#' @export
export_savedmodel.default <- function(object, ...) {
  verb_of_others("export_savedmodel", object, ...)
}

check_receiver <- function(serving_input_receiver_fn, input) {
  if (is.null(serving_input_receiver_fn) || is_python_object(serving_input_receiver_fn)) {
    return(serving_input_receiver_fn)
  }
  check_function(serving_input_receiver_fn)
  check_one_given(list(input = input, serving_input_receiver_fn = serving_input_receiver_fn))
  serving_input_receiver_fn
}

check_assets <- function(assets_extra) {
  paths <- unlist(assets_extra)
  if (!is.null(paths) && !(is.character(paths) && rlang::is_named(paths))) {
    abort_argument(assets_extra, "a named list of paths or NULL")
  }
  as.list(paths)
}

check_request <- function(input) {
  if (is.null(input) || inherits(input, "tfdistribute_input")) {
    return(input)
  }
  if (inherits(input, "tfdistribute_feature_columns") || is_feature_column(input)) {
    return(check_some_columns(input))
  }
  abort_argument(input, "an input_fn(), feature_columns() or NULL")
}
