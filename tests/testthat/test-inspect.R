# Importance, effects, calibration and intervals, compared with calculations by the formulas of the models.

# Rows whose columns depend on each other, with a date, a factor and terms of a formula.
dependent_rows <- function(rows = 120) {
  withr::local_seed(3)
  data <- data.frame(size = exp(rnorm(rows)), day = as.Date("2020-01-01") + sample(400, rows))
  data$mass <- data$size^2 * exp(rnorm(rows) / 10)
  data$kind <- factor(sample(c("a", "b", "c"), rows, TRUE), c("b", "a", "c"))
  data$price <- 3 *
    log(data$size) +
    as.numeric(data$day - as.Date("2020-01-01")) / 100 +
    rnorm(rows)
  data$state <- factor(ifelse(data$price > 1, "high", "low"), c("low", "high"))
  data
}

price_formula <- function() price ~ log(size) + mass + day + kind

a_linear_model <- function(data, formula, make = linear_regressor, ..., frame = parent.frame()) {
  model <- make(
    feature_columns(formula, data, standardize = TRUE),
    model_dir = withr::local_tempdir(.local_envir = frame),
    ...
  )
  train(model, formula, data = data, epochs = 3)
  model
}

# The same losses with the same shuffles, as vip computes them.
permutation <- function(model, data, columns, repeats, loss) {
  withr::local_seed(7)
  vapply(
    columns,
    function(group) {
      increases <- replicate(repeats, {
        shuffled <- data
        order <- sample.int(nrow(data))
        shuffled[group] <- data[order, group]
        loss(shuffled) - loss(data)
      })
      c(mean(increases), sd(increases))
    },
    double(2)
  )
}

test_that("importance is the increase of the loss by permuted columns, and effects are mean predictions", {
  skip_if_no_tensorflow()
  data <- dependent_rows()
  model <- a_linear_model(data, price_formula())
  fit <- function(rows) predict(model, rows)$predictions
  with_size <- function(value, rows = data) fit(replace(rows, "size", value))
  loss <- function(rows) sqrt(mean((data$price - fit(rows))^2))
  columns <- list(both = c("size", "mass"), day = "day", kind = "kind")
  expected <- permutation(model, data, columns, 3, loss)
  found <- withr::with_seed(7, importance(model, data, columns["both"], permutations = 3))
  order <- match(names(columns), found$variable)
  expect_equal(found$importance[order], unname(expected[1, ]), tolerance = 1e-5)
  expect_equal(found$sd[order], unname(expected[2, ]), tolerance = 1e-5)
  expect_false(is.unsorted(-found$importance))
  expect_equal(attr(found, "baseline"), sqrt(evaluate(model, data)$average_loss), tolerance = 1e-6)

  partial <- effects(model, data, "size", method = "partial", points = 4, individual = 2)
  expected <- vapply(partial$size, function(value) mean(with_size(value)), 0)
  expect_equal(partial$effect, expected, tolerance = 1e-6)
  own <- attr(partial, "individual")
  expected <- Map(function(row, value) with_size(value, data[row, ]), own$row, own$size)
  expect_equal(own$prediction, unlist(expected), tolerance = 1e-6)
  two <- effects(model, data, c("kind", "day"), points = 2)
  expect_identical(levels(two$kind), levels(data$kind))
  expect_s3_class(two$day, "Date")
  expected <- mapply(
    function(kind, day) {
      changed <- data
      changed$kind[] <- kind
      changed$day[] <- day
      mean(fit(changed))
    },
    as.character(two$kind),
    two$day
  )
  expect_equal(two$effect, unname(expected), tolerance = 1e-6)

  # The accumulated effect of a column that depends on another is its own term, and not the term of the other.
  of_size <- effects(model, data, "size")
  expect_identical(attr(of_size, "method"), "accumulated")
  expect_match(attr(of_size, "line"), "rank correlation with mass is 0.9")
  line <- vapply(of_size$size, with_size, 0, data[1, ])
  expect_equal(
    of_size$effect - line,
    rep(of_size$effect[[1]] - line[[1]], length(line)),
    tolerance = 1e-5
  )
  expect_identical(attr(effects(model, data, "day"), "method"), "partial")
  # Of two columns, the terms of both.
  both <- effects(model, data, c("day", "size"), points = 5)
  expect_identical(attr(both, "method"), "accumulated")
  terms <- mapply(
    function(of_day, of_size) fit(transform(data[1, ], day = as.Date(of_day), size = of_size)),
    both$day,
    both$size
  )
  expect_equal(both$effect - terms, rep(both$effect[[1]] - terms[[1]], 25), tolerance = 1e-5)
  expect_equal(residuals(model, data), data$price - fit(data), tolerance = 1e-6)
  # The loss of several responses is that of evaluate().
  formula <- cbind(price, mass) ~ size + day
  of_two <- a_linear_model(data, formula, label_dimension = 2)
  baseline <- attr(importance(of_two, data, permutations = 1), "baseline")
  expect_equal(baseline, sqrt(evaluate(of_two, data)$average_loss), tolerance = 1e-6)
  for (each in list(found, partial, two, of_size, effects(model, data, "kind"))) {
    expect_s3_class(ggplot2::ggplot_build(plot(each)), "ggplot_built")
  }
})

