# Packages that inspect, compare or tune models, none of which Debian has: their numbers are those of this package.
# `make test-real` runs these tests.

from <- function(package, name) getExportedValue(package, name)

# Rows with columns that interact, and a model of their prices or states.
houses <- function() {
  withr::local_seed(5)
  data <- data.frame(size = runif(150, 20, 150), age = runif(150, 0, 60))
  data$kind <- factor(sample(c("flat", "house", "attic"), 150, TRUE), c("flat", "house", "attic"))
  data$price <- data$size * (4 - data$age / 30) + 40 * (data$kind == "house") + rnorm(150, 0, 20)
  data$state <- factor(ifelse(data$price > 250, "dear", "cheap"), c("cheap", "dear"))
  data
}

a_model_of <- function(formula, data, make = tabular_regressor) {
  model <- make(hidden_units = 8, epochs = 20, config = run_config(seed = 1))
  train(model, formula, data = data)
  model
}

response <- function(object, newdata, ...) predict(object, newdata, type = "response")

test_that("importance() is the importance of vip by the same shuffles", {
  skip_if_no_tensorflow()
  skip_if_no_real("vip")
  data <- houses()
  model <- a_model_of(price ~ size + age + kind, data)
  by_vip <- withr::with_seed(
    7,
    from("vip", "vi_permute")(
      model,
      train = data,
      target = "price",
      metric = "rmse",
      feature_names = c("size", "age", "kind"),
      pred_wrapper = response,
      nsim = 1
    )
  )
  found <- withr::with_seed(7, importance(model, data, permutations = 1))
  expected <- by_vip$Importance[match(found$variable, by_vip$Variable)]
  expect_equal(found$importance, unname(expected), tolerance = 1e-5)
})

test_that("effects() are the partial dependence of pdp", {
  skip_if_no_tensorflow()
  skip_if_no_real("pdp")
  data <- houses()
  model <- a_model_of(price ~ size + age + kind, data)
  mean_of <- function(object, newdata) mean(response(object, newdata))
  for (names in list("age", c("kind", "age"))) {
    found <- effects(model, data, names, method = "partial", points = 5)
    grid <- as.data.frame(found)[names]
    by_pdp <- from("pdp", "partial")(
      model,
      names,
      pred.grid = grid,
      train = data,
      pred.fun = mean_of
    )
    both <- merge(as.data.frame(by_pdp), as.data.frame(found))
    expect_identical(nrow(both), nrow(grid))
    expect_equal(both$effect, both$yhat, tolerance = 1e-6)
  }
})

test_that("explain_rows() returns the values of kernelshap, whose sum is the prediction", {
  skip_if_no_tensorflow()
  skip_if_no_real("kernelshap")
  skip_if_not(reticulate::py_module_available("shap"), "Python has no shap")
  data <- houses()
  model <- a_model_of(price ~ size + age + kind, data)
  columns <- c("size", "age", "kind")
  explained <- data[1:3, columns]
  by_kernelshap <- from("kernelshap", "kernelshap")(
    model,
    explained,
    bg_X = data[1:40, columns],
    pred_fun = response,
    exact = TRUE,
    verbose = FALSE
  )
  found <- explain_rows(model, explained, data[1:40, ])
  shap <- tapply(found$shap, list(found$row, found$variable), sum)[, columns]
  expect_equal(unname(shap), unname(by_kernelshap$S), tolerance = 1e-4)
  sums <- rowSums(shap) + attr(found, "base")
  expect_equal(unname(sums), response(model, explained), tolerance = 1e-5)
})

test_that("fastshap samples the SHAP values of predict()", {
  skip_if_no_tensorflow()
  skip_if_no_real("fastshap")
  data <- houses()
  model <- a_model_of(price ~ size + age, data)
  columns <- c("size", "age")
  # The mean prediction for rows that have these columns of one row.
  value <- function(row, names) {
    rows <- data[1:40, ]
    rows[names] <- data[row, names]
    mean(response(model, rows))
  }
  expected <- t(vapply(
    1:2,
    function(row) {
      both <- value(row, columns) - value(row, character())
      apart <- value(row, "size") - value(row, "age")
      c(both + apart, both - apart) / 2
    },
    double(2)
  ))
  row <- rep(1:2, each = 1000)
  sampled <- withr::with_seed(
    3,
    from("fastshap", "explain")(
      model,
      X = data[1:40, columns],
      newdata = data[row, columns],
      nsim = 1,
      pred_wrapper = response
    )
  )
  found <- rowsum(unclass(sampled), row) / 1000
  expect_lt(max(abs(found - expected)), 0.1 * diff(range(expected)))
})

