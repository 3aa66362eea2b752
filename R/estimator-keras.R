#' Make an estimator from a Keras model
#'
#' Creates an estimator from a compiled Keras model. It trains on one or several devices ([strategy_mirrored()],
#' [strategy_central_storage()]) or in several processes ([strategy_multi_worker()]), with [train_and_evaluate()], hooks
#' and checkpoints. Losses, metrics and weights match Keras's `fit()`. Sequential and functional models of Keras 2
#' (tf.keras) are supported and, with TensorFlow 2.16 or newer, also models of Keras 3 (`import keras`, the R package
#' keras3). Subclasses of `Model` are not supported, nor are callbacks of `fit()`. Use [hooks] instead.
#'
#' @param keras_model The model, which has one of two forms:
#'   * A **function** without arguments that builds, compiles and returns a model. Every verb calls it in its own
#'     process, so the estimator can be saved and sent to other processes. It may use R functions as loss, metric or
#'     layer.
#'   * A compiled **model object**, as the keras, keras3 and tensorflow packages create it. It is saved immediately,
#'     with its weights, to `keras/model.keras` in `model_dir`. Later changes to the object have no effect.
#' @param keras_model_path Path of a saved model to use instead: a `.keras` or `.h5` file, or a SavedModel directory.
#'   Such files can contain code, so load only files that you trust.
#' @param custom_objects Layers, losses, metrics and activation functions that are not part of Keras: a named list of R
#'   functions and Python objects, or NULL.
#' @param model_dir,config Same as in [dnn_regressor()]. See [estimators].
#' @returns A description of class `tfdistribute_keras_estimator`, `tfdistribute_estimator`. It is a plain value that
#'   survives `saveRDS()`, unless `custom_objects` contains Python objects.
#' @section Features:
#' Features are matched to the model's inputs by name, so an input `"wt"` reads the column `wt`. Columns without an
#' input are ignored. A column of single values also fits an input of shape `(None, 1)`, and numbers are converted to
#' the input's type.
#'
#' A model with one input also accepts the following, whatever their names:
#' * A single feature, such as a matrix column.
#' * Several columns of numbers that together have as many values per row as the input has units. They are combined in
#'   the order that the features had **when the model was trained**. Later inputs may have another order. Factors and
#'   strings are never combined.
#' @section Response:
#' A model with one output uses the response of [input_fn()]. A model with several outputs uses it if only one output
#' has a loss. Otherwise provide a named list of responses with a function that returns a dataset (see
#' [input_dataset()]). Keras's losses compare numbers, so the losses of classes (`"sparse_categorical_crossentropy"`,
#' `"binary_crossentropy"`) read the codes of a factor, from 0. Other losses reject factors.
#' @section Several devices:
#' `batch_size` is the global batch. With stochastic gradient descent, the weights equal the weights of a training on
#' one device. As in Keras, batch normalization normalizes each device's part of the batch separately, and its moving
#' averages are the mean over the devices. `BatchNormalization(synchronized = TRUE)` of Keras 3 and
#' `SyncBatchNormalization` of Keras 2 normalize the global batch, so the weights are again the same as on one device.
#' @section Weights:
#' Training starts from the model's weights, or from the newest checkpoint if there is one. Random initial weights from
#' a function depend on `seed` of the run configuration.
#' @section Optimizer:
#' The model trains with the optimizer of `compile()`. A model of Keras 3 uses it unchanged, with its schedule, weight
#' decay, clipping and moving averages. A model of Keras 2 needs one of Keras's legacy optimizers. Any other optimizer
#' is replaced by the legacy optimizer with the same name and settings, or rejected if there is none.
#' @section Keras 3:
#' Layers keep their policy. Layers with `mixed_bfloat16` compute in 16 bits and keep their weights in 32 bits, and
#' predictions are 32-bit numbers. Dropout draws other numbers than in `fit()`, and different numbers on each device.
#'
#' Some features are not supported: layers with tables or layers that adapt to data beforehand (`Normalization`,
#' `StringLookup`, `TextVectorization`, ...), the policy `mixed_float16` (use `mixed_bfloat16`),
#' `gradient_accumulation_steps`, `eval_distribute`, and [strategy_parameter_server()].
#' @section Predictions:
#' Predictions have one column per output, named after the output.
#' @section Errors:
#' * `tfdistribute_argument_error` if neither or both of `keras_model` and `keras_model_path` are given, the function
#'   has arguments, the file does not exist, or `custom_objects` has no names.
#' * `tfdistribute_model_error` if the model is not compiled, is not a Keras model, or cannot be saved to a file.
#' * `tfdistribute_input_error`, from a verb, if an input has no feature or a feature of another shape or type, or if
#'   the loss cannot use the response.
#' * `tfdistribute_callback_error`, from a verb, if the function fails. The `parent` is the function's own error.
#' @references <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/keras/estimator/model_to_estimator>
#' @seealso [export_keras_model()], [estimators]
#' @examples
#' build <- function() {
#'   keras <- reticulate::import("tensorflow")$keras
#'   layers <- list(
#'     keras$layers$Dense(8L, activation = "relu", input_shape = list(2L)),
#'     keras$layers$Dense(1L, name = "mpg")
#'   )
#'   model <- keras$Sequential(layers)
#'   model$compile(optimizer = keras$optimizers$legacy$Adam(0.05), loss = "mse", metrics = list("mae"))
#'   model
#' }
#' keras_model_to_estimator(build, config = run_config(strategy_mirrored(devices = 2)))
#' @examplesIf tfdistribute_available()
#' model <- keras_model_to_estimator(build)
#' train(model, input_fn(mpg ~ wt + hp, mtcars, epochs = 20))
#' evaluate(model, input_fn(mpg ~ wt + hp, mtcars))
#' predict(model, input_fn(head(mtcars), features = c(wt, hp)))
#' @export
keras_model_to_estimator <- function(
  keras_model = NULL,
  keras_model_path = NULL,
  custom_objects = NULL,
  model_dir = NULL,
  config = NULL,
  ...
) {
  check_call(...)
  check_one_given(list(keras_model = keras_model, keras_model_path = keras_model_path))
  is_object <- is_keras_model(keras_model)
  if (is_object) {
    check_compiled(keras_model)
  }
  estimator <- describe_estimator(
    "keras",
    list(model_dir = model_dir, config = config),
    path = check_saved_model(keras_model_path),
    `function` = if (!is_object) check_model_builder(keras_model),
    custom_objects = check_custom_objects(custom_objects)
  )
  if (is_object) {
    estimator["path"] <- write_keras_model(keras_model, estimator$model_dir, custom_objects)
  }
  estimator
}