test_that("accumulated effects of two columns have their interaction, and nothing of a column that follows both", {
  data <- withr::with_seed(1, data.frame(a = rnorm(4000)))
  data$b <- withr::with_seed(2, data$a + rnorm(4000))
  data$c <- data$a + data$b + 1
  truth <- function(rows) rows$a * rows$b + sin(rows$a)
  local_answers(
    trained_columns = function(arguments) list(features = c("a", "b", "c"), terms = list()),
    learned = function(arguments) list()
  )
  model <- tabular_regressor()
  class(model) <- c("truth", class(model))
  registerS3method("predict", "truth", function(object, newdata, ...) {
    # The predictions for rows that do not occur are wrong.
    is_unlike <- abs(newdata$c - newdata$a - newdata$b - 1) > 5
    truth(newdata) + 5 * newdata$c + 100 * is_unlike
  })
  found <- effects(model, data, c("a", "b"), points = 40, rows = NULL)
  expect_identical(attr(found, "method"), "accumulated")
  # Cells without rows are among them.
  inner <- abs(found$a) < 2 & abs(found$b) < 2.5
  error <- (found$effect - truth(found) - 5 * mean(data$c))[inner]
  expect_lt(sd(error), 0.05)
  expect_lt(abs(mean(error)), 0.15)
})

test_that("the effects of a classifier are probabilities, and its calibration compares them with shares", {
  skip_if_no_tensorflow()
  data <- dependent_rows()
  formula <- state ~ log(size) + day
  model <- a_linear_model(data, formula, linear_classifier)
  yes <- function(rows) predict(model, rows, type = "response")
  found <- effects(model, data, "day", points = 3)
  expected <- vapply(found$day, function(value) mean(yes(replace(data, "day", as.Date(value)))), 0)
  expect_equal(found$effect, expected, tolerance = 1e-5)
  expect_equal(residuals(model, data), (data$state == "high") - yes(data), tolerance = 1e-6)
  # As explain() of DALEX calls them.
  expect_identical(yhat.tfdistribute_estimator(model, data), yes(data))
  expect_identical(model_info.tfdistribute_estimator(model)$type, "classification")
  curve <- calibration(model, data, bins = 4)
  bin <- cut(yes(data), seq(0, 1, 0.25), include.lowest = TRUE, right = FALSE)
  happened <- tapply(data$state == "high", droplevels(bin), sum)
  means <- tapply(yes(data), droplevels(bin), mean)
  expect_equal(curve$predicted, as.vector(means), tolerance = 1e-6)
  expect_equal(curve$observed * curve$rows, as.vector(happened))
  exact <- mapply(function(x, n) stats::binom.test(x, n)$conf.int, happened, table(droplevels(bin)))
  expect_equal(rbind(curve$lower, curve$upper), unname(exact), tolerance = 1e-6)
  error <- sum(abs(happened - means * curve$rows)) / nrow(data)
  expect_equal(unname(attr(curve, "error")), error, tolerance = 1e-6)
  expect_s3_class(ggplot2::ggplot_build(plot(curve)), "ggplot_built")

  model <- a_linear_model(
    data,
    kind ~ size + day,
    linear_classifier,
    n_classes = 3,
    label_vocabulary = levels(data$kind)
  )
  share <- function(rows) predict(model, rows, type = "prob")
  truth <- cbind(seq_len(nrow(data)), as.integer(data$kind))
  loss <- function(rows) mean(-log(as.matrix(share(rows))[truth]))
  found <- withr::with_seed(7, importance(model, data, permutations = 2))
  expected <- permutation(model, data, list(size = "size", day = "day"), 2, loss)
  expect_equal(found$importance, unname(expected[1, found$variable]), tolerance = 1e-4)
  found <- effects(model, data, "size", points = 2, method = "partial")
  expect_identical(levels(found$class), levels(data$kind))
  first <- colMeans(share(replace(data, "size", found$size[[1]])))
  expect_equal(found$effect[c(1, 3, 5)], unname(first), tolerance = 1e-5)
  expect_s3_class(ggplot2::ggplot_build(plot(found)), "ggplot_built")
})

test_that("intervals are as wide as the residual of their level, and the model tells how many rows it needs", {
  sizes <- seq(0.5, 9.5)
  local_answers(
    learned = function(arguments) list(learned = list(validation = list(residuals = sizes)))
  )
  # With 10 residuals, the 9th of 11 places is the first with a share of 0.8 below it.
  expect_identical(
    interval_matrix(tabular_regressor(), c(0, 10), 0.8),
    cbind(fit = c(0, 10), lwr = c(0, 10) - 8.5, upr = c(0, 10) + 8.5)
  )
  counts <- interval_matrix(tabular_regressor(loss = "poisson"), c(4, 10000), 0.8)
  expect_identical(counts[, "lwr"], c(0, 10000 - 850))
  expect_snapshot(error = TRUE, {
    interval_matrix(tabular_regressor(), 1, 0.95)
    predict(tabular_regressor(), mtcars, interval = 2)
    predict(tabular_regressor(), mtcars, interval = 0.9, type = "response")
    predict(tabular_classifier(), mtcars, interval = 0.95)
  })
})

