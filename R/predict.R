#' Predict with a trained model
#'
#' Returns one row of predictions for each row of the input, in the same order. A response in the input is ignored.
#'
#' With `cluster = local_cluster(2)`, two processes on this machine predict, each with its own rows, and the result has
#' the order of the input. A process that is lost is restarted and repeats its own rows. The predictions are first
#' written to temporary files. A cluster does not support a function that returns a dataset, because the order of its
#' rows over several processes is not known.
#'
#' @section Predicting in Spark:
#' For a Spark DataFrame of sparklyr or pyspark, the result is a Spark DataFrame with the columns of the data and a
#' column per output. The executors predict when its rows are read, with the weights that the model has now. An output
#' with several values per row is an array. Missing values are an error. The executors need Python with TensorFlow,
#' pandas and pyarrow, but not this package, and `predict()` checks this first. The arguments `hooks`, `as_iterable` and
#' `cluster` cannot be used, and `simplify` has no effect.
#'
#' @inheritParams evaluate
#' @param input_fn,newdata Data to predict for: a data frame or a Spark DataFrame with the model's training features, an
#'   [input_fn()], or a function that returns a `tf.data.Dataset`. Use one of the two arguments.
#' @param predict_keys Names of outputs, strings. Names that the model does not have are ignored. If NULL or missing,
#'   the result contains all outputs except `all_classes` and `all_class_ids`, which are the same in every row.
#' @param as_iterable TRUE for a function that returns the next predictions as a tibble with each call, and NULL after
#'   the last.
#' @param simplify TRUE for a tibble, FALSE for a list with a named list per row. It has no effect with `type`.
#' @param yield_single_examples With `as_iterable`, TRUE for one row per call, FALSE for a whole batch.
#' @param cluster A [local_cluster()] whose workers share the rows. NULL (default) predicts in this process alone. The
#'   cluster's parameter servers and evaluator are not started. Not together with `as_iterable`.
#' @param type Form of the predictions of a canned model, as R's own models have it, in place of a tibble with all
#'   outputs: `"response"`, `"link"`, `"class"`, `"prob"` or `"quantile"`. See "Types of predictions". NULL (default)
#'   returns the tibble. Not together with `predict_keys` and `as_iterable`.
#' @param interval Level of prediction intervals of a [tabular_regressor()], such as 0.9, a number between 0 and 1. See
#'   "Intervals". NULL (default) returns no intervals.
#' @section Types of predictions:
#' | `type` | Regressors | Classifiers |
#' |---|---|---|
#' | `"response"` | numbers, or a matrix if the response has several columns | as `glm()`: probabilities of the second
#' of two classes, or a matrix of more classes |
#' | `"link"` | the same, but the logarithm with `loss = "poisson"` | logits of the second of two classes, or a matrix
#' of more classes |
#' | `"class"` | | a factor with the classes as levels, in the order of [summary()][summary.tfdistribute_estimator] |
#' | `"prob"` | | a tibble with a column for each class |
#' | `"quantile"` | a matrix with a column for each of the model's `quantiles`, which have no other type | |
#'
#' All numbers are in the unit of the response.
#' @section Intervals: A response is within its interval with the probability `interval`, on average over rows like
#' the rows of the training. The width of these split conformal intervals to both sides is a quantile of the absolute
#' residuals of the validation rows, which the first training keeps. It is the same for all rows, but with a Poisson
#' loss proportional to the root of the prediction. The model of these residuals has not learned from the validation
#' rows, and the final model has, so intervals are rather too wide than too narrow, unless a few extreme responses
#' change the final model. For widths that differ between rows, use `quantiles`. [calibration()] checks the probability
#' on other data.
#' @returns With `interval`, a matrix with the columns `fit`, `lwr` and `upr`, as [predict.lm()] has them. With `type`,
#'   see "Types of predictions". Otherwise a tibble that has one column per output. An output with one value per row is
#'   a vector (`predictions` of a regressor with one response, `logits` and `logistic` of a binary classifier), any
#'   other a list of vectors (`probabilities`, which have the names of the classes). `class_ids` are integers from 0.
#'   `classes` are strings, or numbers if a tabular model learned numbers. Data in memory without rows gives the same
#'   columns without rows. A Spark DataFrame gives a Spark DataFrame.
#' @section Errors:
#' * `tfdistribute_model_directory_error` if the model has not been trained.
#' * `tfdistribute_argument_error` if the model has none of `predict_keys`, or lacks the `type`.
#' * `tfdistribute_unsupported_error` if `interval` is given, and the training had no validation rows.
#' * `tfdistribute_model_error` if an output of a model function does not have one row per row of the input.
#' * `tfdistribute_input_error`, with a cluster, if the order of the rows is not known.
#' * `tfdistribute_cluster_error` if this process is already a task of a cluster.
#' * `tfdistribute_backend_error` if executors of Spark lack TensorFlow.
#' * The errors of [train()] and, with a cluster, of [launch()].
#' @references <https://www.tensorflow.org/api_docs/python/tf/estimator/Estimator#predict>. Lei, G'Sell, Rinaldo,
#'   Tibshirani and Wasserman (2018), Distribution-Free Predictive Inference for Regression,
#'   <https://doi.org/10.1080/01621459.2017.1307116>
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(column_numeric("wt", "hp")))
#' train(model, mpg ~ wt + hp, data = mtcars, epochs = 10)
#' predict(model, newdata = head(mtcars))
#' predict(model, newdata = head(mtcars), type = "response")
#' \donttest{
#' predict(model, newdata = mtcars, cluster = local_cluster(workers = 2))
#' }
#' @importFrom stats predict
#' @export
predict.tfdistribute_estimator <- function(
  object,
  input_fn,
  checkpoint_path = NULL,
  predict_keys = c(
    "predictions",
    "classes",
    "class_ids",
    "logistic",
    "logits",
    "probabilities"
  ),
  hooks = NULL,
  as_iterable = FALSE,
  simplify = TRUE,
  yield_single_examples = TRUE,
  newdata = NULL,
  cluster = NULL,
  type = NULL,
  interval = NULL,
  ...
) {
  rows <- data_by_position() %||% newdata
  if (missing(input_fn) && !is.null(newdata)) {
    input_fn <- newdata
  }
  check_call(
    ...,
    .remedies = list(input_fn = "Give `newdata`, or an input that input_fn() makes."),
    .also = if (!missing(input_fn) && !is_spark_table(input_fn)) row_arguments(input_fn)
  )
  as_iterable <- check_flag(as_iterable)
  simplify <- check_flag(simplify)
  # The default names the outputs of canned models, and models with other outputs must not fail because of it.
  keys <- if (!missing(predict_keys)) predict_keys
  if (is_spark_table(input_fn)) {
    iterable <- if (as_iterable) TRUE
    check_not_in_spark(
      hooks = hooks,
      as_iterable = iterable,
      cluster = cluster,
      type = type,
      interval = interval
    )
    return(predict_in_spark(object, input_fn, checkpoint_path, keys))
  }
  if (!is.null(interval)) {
    check_share(interval)
    check_left_out(type = type, .with = "`interval`, whose form is its own", .or = "`interval`")
    # Before the rows are predicted.
    interval_matrix(object, double(), interval)
    type <- "response"
  }
  asked <- asked_outputs(keys, type, object, as_iterable)
  arguments <- list(
    input_fn = input_of_verb(input_fn, object, "predict", ..., rows = rows),
    checkpoint_path = check_string(checkpoint_path, null = TRUE),
    hooks = check_hooks(hooks),
    predict_keys = asked,
    hidden_keys = if (is.null(asked)) hidden_outputs
  )
  answer <- perform_prediction(object, arguments, cluster, as_iterable)
  # Read only if there are classes.
  delayedAssign("classes", classes_of_model(object$model_dir))
  if (as_iterable) {
    return(next_prediction(answer, check_flag(yield_single_examples), classes))
  }
  if (!is.null(type)) {
    typed <- typed_predictions(prediction_tibble(answer), type, object, classes$names)
    return(if (is.null(interval)) typed else interval_matrix(object, typed, interval))
  }
  predictions <- prediction_tibble(answer, classes)
  if (simplify) predictions else rows_of(predictions)
}

