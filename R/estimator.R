# The constructor of all estimators, and printing.

#' Estimators
#'
#' An estimator is a plain R value that describes a model and the location of its checkpoints. It can be printed,
#' compared, saved and sent to other processes. Creating an estimator reads no data and starts neither Python nor
#' TensorFlow. The verbs start them: [train()], [evaluate()], `predict()`, [train_and_evaluate()] and
#' [export_savedmodel()]. If you change an argument, as in `model$optimizer <- "adam"`, it is checked as in the function
#' that created the estimator.
#'
#' * [tabular_regressor()], [tabular_classifier()]: a formula and a data frame are enough.
#' * [boosted_trees_regressor()], [boosted_trees_classifier()]: boosted trees, which need only data, too.
#' * [linear_regressor()], [linear_classifier()]: a weight for each number and each category.
#' * [dnn_regressor()], [dnn_classifier()]: hidden layers.
#' * [dnn_linear_combined_regressor()], [dnn_linear_combined_classifier()]: both together ("wide and deep").
#' * [baseline_regressor()], [baseline_classifier()]: no features. Every other model should do better.
#' * [estimator()]: your own model function.
#' * [training_loop()]: your own steps, with gradient tapes and several optimizers.
#' * [keras_model_to_estimator()]: a Keras model.
#'
#' @section Classes of a classifier:
#' Responses are whole numbers from 0 to `n_classes - 1` (or TRUE and FALSE), or strings. For a factor, its levels
#' become the `label_vocabulary`. TRUE and FALSE are predicted as the classes `"FALSE"` and `"TRUE"`.
#'
#' Of two classes, the last is the positive one, as with `event_level = "second"` of the yardstick package: `precision`,
#' `recall`, `auc` and `auc_precision_recall` of [evaluate()] count it, and `logistic` of [predict()] is its
#' probability.
#' The order of `label_vocabulary` sets it: `label_vocabulary = c("No", "Yes")` counts Yes, and `c("Yes", "No")` counts
#' No, whatever the order of the factor's levels. `summary()` of a trained model names the positive class.
#' @section Location of checkpoints:
#' Checkpoints are in `model_dir`, or else in the `model_dir` of `config`, or else in a temporary directory that is
#' chosen when the estimator is created and deleted when R ends. The path may not contain `*`, `?`, `[` or a backslash,
#' which TensorFlow reads as a pattern, nor line breaks and other control characters.
#' @section Loss:
#' `loss_reduction = "sum_over_batch_size"` trains with the mean loss of a batch, as TensorFlow 2 does. With `"sum"`,
#' the default of TensorFlow 1, the size of a step grows with the batch.
#' @references <https://www.tensorflow.org/guide/estimator>
#' @examples
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")), model_dir = "runs/cars")
#' model
#' model_dir(model)
#' @name estimators
NULL

# An estimator from checked fields, which have the names of the Python dataclass, and the user's `model_dir` and
# `config`. Its attribute `temporary` is TRUE if `model_dir` is chosen here.
new_estimator <- function(kind, fields, model_dir = NULL, config = NULL) {
  if (is_python_object(config)) {
    remedy <- "Give its settings to run_config(), as in run_config(strategy_mirrored(), seed = 1)."
    abort_argument(config, "what run_config() returns", remedy = remedy)
  }
  config <- check_class(config, "tfdistribute_run_config", "what run_config() returns", null = TRUE)
  directory <- chosen_model_dir(model_dir, config$model_dir)
  estimator <- rlang::inject(new_description(
    "estimator",
    kind,
    !!!fields,
    model_dir = directory %||% tempfile("tfdistribute-model-"),
    config = config
  ))
  structure(
    estimator,
    class = c(class(estimator), "tf_estimator"),
    temporary = is.null(directory)
  )
}

# Kinds of estimators whose function or arguments have other names than the kind and the fields.
estimator_functions <- c(custom = "estimator", keras = "keras_model_to_estimator")
estimator_arguments <- c(
  model_class = "class",
  build_parts = "build",
  path = "keras_model_path",
  `function` = "keras_model"
)

argument_names <- function(fields) {
  ifelse(fields %in% names(estimator_arguments), estimator_arguments[fields], fields)
}

#' @export
`$<-.tfdistribute_estimator` <- function(x, name, value) {
  arguments <- unclass_list(x)
  names(arguments) <- argument_names(names(arguments))
  is_temporary <- isTRUE(attr(x, "temporary"))
  unset <- c(if (is_temporary) "model_dir", if (length(x$model_class) == 0) "class")
  arguments[unset] <- NULL
  kind <- arguments$kind
  constructor <- if (kind %in% names(estimator_functions)) estimator_functions[[kind]] else kind
  changed <- change_field(arguments, name, value, constructor)
  if (is_temporary && isTRUE(attr(changed, "temporary"))) {
    changed["model_dir"] <- x["model_dir"]
  }
  changed
}

