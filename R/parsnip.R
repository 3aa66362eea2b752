# The engine "tfdistribute" of parsnip, which fits and predicts with plain data frames.

#' Fit a model to predictors and an outcome
#'
#' These functions implement `parsnip::set_engine("tfdistribute")`: `tfdistribute_mlp()` for `mlp()`,
#' `tfdistribute_trees()` for `boost_tree()`, and `tfdistribute_fit()` for `linear_reg()`, `logistic_reg()` and
#' `multinom_reg()`. They create the feature columns, train, and keep the trained model in the result, so that it
#' survives `saveRDS()`, other sessions and other machines. The engine is registered when parsnip is loaded.
#'
#' @param x Predictors: a data frame, or a matrix with column names. Numbers are standardized with their own mean and
#'   standard deviation. A linear model also takes a sparse matrix of the package Matrix, or sparse columns as in
#'   sparsevctrs, and standardizes neither. Factors and strings become indicators of all their labels, so dummy
#'   variables are not needed. For `predict()`, a label that was not in the training data is missing, with a warning.
#' @param y Outcome: numbers for regression (standardized while training), or a factor for classification.
#' @param weights A weight for each row, numbers. Rows of weight 0 are left out. NULL for equal weights.
#' @param hidden_units Units of the hidden layers, counts. `tfdistribute_mlp()` has one layer of 5 units by default,
#'   like parsnip's other engines for `mlp()`, and three layers of 128 units with `tabular`. NULL (default of
#'   `tfdistribute_fit()`) for a linear model.
#' @param epochs Passes over the data, a count. NULL (default) uses at least 20 epochs, and enough epochs for 2000 steps
#'   in a linear model and 500 steps in other models.
#' @param dropout Share of units that are dropped while training, a number below 1, or NULL.
#' @param activation Activation function of the hidden layers, as in [dnn_regressor()].
#' @param learn_rate A number that sets the learning rate of Adam. NULL uses 0.05 in a linear model, which falls to 0
#'   at the end, and 0.01 in other models. For trees, the factor of each tree.
#' @param penalty Factor of the sum of the squared weights, which is added to the loss, a number. Intercepts and biases
#'   are not penalized.
#' @param class_weights Weights of the classes, numbers with the names of the levels or in their order. One number is
#'   the weight of the rarest class, and the others have 1. They multiply `weights`. NULL for equal weights.
#' @param validation Share of the rows that is set apart, a number below 1. Training ends if the loss on these rows does
#'   not improve for `stop_iter` epochs, and the best weights are kept. 0 trains all epochs on all rows.
#' @param stop_iter Epochs without an improvement of the loss on the validation rows, a count.
#' @param quantile_levels Quantiles in place of the mean, for the mode "quantile regression" of `mlp()`; or NULL. The
#'   model is then `tabular`.
#' @param tabular TRUE trains a [tabular_regressor()] or [tabular_classifier()], which accepts missing values. Without
#'   `epochs`, its `validation` rows (a share of 0.2 unless you give it) choose the end. It has no `penalty`,
#'   `activation` and `stop_iter`.
#' @param trees,tree_depth,min_n,splits `n_trees`, `max_depth`, `min_node_weight` and `splits` of
#'   [boosted_trees_regressor()], which accepts missing values. Its `validation` rows choose how many trees are kept.
#' @param batch_size Global batch: rows of one training step over all devices and workers, a count. NULL uses 128 rows,
#'   or all rows if there are fewer, and the batch of a tabular model with `tabular`.
#' @param strategy,cluster Devices and processes that train: a strategy such as [strategy_mirrored()], and a cluster
#'   such as [local_cluster()], or NULL. See [run_config()].
#' @param model_dir Directory in which every fit creates its own directory, for TensorBoard. NULL keeps no directory.
#' @param seed Seed of the initial weights and of the order of the rows, a whole number. The default depends on
#'   `set.seed()`.
#' @param ... Must be empty. `tfdistribute_mlp()` accepts the other arguments of `tfdistribute_fit()`.
#' @returns An object of class `tfdistribute_fit`, a list with the bytes of the [saved model][save_estimator], `levels`,
#'   `center` and `scale` of the outcome, `quantile_levels`, the `predictors`, and the `history` as a data frame.
#'   `predict(object, new_data, type)` returns numbers (`"numeric"`), a factor (`"class"`), a tibble with a column per
#'   level (`"prob"`), or a matrix with a column per quantile (`"quantile"`). `bundle::bundle()` is not needed.
#' @section Comparison with lm():
#' `linear_reg()` minimizes the same squared error as [lm()], but with stochastic gradient descent. On well-conditioned
#' data, its error is within one percent of the least-squares solution. Predictors that are nearly collinear require
#' more `epochs`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_input_error` if a value is missing. `recipes::step_impute_median()` and other steps replace values.
#' * The errors of [train()].
#' @references <https://www.tidymodels.org/learn/develop/models/>
#' @seealso `vignette("tidymodels")`
#' @examplesIf tfdistribute_available()
#' fitted <- tfdistribute_fit(mtcars[c("wt", "hp")], mtcars$mpg)
#' predict(fitted, head(mtcars))
#' @export
tfdistribute_fit <- function(
  x,
  y,
  weights = NULL,
  hidden_units = NULL,
  epochs = NULL,
  dropout = NULL,
  activation = "relu",
  learn_rate = NULL,
  penalty = 0,
  class_weights = NULL,
  validation = 0,
  stop_iter = 5L,
  quantile_levels = NULL,
  tabular = FALSE,
  batch_size = NULL,
  strategy = NULL,
  cluster = NULL,
  model_dir = NULL,
  seed = sample.int(1e6, 1),
  ...
) {
  check_call(...)
  x <- check_predictors(x)
  tabular <- check_flag(tabular) || !is.null(quantile_levels)
  if (tabular) {
    check_without_settings(
      penalty = missing(penalty),
      activation = missing(activation),
      stop_iter = missing(stop_iter)
    )
    hidden_units <- hidden_units %||% c(128L, 128L, 128L)
  } else {
    check_complete(x)
  }
  y <- check_outcome(y, nrow(x))
  weights <- with_class_weights(check_row_weights(weights, nrow(x)), class_weights, y)
  counts <- which(rep_len(weights %||% 1, nrow(x)) > 0)
  x <- x[counts, , drop = FALSE]
  y <- y[counts]
  weights <- weights[counts]
  of_tables <- schema$estimator$tabular_regressor
  validation <- check_field(validation, of_tables$validation, "validation")
  if (validation >= 1) {
    abort_argument(validation, of_tables$validation$expected)
  }
  quantile_levels <- check_field(quantile_levels, of_tables$quantiles, "quantile_levels")
  wanted_epochs <- check_count(epochs, null = TRUE)
  deep <- schema$estimator$dnn_regressor
  if (!is.null(hidden_units)) {
    refuse_sparse(if (!is.null(x[[sparse_name]])) "x", "a model with `hidden_units`")
    hidden_units <- check_field(hidden_units, deep$hidden_units, "hidden_units")
  }
  learn_rate <- check_number(learn_rate, minimum = 0, null = TRUE)
  dropout <- check_field(dropout, deep$dropout, "dropout")
  activation <- check_field(activation, deep$activation_fn, "activation")
  trained <- nrow(x) - round(nrow(x) * validation)
  wanted_batch <- check_count(batch_size, null = TRUE)
  batch_size <- wanted_batch %||% min(128L, trained)
  steps_per_epoch <- ceiling(trained / batch_size)
  wanted_steps <- if (is.null(hidden_units)) 2000 else 500
  epochs <- wanted_epochs %||%
    max(20L, as.integer(ceiling(wanted_steps / steps_per_epoch)))
  # A tabular model scales its response itself.
  outcome <- if (tabular && !is.factor(y)) {
    list(values = y, center = 0, scale = 1)
  } else {
    outcome_values(y)
  }
  directory <- fit_directory(check_path(model_dir))
  if (is.null(model_dir)) {
    on.exit(unlink(directory, recursive = TRUE))
  }
  config <- run_config(
    check_strategy(strategy),
    cluster = check_cluster_argument(cluster, null = TRUE),
    seed = check_count(seed),
    save_checkpoints_steps = if (validation > 0) {
      steps_per_epoch * ceiling(epochs / most_evaluations)
    }
  )
  stop_iter <- check_count(stop_iter)
  model <- if (tabular) {
    tabular_engine_model(
      levels = outcome$levels,
      hidden_units = hidden_units,
      quantiles = quantile_levels,
      dropout = dropout,
      learning_rate = learn_rate,
      batch_size = wanted_batch,
      epochs = wanted_epochs,
      validation = if (validation > 0) validation,
      model_dir = directory,
      config = config
    )
  } else {
    engine_model(
      x,
      levels = outcome$levels,
      hidden_units = hidden_units,
      dropout = dropout,
      activation = activation,
      optimizer = engine_optimizer(
        learn_rate,
        check_number(penalty, minimum = 0),
        decay_steps = if (is.null(hidden_units)) steps_per_epoch * epochs
      ),
      model_dir = directory,
      config = config
    )
  }
  rows <- as.list(x)
  rows[[outcome_name]] <- outcome$values
  rows[[weights_name]] <- weights
  input <- function(rows, epochs) {
    impute <- if (tabular) keep_missing
    engine_input(rows, impute = impute, batch_size = batch_size, epochs = epochs)
  }
  history <- if (validation > 0 && !tabular) {
    patience <- stop_iter * steps_per_epoch
    train_with_validation(model, rows, nrow(x) - trained, input, steps_per_epoch * epochs, patience)
  } else {
    train(model, input(rows, epochs), view = FALSE)
  }
  new_fit(model, outcome, x, history, quantile_levels, tabular)
}