# The names of the outputs that a call needs; NULL for those of the model.
asked_outputs <- function(predict_keys, type, object, as_iterable) {
  asked <- check_strings(predict_keys, null = TRUE)
  if (is.null(check_type(type, object))) {
    return(asked)
  }
  check_without_type(predict_keys = asked, as_iterable = if (as_iterable) TRUE)
  prediction_types(object)[[type]]
}

perform_prediction <- function(object, arguments, cluster, as_iterable) {
  starts <- !is.null(cluster) && !isTRUE(source_of(arguments$input_fn)$rows == 0)
  if (starts) {
    check_not_iterable(as_iterable)
    object <- with_readers(object, cluster)
  }
  work <- new_work(object, "predict", c(arguments, by_batch = if (as_iterable) TRUE))
  # The user's loop calls a function that returns batches.
  show <- !as_iterable && shows_progress(arguments$hooks)
  perform_verb(work, starts = starts, show = show)
}

check_not_iterable <- function(as_iterable) {
  if (as_iterable) {
    abort_tfdistribute(
      "argument",
      problem = "`as_iterable` is TRUE, but workers of a `cluster` return all predictions together.",
      remedy = "Leave `as_iterable` FALSE, or `cluster` NULL.",
      value = "TRUE"
    )
  }
}

