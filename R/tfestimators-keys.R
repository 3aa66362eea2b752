#' Names of modes, metrics, predictions, collections and tasks
#'
#' The strings that TensorFlow uses, by the names of their constants. Python is not needed.
#'
#' @param ... Must be empty.
#' @returns A named list of strings.
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/ModeKeys>,
#'   <https://www.tensorflow.org/api_docs/python/tf/compat/v1/GraphKeys>; the others are tensorflow_estimator's
#'   `MetricKeys`, `PredictionKeys` and `TaskType`.
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
  check_call()
  new_keys(list(TRAIN = "train", EVAL = "eval", PREDICT = "infer"))
}

#' @rdname keys
#' @export
metric_keys <- function(...) {
  check_call()
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
  check_call()
  new_keys(list(
    CLASSES = "classes",
    CLASS_IDS = "class_ids",
    ALL_CLASSES = "all_classes",
    ALL_CLASS_IDS = "all_class_ids",
    LOGISTIC = "logistic",
    LOGITS = "logits",
    PREDICTIONS = "predictions",
    PROBABILITIES = "probabilities",
    TOP_K = "top_k"
  ))
}

#' @rdname keys
#' @export
graph_keys <- function(...) {
  check_call()
  new_keys(list(
    ACTIVATIONS = "activations",
    ASSET_FILEPATHS = "asset_filepaths",
    BIASES = "biases",
    CONCATENATED_VARIABLES = "concatenated_variables",
    COND_CONTEXT = "cond_context",
    EVAL_STEP = "eval_step",
    GLOBAL_STEP = "global_step",
    GLOBAL_VARIABLES = "variables",
    INIT_OP = "init_op",
    LOCAL_INIT_OP = "local_init_op",
    LOCAL_RESOURCES = "local_resources",
    LOCAL_VARIABLES = "local_variables",
    LOSSES = "losses",
    METRIC_VARIABLES = "metric_variables",
    MODEL_VARIABLES = "model_variables",
    MOVING_AVERAGE_VARIABLES = "moving_average_variables",
    QUEUE_RUNNERS = "queue_runners",
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op",
    READY_OP = "ready_op",
    REGULARIZATION_LOSSES = "regularization_losses",
    RESOURCES = "resources",
    SAVEABLE_OBJECTS = "saveable_objects",
    SAVERS = "savers",
    SUMMARIES = "summaries",
    SUMMARY_OP = "summary_op",
    TABLE_INITIALIZERS = "table_initializer",
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables",
    TRAINABLE_VARIABLES = "trainable_variables",
    TRAIN_OP = "train_op",
    UPDATE_OPS = "update_ops",
    VARIABLES = "variables",
    WEIGHTS = "weights",
    WHILE_CONTEXT = "while_context"
  ))
}

#' @rdname keys
#' @export
task_type <- function(...) {
  check_call()
  new_keys(list(
    MASTER = "master",
    PS = "ps",
    WORKER = "worker",
    CHIEF = "chief",
    EVALUATOR = "evaluator"
  ))
}

new_keys <- function(keys) {
  structure(keys, class = "tfdistribute_keys")
}

#' @export
print.tfdistribute_keys <- function(x, ...) {
  cat(paste0(format(names(x)), "  ", encodeString(unlist(x), quote = "\""), "\n"), sep = "")
  invisible(x)
}
