# Registration of the engine with parsnip, when that package is loaded.

# Modes of the models that have the engine, and their arguments by parsnip's names, which tfdistribute_fit() shares:
# class_weights, validation and stop_iter belong to set_engine().
parsnip_modes <- list(
  mlp = c("regression", "classification", "quantile regression"),
  linear_reg = "regression",
  logistic_reg = "classification",
  multinom_reg = "classification",
  boost_tree = c("regression", "classification")
)
parsnip_functions <- c(
  mlp = "tfdistribute_mlp",
  linear_reg = "tfdistribute_fit",
  logistic_reg = "tfdistribute_fit",
  multinom_reg = "tfdistribute_fit",
  boost_tree = "tfdistribute_trees"
)
parsnip_early_stop <- c("validation", "stop_iter")
parsnip_arguments <- list(
  mlp = c(
    c("hidden_units", "penalty", "dropout", "epochs", "activation", "learn_rate", "class_weights"),
    parsnip_early_stop
  ),
  linear_reg = c("penalty", parsnip_early_stop),
  logistic_reg = c("penalty", "class_weights", parsnip_early_stop),
  multinom_reg = c("penalty", "class_weights", parsnip_early_stop),
  boost_tree = c("trees", "tree_depth", "learn_rate", "min_n", "class_weights", "validation")
)

register_parsnip_engines <- function() {
  for (model in names(parsnip_modes)) {
    for (mode in parsnip_modes[[model]]) {
      register_parsnip_mode(model, mode)
    }
    for (argument in parsnip_arguments[[model]]) {
      parsnip::set_model_arg(
        model = model,
        eng = "tfdistribute",
        parsnip = argument,
        original = argument,
        func = list(
          pkg = "dials",
          fun = if (argument == "validation") "validation_set_prop" else argument
        ),
        has_submodel = FALSE
      )
    }
  }
}

register_parsnip_mode <- function(model, mode) {
  engine <- "tfdistribute"
  parsnip::set_model_engine(model, mode, engine)
  parsnip::set_dependency(model, engine, pkg = engine, mode = mode)
  parsnip::set_fit(
    model = model,
    mode = mode,
    eng = engine,
    value = list(
      interface = "data.frame",
      protect = c("x", "y", "weights"),
      func = c(pkg = engine, fun = parsnip_functions[[model]]),
      # parsnip adds defaults to arguments of the model, instead of replacing them. The functions define the defaults.
      defaults = if (mode == "quantile regression") {
        list(quantile_levels = quote(quantile_levels))
      } else {
        list()
      }
    )
  )
  # Feature columns create the indicators of factors.
  parsnip::set_encoding(
    model = model,
    mode = mode,
    eng = engine,
    options = list(
      predictor_indicators = "none",
      compute_intercept = FALSE,
      remove_intercept = FALSE,
      allow_sparse_x = !model %in% c("mlp", "boost_tree")
    )
  )
  types <- list(classification = c("class", "prob"), `quantile regression` = "quantile")
  for (type in types[[mode]] %||% "numeric") {
    parsnip::set_pred(
      model = model,
      mode = mode,
      eng = engine,
      type = type,
      value = list(
        pre = NULL,
        post = if (type == "quantile") as_quantiles,
        func = c(fun = "predict"),
        args = list(object = quote(object$fit), new_data = quote(new_data), type = type)
      )
    )
  }
}

# A named function, because parsnip compares it when the engine is registered again.
as_quantiles <- function(x, object) {
  hardhat::quantile_pred(x, object$spec$quantile_levels)
}