# A fit of an engine, which contains its trained model. `outcome` is from outcome_values(), and `incomplete` is whether
# the model reads missing values.
new_fit <- function(model, outcome, x, history, quantile_levels, incomplete) {
  structure(
    list(
      model = model_bytes(model),
      levels = outcome$levels,
      center = outcome$center,
      scale = outcome$scale,
      quantile_levels = quantile_levels,
      incomplete = incomplete,
      predictors = names(x),
      sparse = colnames(x[[sparse_name]]),
      history = as.data.frame(history)
    ),
    class = "tfdistribute_fit"
  )
}

#' @rdname tfdistribute_fit
#' @export
tfdistribute_trees <- function(
  x,
  y,
  weights = NULL,
  trees = 300,
  tree_depth = 6,
  learn_rate = 0.1,
  min_n = 5,
  class_weights = NULL,
  validation = 0.1,
  splits = c("axis", "oblique"),
  cluster = NULL,
  model_dir = NULL,
  seed = sample.int(1e6, 1),
  ...
) {
  check_call(...)
  x <- check_predictors(x)
  refuse_sparse(if (!is.null(x[[sparse_name]])) "x", "a model of trees")
  y <- check_outcome(y, nrow(x))
  weights <- with_class_weights(check_row_weights(weights, nrow(x)), class_weights, y)
  directory <- fit_directory(check_path(model_dir))
  if (is.null(model_dir)) {
    on.exit(unlink(directory, recursive = TRUE))
  }
  cluster <- check_cluster_argument(cluster, null = TRUE)
  fields <- schema$estimator$boosted_trees_regressor
  model <- (if (is.factor(y)) boosted_trees_classifier else boosted_trees_regressor)(
    n_trees = check_field(trees, fields$n_trees, "trees"),
    max_depth = check_field(tree_depth, fields$max_depth, "tree_depth"),
    learning_rate = check_field(learn_rate, fields$learning_rate, "learn_rate"),
    min_node_weight = check_field(min_n, fields$min_node_weight, "min_n"),
    validation = validation,
    splits = splits,
    model_dir = directory,
    config = run_config(cluster = cluster, seed = check_count(seed))
  )
  rows <- as.list(x)
  rows[[outcome_name]] <- y
  rows[[weights_name]] <- weights
  history <- train(model, engine_input(rows, impute = keep_missing), view = FALSE)
  outcome <- list(levels = levels(y), center = 0, scale = 1)
  new_fit(model, outcome, x, history, NULL, incomplete = TRUE)
}

