#' Train a Keras model as an estimator
#'
#' Takes a compiled Keras model and trains it wherever an estimator can be trained: on one device, on several
#' ([strategy_mirrored()], [strategy_central_storage()]), with [train_and_evaluate()], hooks and checkpoints. Losses,
#' metrics and weights follow Keras's own `fit()`. It takes sequential and functional models of tf.keras (Keras 2), not
#' subclasses of `Model`, and no callbacks of `fit()`: use [hooks].
#'
#' @param keras_model What is trained; one of
#'   * a **function** without arguments that builds, compiles and returns a model. It is called by each verb, in the
#'     process that performs the verb, so the estimator can be saved and sent to other processes. It may use R functions
#'     as loss, metric or layer.
#'   * a compiled **model object**, as the keras and tensorflow packages make it. It is written to the file
#'     `keras/model.keras` in `model_dir` at once, with its weights; later changes of the object change nothing.
#' @param keras_model_path A saved model instead: path of a `.keras` or `.h5` file, or of a SavedModel's directory.
#'   Only load files that you trust: they can hold code.
#' @param custom_objects Layers, losses, metrics and activation functions that Keras does not have: a named list of R
#'   functions and Python objects, or NULL.
#' @param model_dir,config As in [dnn_regressor()]; see [estimators].
#' @return A description of class `tfdistribute_keras_estimator`, `tfdistribute_estimator`. It is a plain value that
#'   survives `saveRDS()`, unless `custom_objects` holds Python objects.
#' @section Features:
#' Features go to the model's inputs by name: an input `"wt"` reads the column `wt`; columns that no input reads are
#' left out. A column of single values also fits an input of shape `(None, 1)`, and numbers are converted to the
#' input's type.
#'
#' A model with one input, whose name is often not chosen, is also content with
#' * the only feature, whatever its name, such as a matrix column, or
#' * several columns of numbers which together have as many values per row as the input has units. They are put side by
#'   side in the order of the input's features **when the model was trained**; later inputs may have another order.
#'   Factors and strings are never put side by side.
#' @section Response:
#' A model with one output takes the response of [input_fn()]; several outputs take it where only one has a loss, or a
#' named list of responses from a function that returns a dataset (see [input_dataset()]). Keras's losses compare
#' numbers: a factor needs `factors = "codes"`.
#' @section Several devices:
#' `batch_size` is the global batch, and with stochastic gradient descent the weights are those of one device. Batch
#' normalisation normalises each device's share of the batch by itself, as Keras does.
#' @section Weights:
#' Training starts from the weights of the model, and goes on from the newest checkpoint once there is one. The weights
#' that a function draws follow `tf_random_seed` of the run configuration.
#' @section Optimizer:
#' That of `compile()`. Estimators train with Keras's legacy optimizers: others are exchanged for the legacy one of the
#' same name and settings, or refused by name where there is none.
#' @section Predictions:
#' A column for each output, by the output's name.
#' @section Errors:
#' `tfdistribute_argument_error`: no model, or two; a function with arguments; no such file; `custom_objects` without
#' names. `tfdistribute_model_error`: the model is not compiled, no tf.keras model, or cannot be written to a file. When
#' a verb runs, also `tfdistribute_input_error`: no feature for an input, or one of another shape or type; a response
#' that the loss cannot compare. `tfdistribute_callback_error`: the function failed; its own error is the `parent`.
#' @section Source:
#' <https://www.tensorflow.org/versions/r2.15/api_docs/python/tf/keras/estimator/model_to_estimator>
#' @family estimators
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
#' train(model, input_fn(mpg ~ wt + hp, mtcars, num_epochs = 20))
#' evaluate(model, input_fn(mpg ~ wt + hp, mtcars))
#' predict(model, input_fn(head(mtcars), features = c(wt, hp)))
#' @export
keras_model_to_estimator <- function(
  keras_model = NULL,
  keras_model_path = NULL,
  custom_objects = NULL,
  model_dir = NULL,
  config = NULL
) {
  check_one_keras_model(keras_model, keras_model_path)
  is_object <- is_keras_model(keras_model)
  if (is_object) {
    check_compiled(keras_model)
  }
  estimator <- new_estimator(
    "keras",
    path = check_saved_model(keras_model_path),
    `function` = if (!is_object) check_model_builder(keras_model),
    custom_objects = check_custom_objects(custom_objects),
    model_dir = model_dir,
    config = config
  )
  if (is_object) {
    estimator$path <- write_keras_model(keras_model, estimator$model_dir, custom_objects)
  }
  estimator
}

