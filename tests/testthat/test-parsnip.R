# The engine of parsnip, or of a stand-in where parsnip is not installed; and the functions behind the engine.

# tfdistribute_mlp() passes its arguments on.
function_of <- function(model) {
  if (model == "boost_tree") tfdistribute_trees else tfdistribute_fit
}

test_that("the engine is registered when parsnip is loaded, with its arguments and kinds of predictions", {
  local_parsnip()
  for (model in names(parsnip_modes)) {
    known <- registered_engine(model)
    engines <- paste(parsnip_modes[[model]], "tfdistribute")
    expect_setequal(known$engines, engines)
    expect_setequal(known$fit, engines)
    expect_setequal(known$encoding, engines)
    expect_setequal(known$arguments, parsnip_arguments[[model]])
    expect_identical(unique(known$packages), "tfdistribute")
    # The function behind the engine has every argument that is registered.
    expect_identical(setdiff(known$originals, names(formals(function_of(model)))), character())
  }
  expect_setequal(
    registered_engine("mlp")$predictions,
    paste(
      c("regression", "classification", "classification", "quantile regression"),
      "tfdistribute",
      c("numeric", "class", "prob", "quantile")
    )
  )
  # A second time, as when parsnip is loaded again, nothing is refused.
  expect_null(register_parsnip_engines())
})

test_that("an engine is called with each argument of its model once, given or left out", {
  local_parsnip()
  values <- list(
    hidden_units = 3L,
    penalty = 0.1,
    dropout = 0.1,
    epochs = 2L,
    activation = "tanh",
    learn_rate = 0.1,
    class_weights = 2,
    validation = 0.1,
    stop_iter = 3L,
    trees = 10L,
    tree_depth = 3L,
    min_n = 4L
  )
  quantile_levels <- c(0.1, 0.9)
  for (model in names(parsnip_modes)) {
    arguments <- parsnip_arguments[[model]]
    for (mode in parsnip_modes[[model]]) {
      for (given in c(list(character()), as.list(arguments), list(arguments))) {
        call <- engine_call(model, mode, values[given])
        matched <- as.list(match.call(function_of(model), call))[-1]
        levels <- if (mode == "quantile regression") "quantile_levels"
        expect_setequal(names(matched), c("x", "y", levels, given))
        expect_identical(matched[given], values[given])
      }
    }
  }
})

test_that("mlp() has a hidden layer of five units unless it is given others", {
  skip_if_no_tensorflow()
  local_parsnip()
  units <- function(...) {
    args <- list(..., epochs = 1L)
    fitted <- fit_engine("mlp", "regression", args, list(), mtcars["wt"], mtcars$mpg)
    restored_model(fitted$fit)$hidden_units
  }
  expect_identical(units(), 5L)
  expect_identical(units(hidden_units = 3), 3L)
})

rmse <- function(found, expected) sqrt(mean((found - expected)^2))

test_that("linear_reg() has the error of lm(), with factors, strings and strange units", {
  skip_if_no_tensorflow()
  local_parsnip()
  withr::local_seed(1)
  rows <- as.data.frame(ggplot2::diamonds)[sample(53940, 1000), ]
  rows$color <- as.character(rows$color)
  x <- rows[c("carat", "depth", "cut", "color")]
  y <- rows$price * 1e6 - 1e9
  fitted <- fit_engine("linear_reg", "regression", list(), list(), x, y)
  found <- rmse(predict_engine(fitted, x, "numeric"), y)
  expect_lt(found / rmse(stats::fitted(lm(y ~ ., x)), y), 1.01)
})

test_that("case weights count like repeated rows", {
  skip_if_no_tensorflow()
  local_parsnip()
  x <- mtcars[c("wt", "hp")]
  weights <- rep(c(1, 3), 16)
  fitted <- fit_engine("linear_reg", "regression", list(), list(), x, mtcars$mpg, weights)
  expected <- stats::fitted(lm(mpg ~ wt + hp, mtcars, weights = weights))
  expect_equal(predict_engine(fitted, x, "numeric"), unname(expected), tolerance = 1e-3)
})

