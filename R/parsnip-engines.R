# Registration of the engine with parsnip, when that package is loaded.

# Modes of the models that have the engine, and their arguments by parsnip's names, which tfdistribute_fit() shares.
parsnip_modes <- list(
  mlp = c("regression", "classification"),
  linear_reg = "regression",
  logistic_reg = "classification",
  multinom_reg = "classification"
)
parsnip_arguments <- list(
  mlp = c("hidden_units", "penalty", "dropout", "epochs", "activation", "learn_rate"),
  linear_reg = "penalty",
  logistic_reg = "penalty",
  multinom_reg = "penalty"
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
        func = list(pkg = "dials", fun = argument),
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
      func = c(pkg = engine, fun = if (model == "mlp") "tfdistribute_mlp" else "tfdistribute_fit"),
      # parsnip adds defaults to arguments of the model, instead of replacing them. The functions define the defaults.
      defaults = list()
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
      allow_sparse_x = FALSE
    )
  )
  for (type in if (mode == "regression") "numeric" else c("class", "prob")) {
    parsnip::set_pred(
      model = model,
      mode = mode,
      eng = engine,
      type = type,
      value = list(
        pre = NULL,
        post = NULL,
        func = c(fun = "predict"),
        args = list(object = quote(object$fit), new_data = quote(new_data), type = type)
      )
    )
  }
}