check_one_keras_model <- function(keras_model, keras_model_path) {
  if (is.null(keras_model) != is.null(keras_model_path)) {
    return(invisible())
  }
  abort_tfdistribute(
    "argument",
    problem = if (is.null(keras_model)) {
      "`keras_model` and `keras_model_path` are both NULL: there is no model."
    } else {
      "`keras_model` and `keras_model_path` are both given."
    },
    remedy = "Give one of them.",
    argument = "keras_model"
  )
}

# A model of tf.keras, by whatever name this version has for its module: keras.src.engine.training.Model.
is_keras_model <- function(value) {
  is_python_object(value) && any(grepl("[.]engine[.]training(_v1)?[.]Model$", class(value)))
}

check_compiled <- function(keras_model) {
  if (is.null(keras_model$optimizer)) {
    abort_tfdistribute(
      "model",
      problem = "`keras_model` is not compiled.",
      remedy = "Call compile() with an optimizer and a loss first.",
      argument = "keras_model"
    )
  }
}

check_model_builder <- function(value) {
  if (is.null(value)) {
    return(NULL)
  }
  if (!is.function(value)) {
    abort_no_model(value)
  }
  formals <- if (is_python_object(value)) list() else as.list(formals(args(value)))
  needed <- vapply(formals, function(default) identical(default, quote(expr = )), NA)
  needed <- setdiff(names(formals)[needed], "...")
  if (length(needed) > 0) {
    abort_tfdistribute(
      "argument",
      problem = paste0("`keras_model` has an argument `", needed[[1]], "` that nobody gives it."),
      remedy = "Give a function without arguments that returns a compiled model.",
      argument = "keras_model",
      value = needed[[1]]
    )
  }
  value
}

abort_no_model <- function(value) {
  abort_tfdistribute(
    "argument",
    problem = paste0("`keras_model` is no compiled tf.keras model, but ", show_value(value), "."),
    remedy = if (is.character(value)) {
      "Give the path of a saved model as `keras_model_path`."
    } else {
      "Give a model of tf.keras (Keras 2), or a function that builds and compiles one."
    },
    argument = "keras_model",
    value = show_value(value)
  )
}

check_saved_model <- function(value) {
  value <- check_string(value, "keras_model_path", null = TRUE)
  if (is.null(value)) {
    return(NULL)
  }
  if (!file.exists(value)) {
    abort_tfdistribute(
      "argument",
      problem = paste0("`keras_model_path` \"", value, "\" does not exist."),
      remedy = "Give the path of a saved Keras model.",
      argument = "keras_model_path",
      value = value
    )
  }
  normalizePath(value)
}

check_custom_objects <- function(value) {
  if (is.null(value)) {
    return(list())
  }
  named <- is.list(value) && rlang::is_named(value) && anyDuplicated(names(value)) == 0
  if (!named || !all(vapply(value, function(x) is.function(x) || is_python_object(x), NA))) {
    abort_argument("custom_objects", value, "a named list of functions and Python objects, or NULL")
  }
  value
}

# Writing a model --------------------------------------------------------------------------------

write_keras_model <- function(keras_model, model_dir, custom_objects) {
  path <- file.path(model_dir, "keras", "model.keras")
  tryCatch(
    {
      dir.create(dirname(path), recursive = TRUE, showWarnings = FALSE)
      keras_model$save(path)
    },
    error = function(error) {
      abort_unwritable(paste0(": ", conditionMessage(error)), parent = error)
    }
  )
  lost <- setdiff(functions_in_model(path), names(custom_objects))
  if (length(lost) > 0) {
    unlink(path)
    abort_unwritable(paste0(": it holds the function ", show_value(lost), "."))
  }
  path
}

# A file keeps the name of a function, but not what the function does.
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
    problem = paste0("`keras_model` cannot be written to a file", reason),
    remedy = "Give `keras_model` a function that builds and compiles the model.",
    argument = "keras_model",
    parent = parent
  )
}

#' @export
format.tfdistribute_keras_estimator <- function(x, ...) {
  x$custom_objects <- names(x$custom_objects)
  # As the arguments are called, in their order.
  arguments <- c(keras_model = "function", keras_model_path = "path")
  named <- match(arguments, names(x), nomatch = 0)
  names(x)[named] <- names(arguments)[named > 0]
  class(x) <- "tfdistribute_estimator"
  format(x, ...)
}