# The penalty itself is tested in Python.
if (checks_all()) {
  test_that("a penalty gives the ridge solution, whatever the unit of the outcome", {
    skip_if_no_tensorflow()
    local_parsnip()
    x <- mtcars[c("wt", "hp")]
    z <- scale(as.matrix(x))
    y <- mtcars$mpg * 1000
    penalty <- list(penalty = 0.5)
    fitted <- fit_engine("linear_reg", "regression", penalty, list(), x, y)
    slopes <- solve(crossprod(z) / 32 + 0.5 * diag(2), crossprod(z, y - mean(y)) / 32)
    expected <- mean(y) + as.vector(z %*% slopes)
    expect_equal(predict_engine(fitted, x, "numeric"), expected, tolerance = 1e-3)
  })
}

test_that("a fitted classifier survives saveRDS() and another session, with its levels", {
  skip_if_no_tensorflow()
  local_parsnip()
  withr::local_seed(2)
  before <- list.files(tempdir(), "^tfdistribute-model-")
  fitted <- fit_engine(
    "mlp",
    "classification",
    list(
      hidden_units = c(8L, 4L),
      epochs = 25L,
      dropout = 0.1,
      activation = "tanh",
      learn_rate = 0.02
    ),
    list(strategy = strategy_mirrored(devices = 2), batch_size = 32),
    iris[c("Sepal.Length", "Petal.Length")],
    iris$Species
  )
  rows <- iris[c(1, 75, 150), ]
  expected <- list(
    class = predict_engine(fitted, rows, "class"),
    prob = predict_engine(fitted, rows, "prob")
  )
  expect_identical(expected$class, iris$Species[c(1, 75, 150)])
  expect_named(expected$prob, levels(iris$Species))
  expect_equal(unname(rowSums(expected$prob)), rep(1, 3), tolerance = 1e-6)
  file <- withr::local_tempfile()
  saveRDS(fitted, file)
  found <- in_child_r(
    function(file, rows) {
      fit <- readRDS(file)$fit
      list(class = predict(fit, rows, "class"), prob = predict(fit, rows, "prob"))
    },
    list(file = file, rows = rows)
  )
  expect_identical(found, expected)
  # No directory is left behind, apart from that of the last model that predicted.
  expect_lte(length(setdiff(list.files(tempdir(), "^tfdistribute-model-"), before)), 1)
})

# What tune_grid() does; tools/tidymodels.R runs the real one.
if (checks_all()) {
  test_that("units are tuned over three folds on two devices", {
    skip_if_no_tensorflow()
    local_parsnip()
    withr::local_seed(3)
    data <- data.frame(x = seq(-2, 2, length.out = 240))
    data$y <- data$x^2
    folds <- rep_len(1:3, nrow(data))
    error <- function(hidden_units, fold) {
      fitted <- fit_engine(
        "mlp",
        "regression",
        list(hidden_units = hidden_units, epochs = 30L, learn_rate = 0.05),
        list(strategy = strategy_mirrored(devices = 2), batch_size = 40),
        data[folds != fold, "x", drop = FALSE],
        data$y[folds != fold]
      )
      test <- data[folds == fold, ]
      sqrt(mean((predict_engine(fitted, test, "numeric") - test$y)^2))
    }
    errors <- outer(c(1L, 16L), 1:3, Vectorize(error))
    # One unit is a ramp, and cannot bend into a parabola.
    expect_true(all(errors[1, ] > 0.4))
    expect_true(all(errors[2, ] < 0.2))
  })
}