#' @export
`[[<-.tfdistribute_estimator` <- `$<-.tfdistribute_estimator`

#' @importFrom utils str
#' @export
str.tfdistribute_estimator <- function(object, ...) {
  options <- utils::modifyList(list(max.level = 1, give.attr = FALSE), list(...))
  do.call(str, c(list(unclass_list(object)), options))
}

# An absolute path, so that it does not depend on the working directory of the verbs, or NULL.
chosen_model_dir <- function(model_dir, configured) {
  model_dir <- absolute_path(check_string(model_dir, null = TRUE))
  configured <- absolute_path(configured)
  if (is.null(model_dir)) {
    return(configured)
  }
  if (!is.null(configured) && !identical(plain_path(model_dir), plain_path(configured))) {
    abort_tfdistribute(
      "argument",
      problem = "`model_dir` is \"{model_dir}\", but `config` has `model_dir` \"{configured}\".",
      remedy = "Give `model_dir` in one place.",
      value = model_dir
    )
  }
  model_dir
}

# The absolute path, or NULL. A path on remote storage, such as "gs://bucket/model", is not changed.
absolute_path <- function(path) {
  if (is.null(path) || is_remote_path(path) || grepl("^[A-Za-z]:", path)) {
    return(path)
  }
  path <- path.expand(path)
  if (startsWith(path, "/")) path else file.path(getwd(), path)
}

is_remote_path <- function(path) {
  grepl("^[A-Za-z][A-Za-z0-9+.-]*://", path)
}

plain_path <- function(path) {
  sub("/+$", "", normalizePath(path, winslash = "/", mustWork = FALSE))
}

#' Check that an object is an estimator
#'
#' The default methods of the verbs also call it for objects that are not estimators.
#' @noRd
check_estimator <- function(object, argument = rlang::caller_arg(object)) {
  if (inherits(object, "tfdistribute_estimator")) {
    return(object)
  }
  abort_argument(
    object,
    "an estimator",
    argument,
    remedy = if (rlang::is_formula(object) || is_data(object)) {
      "The model is the first argument, and data comes after it."
    } else {
      "Make one with dnn_regressor() or another function of ?estimators."
    }
  )
}

# Printing ------------------------------------------------------------------------------------------

#' @export
format.tfdistribute_estimator <- function(x, ...) {
  shown <- c(describe_training(x, facts_of_trained(x$model_dir)), describe_fields(x))
  labels <- format(names(shown))
  width <- nchar(labels[[1]]) + 4L
  lines <- Map(
    function(label, text) {
      strwrap(text, width = 100, initial = paste0("  ", label, "  "), prefix = strrep(" ", width))
    },
    labels,
    shown
  )
  c(paste0("<", x$kind, ">"), unlist(lines, use.names = FALSE))
}

describe_fields <- function(x) {
  fields <- setdiff(names(x), c("kind", "model_class", "model_dir", "config"))
  for (part in c("linear", "dnn")) {
    # Settings of a part without columns have no effect.
    if (length(x[[paste0(part, "_feature_columns")]]) == 0) {
      fields <- fields[!startsWith(fields, paste0(part, "_"))]
    }
  }
  usual <- list(batch_norm = FALSE, loss_reduction = "sum_over_batch_size", label_dimension = 1L)
  usual <- c(usual, list(sparse_combiner = "sum", linear_sparse_combiner = "sum"))
  fields <- Filter(
    function(name) !is.null(x[[name]]) && !identical(x[[name]], usual[[name]]),
    fields
  )
  shown <- lapply(fields, function(name) describe_field(x[[name]]))
  names(shown) <- argument_names(fields)
  shown <- Filter(nzchar, shown)
  shown$model_dir <- paste0(x$model_dir, if (isTRUE(attr(x, "temporary"))) " (temporary)")
  shown$strategy <- show_strategy(x$config, "none (one device)")
  shown
}

describe_field <- function(value) {
  if (inherits(value, "tfdistribute_feature_columns")) {
    toString(first_of(vapply(value, column_name, "")))
  } else if (inherits(value, c("tfdistribute_optimizer", "tfdistribute_warm_start"))) {
    format(value)
  } else if (is.function(value)) {
    show_function(value)
  } else if (is_plain_list(value)) {
    toString(names(value) %||% if (length(value) > 0) paste(length(value), "values"))
  } else if (is.atomic(value)) {
    toString(value)
  } else {
    show_value(value)
  }
}
