#' Models that need nothing but data
#'
#' Networks for tables, which learn their columns and the length of their training from the rows. A formula and a data
#' frame are enough: no feature columns, no scales, no number of epochs.
#'
#' @section Columns:
#' Numbers are scaled robustly and embedded. Factors, strings, TRUE and FALSE become indicators, or embeddings from 10
#' levels. Dates become numbers and the phases of the week and the year, and times also the phase of the day.
#' A missing number counts as the median and sets an indicator. A missing label sets none of the indicators. Empty
#' strings are missing labels, and `"NA"` is a label. A number further than 10,000 interquartile ranges from the median
#' counts as that far. The first training learns medians, scales, levels and the scale of the response from its rows,
#' and `model_dir` keeps them.
#' @section Weights:
#' A row of weight 0 (see [input_transform]) counts as absent. Medians, scales, the scale of the response and the
#' losses of the validation part are weighted, as if each row were repeated by its weight. The length of the training
#' depends on the number of rows of positive weight. The unit of the weights changes nothing that is learned from the
#' columns.
#' @section Training:
#' Rows are a data frame, a Spark table, or files of [input_parquet()], [input_arrow()] or [input_csv()], for which
#' there must be room in memory. `train()` accepts no `steps`, `epochs` and `batch_size`.
#' Three parts learn from the rows that are not in the validation part: a linear model with a ridge penalty, layers, and
#' boosted trees. The validation part chooses the number of trees, the length of the layers' training, and the weights
#' of the parts, whose mean is the model (of logits for classes, and of logarithms for counts). A part that gains
#' nothing beyond chance is left out. The layers learn last, in up to three cycles of the learning rate, each twice as
#' long as the one before. They end after the first cycle if the model needs no layers, and after the second if it made
#' the loss of the model less by under 4 percent, or by no more than chance would explain on the validation rows. Of up
#' to 5,000 rows, a linear model and trees that are chosen then learn again, from all rows. The temperature that divides
#' the logits of classes has the least loss on the validation part, too. A message and the notes of the history report
#' the choice.
#'
#' With a cluster, each process reads all rows. The chief learns the linear model and the trees, and all processes train
#' the layers together, as with `epochs`. The chief alone trains layers of up to 5,000 rows without `validation`, which
#' takes seconds, and all layers of a cluster with parameter servers.
#'
#' Trees need the Python package ydf, see [install_tfdistribute()]. Without it, the model has the other parts, and the
#' message reports that. A model of `quantiles` has no trees, and one part. [export_keras_model()] and the format
#' `"onnx"` of [export_savedmodel()] cannot convert trees.
#'
#' A later [train()] of the model learns from its rows with the columns, levels and scales of the first training. Its
#' layers take as many cycles of the learning rate, or the model's `epochs`, and the other parts and all weights stay;
#' of a model without layers, all parts learn again. It chooses no end by validation rows, but keeps to `time_limit_s`.
#' An interrupted training continues to its end instead, and an interrupted choice begins anew. To begin anew, give
#' the model another `model_dir`.
#' @eval help_of("tabular_regressor", "tabular_classifier")
#' @inheritParams linear_estimators
#' @returns A description of class `tfdistribute_tabular_regressor_estimator` or
#'   `tfdistribute_tabular_classifier_estimator`, and `tfdistribute_estimator`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_input_error`, from [train()], if the rows do not come from a table, or if a later training has other
#'   columns than the first.
#' @references Holzmüller, Grinsztajn and Steinwart (2024), Better by Default: Strong Pre-Tuned MLPs and Boosted Trees
#'   on Tabular Data, <https://arxiv.org/abs/2407.04491>, whose RealMLP has these layers.
#' @seealso [estimators]
#' @examplesIf tfdistribute_available()
#' model <- tabular_regressor(epochs = 20)
#' train(model, mpg ~ ., data = mtcars)
#' predict(model, head(mtcars))
#' @name tabular_estimators
NULL

#' @rdname tabular_estimators
#' @export
tabular_regressor <- function(
  # Fields of estimator$tabular_regressor without loss_reduction, warm_start_from, label_dimension, standardize_response
  hidden_units = c(128, 128, 128),
  ensemble = NULL,
  dropout = 0.15,
  weight_decay = 0.02,
  learning_rate = NULL,
  batch_size = NULL,
  epochs = NULL,
  validation = 0.2,
  parts = c("linear", "layers", "trees"),
  new_levels = c("warn", "error", "ignore"),
  time_limit_s = NULL,
  loss = c("squared_error", "poisson"),
  quantiles = NULL,
  clip = TRUE,
  weight_column = NULL,
  model_dir = NULL,
  config = NULL,
  ...
) {
  check_call(...)
  describe_estimator("tabular_regressor", as.list(environment()))
}

#' @rdname tabular_estimators
#' @export
tabular_classifier <- function(
  # Fields of estimator$tabular_classifier without loss_reduction, warm_start_from, n_classes, label_vocabulary
  hidden_units = c(128, 128, 128),
  ensemble = NULL,
  dropout = 0.15,
  weight_decay = 0.02,
  learning_rate = NULL,
  batch_size = NULL,
  epochs = NULL,
  validation = 0.2,
  parts = c("linear", "layers", "trees"),
  new_levels = c("warn", "error", "ignore"),
  time_limit_s = NULL,
  weight_column = NULL,
  model_dir = NULL,
  config = NULL,
  ...
) {
  check_call(...)
  describe_estimator("tabular_classifier", as.list(environment()))
}

is_tabular <- function(object) {
  isTRUE(object$kind %in% c("tabular_regressor", "tabular_classifier"))
}

# Whether a model learns its columns from a table.
learns_columns <- function(object) {
  is_tabular(object) || (is_trees(object) && length(object$feature_columns) == 0)
}

# Whether a model decides for itself how long it trains.
chooses_end <- function(object) {
  is_tabular(object) || is_trees(object)
}
