# Predictions in the forms that R's own models have.

# What a type reads from a model whose outputs are responses, quantiles or classes.
outputs_of_types <- list(
  response = c(response = "predictions", link = "predictions"),
  quantile = c(quantile = "predictions"),
  class = c(response = "probabilities", class = "classes", prob = "probabilities", link = "logits")
)

kind_of_outputs <- function(object) {
  kinds <- c(regressor = "response", classifier = "class")
  if (is.null(object$quantiles)) kinds[sub(".*_", "", object$kind)] else "quantile"
}

# Types with their outputs. Empty for models that are not canned.
prediction_types <- function(object) outputs_of_types[[kind_of_outputs(object)]]

check_type <- function(type, object) {
  types <- names(prediction_types(object))
  if (is.null(type) || (rlang::is_string(type) && type %in% types)) {
    return(type)
  }
  abort_tfdistribute(
    "argument",
    problem = if (is.null(types)) {
      "`type` is for canned models, and `object` is of the kind \"{object$kind}\"."
    } else {
      "`type` of a {object$kind} must be {cli::qty(length(types))}{?/one of }{quoted(types)}, not {show_value(type)}."
    },
    remedy = "Leave it out for a column with each output.",
    value = show_value(type)
  )
}

# The tibble of predictions as a type of its model, whose `classes` are names.
typed_predictions <- function(predictions, type, object, classes) {
  values <- predictions[[prediction_types(object)[[type]]]]
  count <- object$label_dimension %||% 1
  kind <- kind_of_outputs(object)
  names <- switch(
    kind,
    quantile = as.character(object$quantiles),
    class = classes,
    response = if (count > 1) output_names(count, object, NULL)
  )
  if (is.list(values) || type == "quantile") {
    dimnames <- if (!is.null(names)) list(NULL, names)
    columns <- max(count, length(names))
    values <- matrix(as.double(unlist(values)), ncol = columns, byrow = TRUE, dimnames = dimnames)
  }
  switch(
    type,
    class = factor(as.character(values), names),
    prob = tibble::as_tibble(values, .name_repair = "minimal"),
    link = if (identical(object$loss, "poisson")) log(values) else values,
    response = if (kind == "class" && length(names) == 2) unname(values[, 2]) else values,
    values
  )
}

# Intervals ---------------------------------------------------------------------------------------

sizes_of_residuals <- function(object) {
  facts <- call_backend("learned", model_dir = object$model_dir)
  as.double(unlist(facts$learned$validation$residuals))
}

# Predictions and the bounds of their intervals, in the form of predict.lm(). A new residual exceeds the size at k of n
# with the probability 1 - k / (n + 1).
interval_matrix <- function(object, fitted, level, sizes = sizes_of_residuals(object)) {
  place <- ceiling((length(sizes) + 1) * level - 1e-9)
  if (place > length(sizes)) {
    problem <- c(
      "Intervals of the level {level} need residuals of {ceiling(level / (1 - level) - 1e-9)} validation rows, ",
      "and this {object$kind} has {length(sizes)}."
    )
    abort_no_intervals(object, interpolate(problem), "interval", show_value(level))
  }
  is_count <- identical(object$loss, "poisson")
  width <- sizes[[place]] * if (is_count) sqrt(fitted) else 1
  lower <- if (is_count) pmax(fitted - width, 0) else fitted - width
  cbind(fit = fitted, lwr = lower, upr = fitted + width)
}

abort_no_intervals <- function(object, problem, argument = "object", value = NULL) {
  abort_tfdistribute(
    "unsupported",
    problem = problem,
    remedy = switch(
      kind_of_outputs(object),
      class = "Use predict(type = \"prob\") for probabilities of classes.",
      quantile = "Use predict(type = \"quantile\").",
      "Train a tabular_regressor() without `epochs` on more rows, or use its `quantiles`."
    ),
    argument = argument,
    value = value
  )
}