test_that("inspections name the columns, the model or the response that they lack", {
  known <- list(
    features = c("wt", "log(hp)"),
    response = "mpg",
    terms = list(`log(hp)` = "log(hp)")
  )
  local_answers(
    trained_columns = function(arguments) known,
    learned = function(arguments) list()
  )
  model <- tabular_regressor()
  expect_snapshot(error = TRUE, {
    importance(model, mtcars[c("wt", "mpg")])
    importance(model, mtcars[c("wt", "hp")])
    importance(model, mtcars, groups = list(size = "wd"))
    importance(model, mtcars, groups = "wt")
    effects(model, mtcars, "hpp")
    effects(model, transform(mtcars, wt = "heavy"), "wt", method = "accumulated")
    importance("model", mtcars)
    importance(estimator(function(features, labels, mode) NULL), mtcars)
    importance(model, transform(mtcars, mpg = NA_real_))
    importance(model, mtcars[0, ])
    calibration(model, mtcars)
  })
  known <- list(features = "wt")
  expect_error(
    importance(model, mtcars),
    "Train it with a formula",
    class = "tfdistribute_unsupported_error"
  )
})

test_that("a model without a training is no model to inspect", {
  skip_if_no_tensorflow()
  expect_error(
    importance(tabular_regressor(), mtcars),
    "importance() needs a trained model",
    fixed = TRUE,
    class = "tfdistribute_model_directory_error"
  )
})

test_that("print() of a trained model tells what it learned from, and what was chosen", {
  directory <- withr::local_tempdir()
  file.create(file.path(directory, "tfdistribute-model.json"))
  facts <- list(
    step = 1500L,
    kinds = list("numbers", "labels", "numbers"),
    response = "price",
    rows = 53940L,
    range = list(326, 18823),
    seconds = 11.2,
    began = 1.6e9,
    learned = list(
      batch_size = 256L,
      ensemble = 2L,
      losses = list(300000, 290000),
      weights = list(layers = 0.7, trees = 0.3),
      trees = list(roots = list(120L, 1L)),
      validation = list(
        rows = 10788L,
        constant_loss = 16000000,
        seconds = 20.5,
        loss = 280000,
        losses = list(linear = 1300000, layers = 290000, trees = 310000)
      )
    )
  )
  withr::local_timezone("UTC")
  local_answers(trained_facts = function(arguments) facts)
  shown <- function(model, lines = 7) utils::head(format(model), lines)
  model <- tabular_regressor(model_dir = directory)
  expect_snapshot(writeLines(shown(model, 8)))
  facts$learned$weights <- list(linear = 1)
  expect_match(shown(model)[[4]], "linear model: the least loss on 10,788 validation rows")
  trees <- boosted_trees_regressor(model_dir = directory)
  expect_match(shown(trees, 8), "1,500 trees in", all = FALSE, fixed = TRUE)
  classes <- tabular_classifier(model_dir = directory)
  facts$classes <- list("no", "yes")
  expect_snapshot(writeLines(shown(classes)))
  facts <- list(step = 10L, response = "mpg")
  expect_snapshot(writeLines(shown(
    dnn_regressor(4, column_numeric("x"), model_dir = directory),
    6
  )))
})

# A response whose mean bends, and whose noise has other tails in each table.
simulated_rows <- function(table, rows) {
  withr::local_seed(table)
  data <- data.frame(a = rnorm(rows), b = runif(rows), c = sample(letters[1:4], rows, TRUE))
  noise <- list(rnorm(rows), rt(rows, 3), rexp(rows), runif(rows, -2, 2), rt(rows, 2))
  data$y <- 2 * sin(2 * data$a) + data$b * match(data$c, letters) + noise[[table %% 5 + 1]]
  data
}

if (checks_all()) {
  test_that("intervals of 90 percent contain nine of ten new responses", {
    skip_if_no_tensorflow()
    cases <- expand.grid(table = 1:10, seed = 1:3)
    covered <- mapply(
      function(table, seed) {
        data <- simulated_rows(table, 2500)
        model <- tabular_regressor(hidden_units = 16, config = run_config(seed = seed))
        train(model, y ~ ., data = data[1:1500, ])
        found <- predict(model, data[1501:2500, ], interval = 0.9)
        mean(data$y[1501:2500] >= found[, "lwr"] & data$y[1501:2500] <= found[, "upr"])
      },
      cases$table,
      cases$seed
    )
    expect_gt(mean(covered), 0.88)
    expect_lt(mean(covered), 0.92)
    # The quantile of a few hundred residuals varies.
    expect_gt(min(covered), 0.8)
  })
}