#' @rdname tfdistribute_fit
#' @export
tfdistribute_mlp <- function(
  x,
  y,
  ...,
  hidden_units = NULL,
  quantile_levels = NULL,
  tabular = FALSE
) {
  tabular <- check_flag(tabular) || !is.null(quantile_levels)
  tfdistribute_fit(
    x,
    y,
    ...,
    hidden_units = if (tabular) hidden_units else hidden_units %||% 5L,
    quantile_levels = quantile_levels,
    tabular = tabular
  )
}

# An evaluation takes longer than an epoch of a small table.
most_evaluations <- 50

# Train until the loss on `held` rows has not improved for `patience` steps, and keep the best weights.
train_with_validation <- function(model, rows, held, input, steps, patience) {
  chosen <- sample.int(NROW(rows[[1]]), max(1, held))
  part <- function(of) {
    lapply(rows, function(x) if (is.null(dim(x))) x[of] else x[of, , drop = FALSE])
  }
  train_and_evaluate(
    model,
    train_spec(
      input(part(-chosen), NULL),
      max_steps = steps,
      hooks = hook_early_stopping(
        "loss",
        patience_steps = patience,
        data = "evaluation",
        restore_best_weights = TRUE
      )
    ),
    eval_spec(input(part(chosen), 1L), start_delay_secs = 0, throttle_secs = 0),
    view = FALSE
  )
}

