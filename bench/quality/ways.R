# Ways to fit a table without a choice by the user. Each returns predictions for the test part.

# A model of this package, by its constructors for numbers and for classes.
fit_own <- function(regressor, classifier, ...) {
  force(regressor)
  force(classifier)
  function(table, seed) {
    formula <- stats::as.formula(paste0("`", table$response, "` ~ ."))
    is_number <- is.numeric(table$train[[1]])
    config <- tfdistribute::run_config(seed = seed)
    model <- (if (is_number) regressor else classifier)(config = config, new_levels = "ignore", ...)
    history <- tfdistribute::train(model, formula, data = table$train)
    message(utils::tail(history$notes, 1))
    found <- stats::predict(model, table$test[-1])
    if (is_number) found$predictions else do.call(rbind, found$probabilities)
  }
}

# Least squares or logistic regression, with missing values replaced by the median or a label of their own.
fit_linear <- function(table, seed) {
  complete <- complete_table(table)
  train <- complete$train
  formula <- stats::as.formula(paste0("`", table$response, "` ~ ."))
  if (is.numeric(train[[1]])) {
    return(suppressWarnings(stats::predict(stats::lm(formula, train), complete$test)))
  }
  if (nlevels(train[[1]]) > 2) {
    fitted <- nnet::multinom(formula, train, maxit = 500, MaxNWts = 1e5, trace = FALSE)
    return(stats::predict(fitted, complete$test, type = "probs"))
  }
  fitted <- suppressWarnings(stats::glm(formula, stats::binomial(), train))
  second <- suppressWarnings(stats::predict(fitted, complete$test, type = "response"))
  cbind(1 - second, second)
}

complete_table <- function(table) {
  for (name in names(table$train)[-1]) {
    values <- table$train[[name]]
    others <- table$test[[name]]
    if (is.numeric(values)) {
      center <- stats::median(values, na.rm = TRUE)
      values[is.na(values)] <- center
      others[is.na(others)] <- center
    } else if (is.factor(values) || is.character(values) || is.logical(values)) {
      labels <- as.character(values)
      labels[is.na(labels)] <- "unknown"
      known <- unique(labels)
      other_labels <- as.character(others)
      other_labels[is.na(other_labels)] <- "unknown"
      # lm() has no coefficient for a label that the training lacks.
      other_labels[!other_labels %in% known] <- names(which.max(table(labels)))
      values <- factor(labels, known)
      others <- factor(other_labels, known)
      if (length(known) < 2) {
        values <- rep(0, length(values))
        others <- rep(0, length(others))
      }
    }
    table$train[[name]] <- values
    table$test[[name]] <- others
  }
  table
}

# LightGBM, XGBoost, CatBoost, ydf, scikit-learn or RealMLP with their defaults, in the Python that PEERS_PYTHON names.
fit_by_python <- function(kind) {
  force(kind)
  function(table, seed) {
    directory <- tempfile("quality-")
    dir.create(directory)
    on.exit(unlink(directory, recursive = TRUE))
    parts <- c("train", "test")
    for (part in parts) {
      data <- table[[part]]
      is_date <- vapply(data, inherits, NA, c("Date", "POSIXct"))
      data[is_date] <- lapply(data[is_date], as.numeric)
      utils::write.csv(data, file.path(directory, paste0(part, ".csv")), row.names = FALSE, na = "")
    }
    levels <- levels(table$train[[1]])
    jsonlite::write_json(levels, file.path(directory, "levels.json"))
    status <- system2(
      Sys.getenv("PEERS_PYTHON"),
      c("bench/quality/peers.py", kind, directory, seed),
      stdout = FALSE
    )
    stopifnot(status == 0)
    unname(as.matrix(utils::read.csv(file.path(directory, "predicted.csv"), header = FALSE)))
  }
}

ways <- list(
  tabular = fit_own(tfdistribute::tabular_regressor, tfdistribute::tabular_classifier),
  trees = fit_own(tfdistribute::boosted_trees_regressor, tfdistribute::boosted_trees_classifier),
  oblique = fit_own(
    tfdistribute::boosted_trees_regressor,
    tfdistribute::boosted_trees_classifier,
    splits = "oblique"
  ),
  linear = fit_linear,
  lightgbm = fit_by_python("lightgbm"),
  xgboost = fit_by_python("xgboost"),
  catboost = fit_by_python("catboost"),
  ydf = fit_by_python("ydf"),
  ydf_rank1 = fit_by_python("ydf_rank1"),
  sklearn_gbm = fit_by_python("sklearn_gbm"),
  sklearn_mlp = fit_by_python("sklearn_mlp"),
  realmlp = fit_by_python("realmlp")
)