test_that("set.seed() decides the weights, and each fit has a directory of its own", {
  skip_if_no_tensorflow()
  folder <- withr::local_tempdir()
  fit <- function(seed) {
    withr::with_seed(
      seed,
      tfdistribute_fit(mtcars["wt"], mtcars$mpg, hidden_units = 4, epochs = 3, model_dir = folder)
    )
  }
  fits <- list(fit(1), fit(1), fit(2))
  predictions <- lapply(fits, predict, mtcars)
  expect_identical(predictions[[1]], predictions[[2]])
  expect_false(identical(predictions[[1]], predictions[[3]]))
  expect_length(list.files(folder, "^fit-"), 3)
  expect_output(print(fits[[1]]), "<tfdistribute_fit> regression\n  predictors: wt\n  3 steps")
})

test_that("missing values are refused with the step of a recipe that replaces them", {
  local_no_python()
  local_parsnip()
  cars <- transform(mtcars, gear = factor(gear))
  cars$wt[1:2] <- NA
  cars$gear[[3]] <- NA
  x <- cars[c("wt", "gear")]
  # Other columns of new data do not matter.
  fitted <- structure(list(predictors = "gear"), class = "tfdistribute_fit")
  fitted <- fitted_engine("linear_reg", "regression", fitted)
  expect_snapshot(error = TRUE, {
    fit_engine("linear_reg", "regression", list(), list(), x, cars$mpg)
    predict_engine(fitted, x, "numeric")
    tfdistribute_fit(mtcars["wt"], replace(mtcars$mpg, 1:2, NA))
  })
})

test_that("data that an engine cannot use is refused by name", {
  local_no_python()
  expect_snapshot(error = TRUE, {
    tfdistribute_fit(matrix(1:4, 2), 1:2)
    tfdistribute_fit(mtcars, mtcars$mpg[1:3])
    tfdistribute_fit(mtcars["wt"], as.character(mtcars$mpg))
    tfdistribute_fit(mtcars["wt"], mtcars$mpg, weights = -1)
    predict(structure(list(levels = c("a", "b")), class = "tfdistribute_fit"), mtcars, "numeric")
  })
})

test_that("a label that training lacks is missing, with a warning", {
  skip_if_no_tensorflow()
  rows <- data.frame(a = c(1, 2, 3, 4), b = factor(c("u", "v", "u", "v")))
  fitted <- tfdistribute_fit(rows, rows$a, epochs = 1, seed = 1)
  expect_warning(
    predict(fitted, data.frame(a = 0, b = "w")),
    "`b` \"w\"",
    class = "tfdistribute_new_levels_warning"
  )
})

test_that("class weights multiply the weights of rows", {
  y <- factor(c("a", "b", "b", "b"), levels = c("a", "b", "c"))
  expect_null(with_class_weights(NULL, NULL, y))
  # The rarest class that occurs.
  expect_identical(with_class_weights(NULL, 5, y), c(5, 1, 1, 1))
  expect_identical(with_class_weights(c(1, 2, 1, 1), c(b = 3, c = 1, a = 2), y), c(2, 6, 3, 3))
  expect_identical(with_class_weights(NULL, c(1, 2, 3), y), c(1, 2, 2, 2))
  for (wrong in list(c(1, 2), c(a = 1, z = 2, c = 3), -1, "2")) {
    expect_error(
      tfdistribute_fit(mtcars[1:4, "wt", drop = FALSE], y, class_weights = wrong),
      "`class_weights` must be a number of at least 0",
      class = "tfdistribute_argument_error"
    )
  }
  expect_error(
    tfdistribute_fit(mtcars["wt"], mtcars$mpg, class_weights = 2),
    "for each level of a factor `y`",
    class = "tfdistribute_argument_error"
  )
})

