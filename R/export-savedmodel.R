#' Export a trained model for serving
#'
#' Writes a SavedModel that TensorFlow Serving and `tf.saved_model.load` read.
#'
#' @inheritParams evaluate
#' @param export_dir_base Directory of the export; with `versioned` the directory that holds the versions.
#' @param serving_input_receiver_fn A Python function or R function that makes the serving input; NULL for
#'   serialised `tf.train.Example` messages of the model's feature columns.
#' @param assets_extra Files to copy beside the model: a list of source paths, named by their path in the
#'   export; or NULL.
#' @param as_text TRUE to write the graph as text.
#' @param overwrite TRUE to replace an export that stands there already.
#' @param versioned TRUE to write into a new directory below `export_dir_base`, named by the time in seconds.
#' @return Invisibly the directory that holds the SavedModel, a string.
#' @section Errors:
#' `tfdistribute_model_directory_error` where the model was not trained, or the export stands there already.
#' @section Source:
#' <https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#export_saved_model>
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' train(model, input_fn(mpg ~ wt + hp, mtcars, num_epochs = 10))
#' path <- export_savedmodel(model, tempfile("export-"))
#' list.files(path)
#' @export
export_savedmodel <- function(object, export_dir_base, ...) {
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
  ...
) {
  known <- setdiff(names(formals(export_savedmodel.tfdistribute_estimator)), c("object", "..."))
  check_no_more(..., verb = "export_savedmodel", known = known)
  receiver <- serving_input_receiver_fn
  if (!is.null(receiver) && !is.function(receiver) && !is_python_object(receiver)) {
    abort_argument("serving_input_receiver_fn", receiver, "a function or NULL")
  }
  if (!is.null(assets_extra) && (!is.list(assets_extra) || is.null(names(assets_extra)))) {
    abort_argument("assets_extra", assets_extra, "a named list of paths or NULL")
  }
  path <- call_backend(
    "export_savedmodel",
    estimator = object,
    export_dir_base = path.expand(check_string(export_dir_base, "export_dir_base")),
    serving_input_receiver_fn = receiver,
    assets_extra = assets_extra,
    as_text = check_flag(as_text, "as_text"),
    checkpoint_path = check_string(checkpoint_path, "checkpoint_path", null = TRUE),
    overwrite = check_flag(overwrite, "overwrite"),
    versioned = check_flag(versioned, "versioned")
  )
  invisible(path)
}

#' @export
export_savedmodel.default <- function(object, ...) {
  abort_not_estimator(object, "export_savedmodel")
}