check_not_in_spark <- function(...) {
  check_left_out(..., .with = "data in Spark, whose executors predict", .or = "collect the rows")
}

check_without_type <- function(...) {
  check_left_out(..., .with = "`type`, which chooses the output", .or = "`type`")
}

check_left_out <- function(..., .with, .or) {
  argument <- names(Filter(Negate(is.null), list(...)))
  if (length(argument) > 0) {
    abort_tfdistribute(
      "argument",
      problem = "`{argument[[1]]}` cannot be used with {(.with)}.",
      remedy = "Leave out `{argument[[1]]}`, or {(.or)}.",
      argument = argument[[1]]
    )
  }
}

# A table of Spark, which its executors compute when it is read.
predict_in_spark <- function(object, data, checkpoint_path, predict_keys) {
  predict_keys <- check_strings(predict_keys, null = TRUE)
  predicted <- call_backend(
    "predict_spark",
    estimator = object,
    table = spark_table(data),
    checkpoint_path = check_string(checkpoint_path, null = TRUE),
    predict_keys = predict_keys,
    hidden_keys = if (is.null(predict_keys)) hidden_outputs
  )
  if (is_python_object(data)) {
    return(predicted)
  }
  name <- basename(tempfile("tfdistribute_"))
  call_backend("spark_view", table = predicted, name = name)
  dplyr::tbl(sparklyr::spark_connection(data), name)
}

# Outputs with the same vector in every row, which are returned only if they are named, as in tfestimators.
hidden_outputs <- c("all_classes", "all_class_ids")

# The names of the classes, and whether they are numbers, as in the response of a tabular model.
classes_of_model <- function(model_dir) {
  facts <- call_backend("learned", model_dir = model_dir)
  list(names = facts$classes, are_numbers = facts$learned$has_numbers_as_classes)
}

# The columns of tfestimators first, in its order, then other outputs of the model.
prediction_tibble <- function(columns, classes = NULL) {
  first <- c("predictions", "classes", "class_ids", "logistic", "logits", "probabilities")
  names <- c(intersect(first, names(columns)), setdiff(names(columns), first))
  predictions <- tibble::as_tibble(lapply(columns[names], prediction_column))
  probabilities <- predictions[["probabilities"]]
  if (is.list(probabilities) && lengths(probabilities[1]) == length(classes$names)) {
    predictions$probabilities <- lapply(probabilities, `names<-`, classes$names)
  }
  if (is.character(predictions[["classes"]]) && isTRUE(classes$are_numbers)) {
    predictions$classes <- utils::type.convert(predictions$classes, as.is = TRUE)
  }
  predictions
}

# An array [rows, ...] as one column, which is a vector if a row has one value, and otherwise a list.
prediction_column <- function(x) {
  rows <- if (is.null(dim(x))) length(x) else dim(x)[[1]]
  if (prod(dim(x)[-1]) == 1) {
    return(as.vector(x))
  }
  # A factor without labels, because split() neither sorts its rows nor names them.
  row <- structure(seq_len(rows), levels = character(rows), class = "factor")
  values <- unname(split(as.vector(x), row))
  per_row <- dim(x)[-1]
  if (length(per_row) > 1) lapply(values, array, per_row) else values
}

rows_of <- function(predictions) {
  lapply(seq_len(nrow(predictions)), function(row) {
    lapply(predictions, function(column) column[[row]])
  })
}

next_prediction <- function(batches, single, classes) {
  pending <- new.env(parent = emptyenv())
  pending$rows <- tibble::tibble()
  function() {
    if (nrow(pending$rows) == 0) {
      columns <- call_backend("next_batch", batches = batches)
      if (is.null(columns)) {
        return(NULL)
      }
      pending$rows <- prediction_tibble(columns, classes)
      if (nrow(pending$rows) == 0) {
        return(NULL)
      }
    }
    taken <- if (single) 1L else nrow(pending$rows)
    given <- pending$rows[seq_len(taken), ]
    pending$rows <- pending$rows[-seq_len(taken), ]
    given
  }
}