test_that("validation rows end a training that no longer improves", {
  skip_if_no_tensorflow()
  set.seed(3)
  # The outcome does not depend on x, so the loss of other rows soon rises.
  data <- data.frame(x = rnorm(60), z = rnorm(60))
  y <- rnorm(60)
  fit <- function(...) {
    tfdistribute_fit(data, y, hidden_units = 32L, epochs = 200, learn_rate = 0.05, seed = 1, ...)
  }
  stopped <- fit(validation = 0.3, stop_iter = 8L)
  steps <- stopped$history$step[stopped$history$data == "evaluation"]
  expect_gt(length(steps), 1)
  expect_lt(max(steps), 200)
  expect_length(predict(stopped, data), 60)
})

test_that("the mode of quantiles predicts ordered columns", {
  skip_if_no_tensorflow()
  local_parsnip()
  quantile_levels <- c(0.1, 0.5, 0.9)
  fitted <- tfdistribute_mlp(
    mtcars[c("wt", "hp")],
    mtcars$mpg,
    weights = rep(1:2, 16),
    epochs = 60,
    quantile_levels = quantile_levels
  )
  found <- predict(fitted, mtcars, type = "quantile")
  expect_identical(dim(found), c(32L, 3L))
  expect_true(all(found[, 1] <= found[, 2] & found[, 2] <= found[, 3]))
  expect_gt(mean(mtcars$mpg <= found[, 3]), mean(mtcars$mpg <= found[, 1]) + 0.3)
})

# sparsevctrs, or columns with a mark in place of its vectors, which look like other numbers.
local_sparsevctrs <- function(frame = parent.frame()) {
  code <- c(
    "is_sparse_numeric <- function(x) isTRUE(attr(x, 'sparse'))",
    "coerce_to_sparse_matrix <- function(x) Matrix::Matrix(as.matrix(x), sparse = TRUE)",
    "coerce_to_sparse_data_frame <- function(x) {",
    "  columns <- lapply(as.data.frame(as.matrix(x)), structure, sparse = TRUE)",
    "  as.data.frame(columns, optional = TRUE)",
    "}"
  )
  local_package("sparsevctrs", code, frame = frame)
  loadNamespace("sparsevctrs")
}

sparse_predictors <- function() {
  withr::local_seed(4)
  x <- Matrix::rsparsematrix(80, 6, density = 0.3)
  colnames(x) <- letters[1:6]
  list(x = x, size = seq_len(80) / 10, y = as.vector(x %*% 1:6) + seq_len(80) / 20 + 5)
}

test_that("a linear model reads sparse predictors as one sparse matrix", {
  skip_if_no_tensorflow()
  local_parsnip()
  local_sparsevctrs()
  rows <- sparse_predictors()
  x <- sparsevctrs::coerce_to_sparse_data_frame(rows$x)
  x$size <- rows$size
  fitted <- fit_engine("linear_reg", "regression", list(), list(), x, rows$y)
  expect_identical(fitted$fit$predictors, c("size", ".sparse"))
  expect_identical(fitted$fit$sparse, letters[1:6])
  found <- predict_engine(fitted, x, "numeric")
  expect_equal(found, rows$y, tolerance = 0.05)
  coefficients <- generics::tidy(fitted$fit)
  expect_identical(coefficients$term, c("(Intercept)", "size", letters[1:6]))
  expect_equal(coefficients$estimate, c(5, 0.5, 1:6), tolerance = 0.05)
  # parsnip predicts from one sparse matrix of all predictors, in any order.
  all <- cbind(size = rows$size, rows$x[, 6:1])
  expect_equal(predict(fitted$fit, all), found, tolerance = 1e-6)
  expect_equal(predict(fitted$fit, as.matrix(all)), found, tolerance = 1e-6)
  expect_equal(predict(fitted$fit, all[7, , drop = FALSE]), found[[7]], tolerance = 1e-6)
})

test_that("a sparse matrix is enough, with a validation part, for classes", {
  skip_if_no_tensorflow()
  rows <- sparse_predictors()
  y <- factor(ifelse(rows$y > stats::median(rows$y), "high", "low"))
  fitted <- tfdistribute_fit(rows$x, y, validation = 0.2, seed = 1)
  expect_gt(mean(predict(fitted, rows$x) == y), 0.7)
  expect_named(predict(fitted, rows$x, "prob"), levels(y))
})

