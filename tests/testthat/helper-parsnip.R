# parsnip, or where it is not installed, a stand-in: its functions for registration, with the checks that they make of
# what is registered, and the way in which it makes the calls of an engine from the tables.
local_parsnip <- function(frame = parent.frame()) {
  code <- c(
    "models <- new.env()",
    "both <- c('regression', 'classification')",
    "models$mlp$modes <- c(both, 'quantile regression')",
    "models$boost_tree$modes <- both",
    "models$linear_reg$modes <- 'regression'",
    "models$logistic_reg$modes <- models$multinom_reg$modes <- 'classification'",
    "known <- function(model, mode, eng) {",
    "  stopifnot(mode %in% models[[model]]$modes, paste(mode, eng) %in% models[[model]]$engines)",
    "}",
    "keep <- function(model, part, name, value) {",
    "  old <- models[[model]][[part]][[name]]",
    # parsnip refuses other information about what is registered.
    "  stopifnot(is.null(old) || identical(old, value))",
    "  models[[model]][[part]][[name]] <- value",
    "}",
    "set_model_engine <- function(model, mode, eng) {",
    "  stopifnot(mode %in% models[[model]]$modes)",
    "  models[[model]]$engines <- union(models[[model]]$engines, paste(mode, eng))",
    "}",
    "set_dependency <- function(model, eng, pkg = 'parsnip', mode = NULL) {",
    "  known(model, mode, eng)",
    "  keep(model, 'packages', paste(mode, eng), pkg)",
    "}",
    "set_model_arg <- function(model, eng, parsnip, original, func, has_submodel) {",
    "  stopifnot(is.list(func), all(c('pkg', 'fun') %in% names(func)), is.logical(has_submodel))",
    "  keep(model, 'arguments', parsnip, list(original = original, func = func))",
    "}",
    "set_fit <- function(model, mode, eng, value) {",
    "  known(model, mode, eng)",
    "  stopifnot(setequal(names(value), c('interface', 'protect', 'func', 'defaults')))",
    "  stopifnot(value$interface %in% c('data.frame', 'formula', 'matrix'), is.list(value$defaults))",
    "  stopifnot(is.character(value$func), setequal(names(value$func), c('pkg', 'fun')))",
    "  keep(model, 'fit', paste(mode, eng), value)",
    "}",
    "set_encoding <- function(model, mode, eng, options) {",
    "  fields <- c('predictor_indicators', 'compute_intercept', 'remove_intercept', 'allow_sparse_x')",
    "  stopifnot(setequal(names(options), fields))",
    "  keep(model, 'encoding', paste(mode, eng), options)",
    "}",
    "set_pred <- function(model, mode, eng, type, value) {",
    "  known(model, mode, eng)",
    "  stopifnot(type %in% c('numeric', 'class', 'prob', 'raw', 'quantile'))",
    "  stopifnot(setequal(names(value), c('pre', 'post', 'func', 'args')), is.list(value$args))",
    "  keep(model, 'pred', paste(mode, eng, type), value)",
    "}",
    "get_from_env <- function(items) models[[items]]",
    # What translate() and fit_xy() do: arguments of the model that are NULL are left out, the others get the engine's
    # names, and defaults are added to them, apart from those that set_engine() was given. parsnip does not compare
    # defaults with the arguments of the model.
    "fit_call <- function(model, mode, args, eng_args, weights = NULL) {",
    "  method <- models[[model]]$fit[[paste(mode, 'tfdistribute')]]",
    "  args <- Filter(Negate(is.null), args)",
    "  names(args) <- vapply(names(args), function(name) models[[model]]$arguments[[name]]$original, '')",
    "  stopifnot(!any(names(eng_args) %in% method$protect))",
    "  defaults <- method$defaults[!names(method$defaults) %in% names(eng_args)]",
    "  data <- list(x = quote(as.data.frame(x)), y = quote(y))",
    "  if (!is.null(weights)) data$weights <- quote(weights)",
    "  given <- Filter(Negate(is.null), c(data[method$protect], args, eng_args, defaults))",
    "  rlang::call2(method$func[['fun']], !!!given, .ns = method$func[['pkg']])",
    "}"
  )
  local_package("parsnip", code, frame = frame)
  loadNamespace("parsnip")
}