# A model of Keras 2 (keras.src.engine.training.Model, in another module for each version) or of Keras 3.
is_keras_model <- function(value) {
  keras_2 <- "[.]engine[.]training(_v1)?[.]Model$"
  keras_3 <- "^keras[.]src[.]models[.]model[.]Model$"
  is_python_object(value) && any(grepl(paste0(keras_2, "|", keras_3), class(value)))
}

check_compiled <- function(keras_model) {
  if (is.null(keras_model$optimizer)) {
    abort_tfdistribute(
      "model",
      problem = "`keras_model` is not compiled.",
      remedy = "Call compile() with an optimizer and a loss first."
    )
  }
}

check_model_builder <- function(keras_model) {
  if (is.null(keras_model)) {
    return(NULL)
  }
  if (!is.function(keras_model)) {
    abort_argument(
      keras_model,
      "a compiled Keras model",
      remedy = if (is.character(keras_model)) {
        "Give the path of a saved model as `keras_model_path`."
      } else {
        "Give a model of Keras 2 or Keras 3, or a function that builds and compiles one."
      }
    )
  }
  check_formals(
    keras_model,
    supplied = character(),
    remedy = "Give a function without arguments that returns a compiled model."
  )
}

check_saved_model <- function(keras_model_path) {
  path <- check_string(keras_model_path, null = TRUE)
  if (is.null(path)) {
    return(NULL)
  }
  if (is_remote_path(path)) {
    return(path)
  }
  if (!file.exists(path)) {
    abort_argument(path, "the path of a file that exists", "keras_model_path")
  }
  normalizePath(path)
}

check_custom_objects <- function(custom_objects) {
  if (is.null(custom_objects) || identical(custom_objects, list())) {
    return(list())
  }
  usable <- function(object) is.function(object) || is_python_object(object)
  named <- is.list(custom_objects) && has_own_names(custom_objects)
  if (!named || !all(vapply(custom_objects, usable, NA))) {
    abort_argument(custom_objects, "a named list of functions and Python objects, or NULL")
  }
  custom_objects
}

# Writing a model --------------------------------------------------------------------------------

write_keras_model <- function(keras_model, model_dir, custom_objects) {
  place <- file.path(model_dir, "keras", "model.keras")
  is_copied <- is_remote_path(model_dir)
  # The file gets its name when it is complete. A file that has the name before is neither followed nor waited for.
  path <- tempfile("keras-", if (is_copied) tempdir() else dirname(place), ".keras")
  tryCatch(
    {
      dir.create(dirname(path), recursive = TRUE, showWarnings = FALSE)
      keras_model$save(path)
    },
    error = function(error) {
      abort_unwritable(conditionMessage(error), parent = error)
    }
  )
  lost <- setdiff(functions_in_model(path), names(custom_objects))
  if (length(lost) > 0) {
    unlink(path)
    abort_unwritable(paste0("it holds the function ", show_value(lost), "."))
  }
  if (is_copied) {
    on.exit(unlink(path))
    call_backend("copy_file", path = path, to = place)
  } else {
    file.rename(path, place)
  }
  place
}

# A file keeps the name of a function, but not its code.
functions_in_model <- function(path) {
  folder <- tempfile("keras-")
  on.exit(unlink(folder, recursive = TRUE))
  config <- utils::unzip(path, "config.json", exdir = folder)
  text <- paste(readLines(config, warn = FALSE, encoding = "UTF-8"), collapse = "")
  pattern <- paste0(
    "\"module\": \"builtins\", \"class_name\": \"function\", \"config\": \"([^\"]*)\"",
    "|\"class_name\": \"__(lambda)__\""
  )
  found <- regmatches(text, gregexpr(pattern, text))[[1]]
  unique(sub(paste0("^.*", pattern, ".*$"), "\\1\\2", found))
}

abort_unwritable <- function(reason, parent = NULL) {
  abort_tfdistribute(
    "model",
    problem = "`keras_model` cannot be written to a file: {reason}",
    remedy = "Give `keras_model` a function that builds and compiles the model.",
    parent = parent
  )
}