# The input of rows with an outcome, and with weights if there are any.
engine_input <- function(rows, ...) {
  own <- c(outcome_name, weights_name)
  input_fn(
    rows,
    features = tidyselect::all_of(setdiff(names(rows), own)),
    response = tidyselect::all_of(outcome_name),
    weights = tidyselect::all_of(intersect(weights_name, names(rows))),
    ...
  )
}

outcome_name <- ".outcome"
weights_name <- ".weights"

# Fits in one directory would continue each other.
fit_directory <- function(parent) {
  if (is.null(parent)) {
    return(tempfile("tfdistribute-model-"))
  }
  # tempfile() rejects a long path with its own error.
  file.path(absolute_path(parent), basename(tempfile("fit-")))
}

#' @export
predict.tfdistribute_fit <- function(object, new_data, type = NULL, ...) {
  of_numbers <- if (is.null(object$quantile_levels)) "numeric" else "quantile"
  types <- if (is.null(object$levels)) of_numbers else c("class", "prob")
  type <- if (is.null(type)) types[[1]] else check_choice(type, types)
  new_data <- check_predictors(new_data, "new_data", object$sparse %||% character())
  if (!isTRUE(object$incomplete)) {
    check_complete(new_data[intersect(object$predictors, names(new_data))])
  }
  found <- stats::predict(
    restored_model(object),
    input_fn(
      as.list(new_data),
      features = tidyselect::all_of(object$predictors),
      impute = if (isTRUE(object$incomplete)) keep_missing
    ),
    type = if (type == "numeric") "response" else type
  )
  if (is.null(object$levels)) unname(found) * object$scale + object$center else found
}

# The model of a fit. The last model stays restored, because one fit often predicts several times, and tuning creates
# many fits.
restored_model <- function(object) {
  name <- rlang::hash(object$model)
  last <- the$restored_model
  if (identical(last$name, name) && dir.exists(last$model$model_dir)) {
    return(last$model)
  }
  model <- restore_bytes(object$model)
  unlink(last$model$model_dir, recursive = TRUE)
  the$restored_model <- list(name = name, model = model)
  model
}

#' @export
print.tfdistribute_fit <- function(x, ...) {
  last <- utils::tail(x$history[x$history$data == "training", ], 1)
  writeLines(c(
    paste0(
      "<tfdistribute_fit> ",
      if (is.null(x$levels)) "regression" else paste(length(x$levels), "classes")
    ),
    paste("  predictors:", toString(first_of(x$predictors))),
    paste0("  ", several(last$step, "step"), ", loss ", format_number(last$value))
  ))
  invisible(x)
}
