#' Distributed training of TensorFlow Estimators
#'
#' Say where to train, not how: a strategy ([strategy_mirrored()]), a run configuration ([run_config()]), feature
#' columns ([feature_columns()]), an estimator ([dnn_regressor()]) and an input ([input_fn()]) are plain R values.
#' A verb ([train()], [evaluate()], `predict()`, [train_and_evaluate()], [export_savedmodel()]) performs them.
#'
#' Nothing starts Python before a verb needs it. [install_tfdistribute()] makes the Python environment, and
#' [tfdistribute_sitrep()] says what is there and what is missing.
#'
#' @section Options:
#' * `tfdistribute.progress`: FALSE for no progress display.
#'
#' @keywords internal
#' @importFrom rlang %||%
"_PACKAGE"