test_that("DALEX explains a model without a function that predicts", {
  skip_if_no_tensorflow()
  skip_if_no_real("DALEX")
  data <- houses()
  explain <- from("DALEX", "explain")
  performance <- from("DALEX", "model_performance")
  model <- a_model_of(price ~ size + age + kind, data)
  explainer <- explain(model, data[c("size", "age", "kind")], data$price, verbose = FALSE)
  expect_equal(explainer$y_hat, response(model, data), tolerance = 1e-6)
  baseline <- attr(importance(model, data, permutations = 1), "baseline")
  expect_equal(performance(explainer)$measures$rmse, baseline, tolerance = 1e-6)
  model <- a_model_of(state ~ size + age, data, tabular_classifier)
  explainer <- explain(model, data[c("size", "age")], data$state == "dear", verbose = FALSE)
  expect_identical(explainer$model_info$type, "classification")
  expect_equal(explainer$y_hat, predict(model, data, type = "prob")$dear, tolerance = 1e-6)
})

test_that("marginaleffects compares predictions", {
  skip_if_no_tensorflow()
  skip_if_no_real("marginaleffects")
  data <- houses()
  model <- a_model_of(price ~ size + age + kind, data)
  withr::local_options(marginaleffects_model_classes = class(model)[[1]])
  # marginaleffects uses an operator that base R has since 4.4.
  if (!exists("%||%", baseenv())) {
    assign("%||%", rlang::`%||%`, globalenv())
    withr::defer(rm("%||%", envir = globalenv()))
  }
  found <- from("marginaleffects", "predictions")(model, newdata = data, vcov = FALSE)
  expect_equal(found$estimate, response(model, data), tolerance = 1e-6)
  found <- from("marginaleffects", "avg_comparisons")(
    model,
    newdata = data,
    variables = list(age = c(10, 30), kind = "reference"),
    vcov = FALSE
  )
  changed <- function(name, value) mean(response(model, replace(data, name, value)))
  kind <- function(label) changed("kind", factor(rep(label, 150), levels(data$kind)))
  expected <- c(
    changed("age", 30) - changed("age", 10),
    kind("attic") - kind("flat"),
    kind("house") - kind("flat")
  )
  expect_equal(found$estimate[order(found$term, found$contrast)], expected, tolerance = 1e-4)
})

test_that("yardstick computes the metrics of evaluate() from augment()", {
  skip_if_no_tensorflow()
  skip_if_no_real("yardstick")
  data <- houses()
  model <- a_model_of(price ~ size + age + kind, data)
  found <- from("yardstick", "rmse_vec")(data$price, generics::augment(model, data)$.fitted)
  expect_equal(found, sqrt(evaluate(model, data)$average_loss), tolerance = 1e-5)
  model <- a_model_of(kind ~ size + age + price, data, tabular_classifier)
  shares <- as.matrix(generics::augment(model, data)[paste0(".pred_", levels(data$kind))])
  found <- from("yardstick", "mn_log_loss_vec")(data$kind, shares)
  expect_equal(found, evaluate(model, data)$average_loss, tolerance = 1e-5)
})

test_that("calibration() has the shares of probably", {
  skip_if_no_tensorflow()
  skip_if_no_real("probably")
  data <- houses()
  model <- a_model_of(state ~ size + age, data, tabular_classifier)
  plot <- from("probably", "cal_plot_breaks")(
    as.data.frame(generics::augment(model, data)),
    truth = state,
    estimate = .pred_dear,
    num_breaks = 4,
    event_level = "second",
    conf_level = 0.95
  )
  found <- calibration(model, data, bins = 4)
  found <- found[found$curve == "model", ]
  expect_equal(found$observed, plot$data$event_rate, tolerance = 1e-6)
  expect_equal(found$rows, plot$data$total)
})

test_that("tune chooses the size of a tabular model and of trees", {
  skip_if_no_tensorflow()
  skip_if_no_real("tune")
  skip_if_not(reticulate::py_module_available("ydf"))
  data <- houses()
  folds <- from("rsample", "vfold_cv")(data, v = 2)
  tuned <- function(spec, formula, grid, metric) {
    spec <- parsnip::set_mode(spec, if (metric == "rmse") "regression" else "classification")
    found <- from("tune", "tune_grid")(spec, formula, folds, grid = grid)
    expect_identical(nrow(do.call(rbind, found$.notes)), 0L)
    from("tune", "show_best")(found, metric = metric)$mean
  }
  # In calls of parsnip, tune() marks an argument.
  network <- parsnip::mlp(hidden_units = tune(), epochs = 60) |>
    parsnip::set_engine("tfdistribute", tabular = TRUE)
  errors <- tuned(network, price ~ size + age + kind, data.frame(hidden_units = c(2L, 8L)), "rmse")
  expect_length(errors, 2)
  expect_lt(max(errors), 0.8 * sd(data$price))
  trees <- parsnip::boost_tree(trees = tune(), min_n = 2) |> parsnip::set_engine("tfdistribute")
  found <- tuned(trees, state ~ size + age + kind, data.frame(trees = c(1L, 30L)), "roc_auc")
  expect_length(found, 2)
  expect_gt(min(found), 0.7)
})