test_that("what sparse predictors cannot do has a remedy", {
  local_reproducible_output(width = 100)
  rows <- sparse_predictors()
  expect_snapshot(tfdistribute_fit(rows$x, rows$y, hidden_units = 5), error = TRUE)
  fitted <- structure(list(sparse = letters[1:6]), class = "tfdistribute_fit")
  expect_snapshot(predict(fitted, rows$x[, -2]), error = TRUE)
})

test_that("a tabular model accepts missing values, keeps all levels, and has no settings of other models", {
  skip_if_no_tensorflow()
  cars <- mtcars[c("wt", "hp", "gear")]
  cars$hp[1:3] <- NA
  cars$gear <- factor(cars$gear)
  fitted <- tfdistribute_mlp(
    cars,
    mtcars$mpg,
    tabular = TRUE,
    hidden_units = 8L,
    epochs = 20,
    seed = 1
  )
  expect_gt(cor(predict(fitted, cars), mtcars$mpg), 0.7)
  # The same model by the verbs.
  model <- tabular_regressor(8, epochs = 20, config = run_config(seed = 1))
  train(model, mpg ~ ., data = cbind(cars, mpg = mtcars$mpg))
  expect_equal(predict(fitted, cars), predict(model, cars, type = "response"), tolerance = 1e-4)
  cylinders <- factor(mtcars$cyl, c("4", "5", "6", "8"))
  weights <- c(`4` = 1, `5` = 1, `6` = 50, `8` = 1)
  fitted <- tfdistribute_mlp(
    cars,
    cylinders,
    tabular = TRUE,
    hidden_units = 8L,
    epochs = 20,
    class_weights = weights
  )
  shares <- predict(fitted, cars, "prob")
  expect_named(shares, levels(cylinders))
  expect_lt(max(shares$`5`), 0.2)
  expect_equal(rowSums(shares), rep(1, nrow(cars)), tolerance = 1e-5)
  expect_identical(levels(predict(fitted, cars)), levels(cylinders))
  expect_gt(mean(predict(fitted, cars) == "6"), mean(cylinders == "6"))
  expect_snapshot(error = TRUE, tfdistribute_mlp(cars, mtcars$mpg, tabular = TRUE, penalty = 0.1))
})

test_that("boosted trees accept missing values and labels, and keep their levels", {
  skip_if_no_tensorflow()
  skip_if_not(reticulate::py_module_available("ydf"))
  cars <- mtcars[c("wt", "hp", "gear")]
  cars$hp[1:3] <- NA
  cars$gear <- factor(cars$gear)
  fitted <- tfdistribute_trees(cars, mtcars$mpg, trees = 30, tree_depth = 3, min_n = 2, seed = 1)
  # The same model by the verbs.
  model <- boosted_trees_regressor(
    n_trees = 30,
    max_depth = 3,
    min_node_weight = 2,
    config = run_config(seed = 1)
  )
  train(model, mpg ~ ., data = cbind(cars, mpg = mtcars$mpg))
  expect_equal(predict(fitted, cars), predict(model, cars, type = "response"))
  expect_gt(cor(predict(fitted, cars), mtcars$mpg), 0.7)
  cylinders <- factor(mtcars$cyl, c("4", "5", "6", "8"))
  fitted <- tfdistribute_trees(cars, cylinders, trees = 10, class_weights = 20, min_n = 2)
  shares <- predict(unserialize(serialize(fitted, NULL)), cars, "prob")
  expect_named(shares, levels(cylinders))
  expect_equal(rowSums(shares), rep(1, nrow(cars)), tolerance = 1e-5)
  expect_identical(levels(predict(fitted, cars)), levels(cylinders))
  # The rarest class counts more.
  expect_gte(mean(predict(fitted, cars) == "6"), mean(cylinders == "6"))
})
