# Parts of an estimator that scripts for tfestimators use: its class, and the Python object in it.

# An estimator contains no Python object. This method creates one, for code that calls TensorFlow itself.
#' @export
`$.tfdistribute_estimator` <- function(x, name) {
  if (identical(name, "estimator") && is.null(.subset2(x, "estimator"))) {
    return(call_backend("python_estimator", estimator = x))
  }
  .subset2(x, name)
}

#' Names of modes, metrics, predictions, collections and tasks
#'
#' These functions are for scripts of tfestimators. They return the strings that TensorFlow uses, by the names of their
#' constants, without Python.
#'
#' @returns A named list of strings.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/ModeKeys>,
#'   <https://www.tensorflow.org/api_docs/python/tf/compat/v1/GraphKeys>, and `MetricKeys`, `PredictionKeys` and
#'   `TaskType` of tensorflow_estimator.
#' @examples
#' mode_keys()$TRAIN
#' metric_keys()$LOSS_MEAN
#' prediction_keys()$PROBABILITIES
#' graph_keys()$UPDATE_OPS
#' task_type()$CHIEF
#' @name keys
NULL

#' @rdname keys
#' @export
mode_keys <- function(...) {
  check_call(...)
  new_keys(list(TRAIN = "train", EVAL = "eval", PREDICT = "infer"))
}

#' @rdname keys
#' @export
metric_keys <- function(...) {
  check_call(...)
  new_keys(list(
    LOSS = "loss",
    LOSS_MEAN = "average_loss",
    LOSS_REGULARIZATION = "regularization_loss",
    ACCURACY = "accuracy",
    PRECISION = "precision",
    RECALL = "recall",
    ACCURACY_BASELINE = "accuracy_baseline",
    AUC = "auc",
    AUC_PR = "auc_precision_recall",
    LABEL_MEAN = "label/mean",
    PREDICTION_MEAN = "prediction/mean",
    ACCURACY_AT_THRESHOLD = "accuracy/positive_threshold_%g",
    PRECISION_AT_THRESHOLD = "precision/positive_threshold_%g",
    RECALL_AT_THRESHOLD = "recall/positive_threshold_%g",
    PRECISION_AT_RECALL = "precision_at_recall_%g",
    RECALL_AT_PRECISION = "recall_at_precision_%g",
    SENSITIVITY_AT_SPECIFICITY = "sensitivity_at_specificity_%g",
    SPECIFICITY_AT_SENSITIVITY = "specificity_at_sensitivity_%g",
    PROBABILITY_MEAN_AT_CLASS = "probability_mean/class%d",
    AUC_AT_CLASS = "auc/class%d",
    AUC_PR_AT_CLASS = "auc_precision_recall/class%d",
    PROBABILITY_MEAN_AT_NAME = "probability_mean/%s",
    AUC_AT_NAME = "auc/%s",
    AUC_PR_AT_NAME = "auc_precision_recall/%s"
  ))
}

#' @rdname keys
#' @export
prediction_keys <- function(...) {
  check_call(...)
  # fmt: skip
  values <- c(
    "classes", "class_ids", "all_classes", "all_class_ids", "logistic", "logits", "predictions",
    "probabilities", "top_k"
  )
  capital_keys(values)
}

#' @rdname keys
#' @export
graph_keys <- function(...) {
  check_call(...)
  # fmt: skip
  values <- c(
    "activations", "asset_filepaths", "biases", "concatenated_variables", "cond_context",
    "eval_step", "global_step", "init_op", "local_init_op", "local_resources",
    "local_variables", "losses", "metric_variables", "model_variables",
    "moving_average_variables", "queue_runners", "ready_for_local_init_op", "ready_op",
    "regularization_losses", "resources", "saveable_objects", "savers", "summaries",
    "summary_op", "trainable_resource_variables", "trainable_variables", "train_op",
    "update_ops", "variables", "weights", "while_context"
  )
  capital_keys(values, GLOBAL_VARIABLES = "variables", TABLE_INITIALIZERS = "table_initializer")
}

#' @rdname keys
#' @export
task_type <- function(...) {
  check_call(...)
  capital_keys(c("master", "ps", "worker", "chief", "evaluator"))
}

# Constants that have the names of their values in capital letters, and the other constants in `...`.
capital_keys <- function(values, ...) {
  new_keys(c(rlang::set_names(as.list(values), toupper(values)), list(...)))
}

new_keys <- function(keys) {
  structure(keys, class = "tfdistribute_keys")
}

#' @export
print.tfdistribute_keys <- function(x, ...) {
  cat(paste0(format(names(x)), "  ", encodeString(unlist(x), quote = "\""), "\n"), sep = "")
  invisible(x)
}

# The names that tfestimators uses for the parts of a history.

#' @export
`$.tfdistribute_history` <- function(x, name) {
  losses <- .subset2(x, "losses")
  switch(
    name,
    step = losses$step,
    params = list(metrics = loss_names, steps = utils::tail(losses$step, 1)),
    .subset2(x, name)
  )
}

# tfestimators records the mean and the sum of TensorFlow's losses, but an Estimator has only one of them.
loss_names <- c("mean_losses", "total_losses")

#' @export
`$.tfdistribute_losses` <- function(x, name) {
  .subset2(x, if (name %in% loss_names) "loss" else name)
}