# The specification of a model of the real parsnip.
engine_spec <- function(model, mode, args = list(), eng_args = list()) {
  of_engine <- names(args) %in% c("class_weights", parsnip_early_stop)
  eng_args <- c(args[of_engine], eng_args)
  args <- args[!of_engine]
  spec <- rlang::exec(getExportedValue("parsnip", model), mode = mode, !!!args)
  rlang::exec(parsnip::set_engine, spec, "tfdistribute", !!!eng_args)
}

# What is registered for a model: the names of modes with the engine, its arguments under parsnip's names, the
# arguments of its function, its packages, and its kinds of predictions.
registered_engine <- function(model) {
  if (is_real("parsnip")) {
    rows <- function(part) {
      table <- parsnip::get_from_env(paste0(model, part))
      table[table$engine == "tfdistribute", ]
    }
    return(list(
      engines = paste(rows("")$mode, "tfdistribute"),
      fit = paste(rows("_fit")$mode, "tfdistribute"),
      encoding = paste(rows("_encoding")$mode, "tfdistribute"),
      arguments = rows("_args")$parsnip,
      originals = rows("_args")$original,
      packages = unlist(rows("_pkgs")$pkg),
      predictions = paste(rows("_predict")$mode, "tfdistribute", rows("_predict")$type)
    ))
  }
  known <- parsnip::get_from_env(model)
  list(
    engines = known$engines,
    fit = names(known$fit),
    encoding = names(known$encoding),
    arguments = names(known$arguments),
    originals = vapply(known$arguments, function(argument) argument$original, ""),
    packages = unlist(known$packages),
    predictions = names(known$pred)
  )
}

# The call of the engine's function that parsnip would make.
engine_call <- function(model, mode, args) {
  if (is_real("parsnip")) {
    method <- parsnip::translate(engine_spec(model, mode, args))$method$fit
    given <- lapply(method$args, function(x) if (rlang::is_quosure(x)) rlang::eval_tidy(x) else x)
    given[c("x", "y")] <- list(quote(x), quote(y))
    given$weights <- NULL
    return(rlang::call2(method$func[["fun"]], !!!given, .ns = method$func[["pkg"]]))
  }
  parsnip::fit_call(model, mode, args, list())
}

fit_engine <- function(model, mode, args, eng_args, x, y, weights = NULL) {
  if (is_real("parsnip")) {
    weights <- if (!is.null(weights)) parsnip::importance_weights(weights)
    return(parsnip::fit_xy(engine_spec(model, mode, args, eng_args), x, y, case_weights = weights))
  }
  call <- parsnip::fit_call(model, mode, args, eng_args, weights)
  fitted_engine(model, mode, rlang::eval_tidy(call, env = environment()), levels(y))
}

# What parsnip keeps of a fit.
fitted_engine <- function(model, mode, fit, levels = NULL) {
  parts <- list(lvl = levels, fit = fit, model = model, mode = mode)
  if (is_real("parsnip")) {
    parts$spec <- parsnip::translate(engine_spec(model, mode))
  }
  structure(parts, class = c(paste0("_", class(fit)[[1]]), "model_fit"))
}

# Numbers, a factor, or a data frame with a column for each level.
predict_engine <- function(object, new_data, type) {
  if (is_real("parsnip")) {
    predicted <- stats::predict(object, new_data, type = type)
    names(predicted) <- sub("^[.]pred_?", "", names(predicted))
    return(if (type == "prob") predicted else predicted[[1]])
  }
  value <- parsnip::get_from_env(object$model)$pred[[paste(object$mode, "tfdistribute", type)]]
  rlang::eval_tidy(rlang::call2(value$func[["fun"]], !!!value$args))
}
