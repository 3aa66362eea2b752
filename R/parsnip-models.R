# The models of the engine.

engine_optimizer <- function(learn_rate, penalty, decay_steps) {
  rate <- learn_rate %||% if (is.null(decay_steps)) 0.01 else 0.05
  if (!is.null(decay_steps)) {
    rate <- list("cosine_decay", initial_learning_rate = rate, decay_steps = decay_steps)
  }
  list("adam", learning_rate = rate, l2_penalty = penalty)
}

engine_model <- function(
  x,
  levels,
  hidden_units,
  dropout,
  activation,
  optimizer,
  model_dir,
  config
) {
  columns <- lapply(names(x), function(name) {
    values <- x[[name]]
    if (is_sparse(values)) {
      return(column_of_sparse(values, name))
    }
    column <- describe_column(values, name, "labels", is_response = FALSE)
    column_for(column, values, standardize = TRUE)
  })
  common <- list(
    feature_columns = new_feature_columns(columns),
    optimizer = optimizer,
    model_dir = model_dir,
    config = config
  )
  classes <- if (!is.null(levels)) list(n_classes = length(levels), label_vocabulary = levels)
  layers <- if (!is.null(hidden_units)) {
    list(hidden_units = hidden_units, activation_fn = activation, dropout = dropout)
  }
  make <- if (is.null(layers)) {
    if (is.null(classes)) linear_regressor else linear_classifier
  } else {
    if (is.null(classes)) dnn_regressor else dnn_classifier
  }
  do.call(make, c(common, classes, layers))
}

# Arguments that are NULL have the defaults of the model.
tabular_engine_model <- function(levels, ...) {
  make <- if (is.null(levels)) tabular_regressor else tabular_classifier
  do.call(make, Filter(Negate(is.null), list(...)))
}

# Check that arguments of other models are missing.
check_without_settings <- function(...) {
  given <- names(Filter(isFALSE, list(...)))
  rlang::inject(check_left_out(
    !!!rlang::set_names(given, given),
    .with = "a tabular model, which chooses its end and its layers itself",
    .or = "`tabular`"
  ))
}
