# What a trained model learned, as lines of print() and summary().

# NULL without a training in a directory of this machine. Printing a new model must not start Python, and printing is no
# place for Python's errors.
facts_of_trained <- function(model_dir) {
  if (!is_remote_path(model_dir) && file.exists(file.path(model_dir, "tfdistribute-model.json"))) {
    tryCatch(
      call_backend("trained_facts", model_dir = model_dir),
      tfdistribute_error = function(error) NULL
    )
  }
}

# Texts by their labels; empty without a training.
describe_training <- function(object, facts) {
  if (!isTRUE(facts$step > 0)) {
    return(list())
  }
  kinds <- unlist(facts$kinds)
  counts <- table(factor(kinds, unique(kinds)))
  values <- if (length(facts$classes) > 0) {
    positive <- if (length(facts$classes) == 2) paste0(" (positive: ", facts$classes[[2]], ")")
    paste0(toString(first_of(facts$classes, 10)), positive)
  } else {
    paste(format_number(unlist(facts$range)), collapse = " to ")
  }
  learned <- facts$learned
  seconds <- seconds_of(facts)
  texts <- list(
    `learned from` = c(
      if (!is.null(facts$rows)) paste(format_count(facts$rows), "rows,"),
      if (length(kinds) > 0) several(length(kinds), "column"),
      if (length(kinds) > 0) paste0("(", toString(paste(counts, "of", names(counts))), ")")
    ),
    response = c(if (rlang::is_string(facts$response)) facts$response, values[nzchar(values)]),
    chosen = chosen_part(object, learned),
    scores = describe_scores(object, learned),
    trained = c(
      paste(format_count(facts$step), if (is_trees(object)) "trees" else "steps"),
      if (is_tabular(object)) paste("of", learned$batch_size, "rows"),
      if (!is.null(seconds)) paste("in", format(signif(seconds, 2)), "seconds,"),
      if (!is.null(facts$began)) format(time_of(facts$began), "begun %Y-%m-%d %H:%M")
    )
  )
  texts$response <- paste(texts$response, collapse = ": ")
  Filter(nzchar, lapply(texts, paste, collapse = " "))
}

# The parts of a tabular model, their weights, and the reason.
chosen_part <- function(object, learned) {
  rows <- learned$validation$rows
  if (!is.null(rows)) {
    networks <- object$ensemble %||% learned$ensemble
    networks <- if (networks > 1) paste(networks, "networks with ")
    texts <- c(
      linear = "linear model",
      layers = paste0(networks, "layers of ", toString(object$hidden_units), " units"),
      trees = paste(learned$trees$roots[[1]], "iterations of trees")
    )
    weights <- unlist(learned$weights)
    shares <- if (length(weights) > 1) paste0(" (weight ", signif(weights, 2), ")")
    parts <- paste0(texts[names(weights)], shares, collapse = " and ")
    paste0(parts, ": the least loss on ", format_count(rows), " validation rows")
  }
}

# Losses of the model, each part and a constant on the validation rows; NULL without these rows.
scores_of <- function(object, learned) {
  found <- learned$validation
  if (!is.null(found)) {
    losses <- c(model = found$loss, unlist(found$losses), constant = found$constant_loss)
    loss_of(object)$in_unit(losses)
  }
}

describe_scores <- function(object, learned) {
  scores <- scores_of(object, learned)
  if (!is.null(scores)) {
    loss <- loss_of(object)
    labels <- c(linear = "linear model", constant = loss$constant, rlang::set_names(names(scores)))
    shown <- paste(labels[names(scores)], format_number(scores))
    paste0(loss$name, " ", format_number(scores[[1]]), " (", toString(shown[-1]), ")")
  }
}

# The loss of a canned model, the constant prediction to compare it with, and its unit.
loss_of <- function(object) {
  loss <- function(key, name, constant, in_unit = identity) as.list(environment())
  if (endsWith(object$kind, "_classifier")) {
    loss("log_loss", "log loss", "shares of the classes")
  } else if (!is.null(object$quantiles)) {
    loss("quantile", "quantile loss", "quantiles")
  } else if (identical(object$loss, "poisson")) {
    loss("poisson", "Poisson loss", "mean")
  } else {
    loss("squared_error", "root mean squared error", "mean", in_unit = sqrt)
  }
}

# Of the choice, and of the steps after the first.
seconds_of <- function(facts) {
  seconds <- c(facts$seconds, facts$learned$validation$seconds)
  if (length(seconds) > 0) sum(seconds)
}

time_of <- function(seconds) {
  if (!is.null(seconds)) as.POSIXct(seconds, origin = "1970-01-01")
}
