#' Distributed training of TensorFlow Estimators
#'
#' Describe a training with plain R values: a strategy ([strategy_mirrored()]), a run configuration ([run_config()]),
#' feature columns ([feature_columns()]), an estimator ([dnn_regressor()]) and an input ([input_fn()]). Then call a
#' verb: [train()], [evaluate()], `predict()`, [train_and_evaluate()] or [export_savedmodel()].
#'
#' Python starts when a verb needs it. [install_tfdistribute()] makes the Python environment, and
#' [tfdistribute_sitrep()] reports what is missing.
#'
#' @section Options:
#' * `tfdistribute.progress`: FALSE hides the progress display.
#'
#' @keywords internal
#' @importFrom rlang %||%
"_PACKAGE"
