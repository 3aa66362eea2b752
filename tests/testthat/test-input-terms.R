# Computed terms of formulas, with R's own model.matrix(), lm() and predict() as reference.

cars <- function() {
  data <- mtcars
  data$f <- factor(rep(c("u", "v", "w"), length.out = 32))
  data$g <- factor(rep(c("p", "q"), each = 16))
  data
}

# Rows with another range, other levels and another order than the training.
later <- function() cars()[c(20, 3), ]

computed <- function(formula, data = cars()) input_fn(formula, data)$data

test_that("a numeric term has the columns of model.matrix()", {
  formula <- ~ log(wt) +
    poly(hp, 2) +
    I(qsec^2) +
    hp:disp +
    poly(wt, 2):hp +
    f:wt +
    f:g:hp +
    ns(disp, 3)
  values <- computed(formula)
  for (term in names(values)) {
    # ns() is listed without its package.
    call <- sub("ns(", "splines::ns(", term, fixed = TRUE)
    expected <- model.matrix(stats::reformulate(call, intercept = FALSE), cars())
    expect_equal(unname(as.matrix(values[[term]])), unname(expected), ignore_attr = TRUE)
  }
  expect_identical(names(values), attr(terms(formula), "term.labels"))
})

test_that("labels, logical values and interactions of factors are computed as R does", {
  values <- computed(log(mpg) ~ factor(cyl) + cut(wt, 3) + f:g + (hp > 120))
  expect_identical(values[["log(mpg)"]], log(mtcars$mpg))
  expect_identical(values[["factor(cyl)"]], factor(mtcars$cyl))
  expect_identical(values[["cut(wt, 3)"]], cut(mtcars$wt, 3))
  expect_identical(values[["hp > 120"]], mtcars$hp > 120)
  expect_identical(as.character(values[["f:g"]]), as.character(cars()$f:cars()$g))
  expect_setequal(names(computed(mpg ~ (wt + hp)^2 - wt)), c("hp", "wt:hp", "mpg"))
  expect_setequal(
    names(computed(log(mpg) ~ . - f + I(hp^2))),
    c(setdiff(names(cars()), c("mpg", "f")), "I(hp^2)", "log(mpg)")
  )
})

test_that("what a term learned from the training applies to other rows", {
  power <- 2
  half <- function(x) x / 2
  formula <- mpg ~ poly(wt, power) +
    scale(hp) +
    cut(wt, 3) +
    f:wt +
    I(as.integer(factor(cyl))) +
    I(wt - mean(wt)) +
    half(hp) +
    ns(disp, 3) +
    I(as.numeric(day - min(day)))
  data <- transform(cars(), day = as.Date("2024-01-01") + seq_along(mpg))
  input <- input_fn(formula, data)
  picked <- c(20, 3)
  for (term in names(input$terms)) {
    values <- evaluate_term(input$terms[[term]], term, data[picked, ], 2, input$scope)
    whole <- input$data[[term]]
    expected <- if (is.matrix(whole)) whole[picked, , drop = FALSE] else whole[picked]
    expect_identical(values, expected)
  }
  known <- with_known_terms(input_fn(formula, data[1:12, ]), input$terms)
  expect_identical(known$data[["poly(wt, power)"]], input$data[["poly(wt, power)"]][1:12, ])
})

test_that("a function that a term names as an argument is not a column", {
  own <- function(x) x + 1
  formula <- mpg ~ sapply(wt, own) + C(f, contr.sum) + vapply(hp, log, 0)
  input <- input_fn(formula, cars())
  expect_setequal(variables_of(input$terms), c("wt", "f", "hp"))
  values <- with_trained_terms(later(), input$terms, input$scope)
  expect_identical(values[["sapply(wt, own)"]], later()$wt + 1)
  expect_identical(values[["vapply(hp, log, 0)"]], log(later()$hp))
  expect_identical(as.character(values[["C(f, contr.sum)"]]), as.character(later()$f))
  # A model file must not bring a function in this way.
  for (text in c(
    "sapply(wt, .function(\"own\"))",
    "I(wt + .function(\"own\"))",
    "I(wt + .function(wt))"
  )) {
    expect_error(
      with_trained_terms(later(), list(term = text), NULL),
      "only a formula of your own",
      class = "tfdistribute_input_error"
    )
  }
})

test_that("terms of a model that reads missing values are columns of one type in every verb", {
  data <- cars()
  data$hp[3] <- NA
  data$f[4] <- NA
  data$day <- as.Date("2024-01-01") + seq_len(32)
  data$day[5] <- NA
  formula <- log(mpg) ~ . +
    log(hp) +
    I(hp > 100) +
    I(wt > 3) +
    factor(f) +
    paste(f) +
    I(wt^2) +
    I(day + 1) +
    I(as.integer(hp))
  input <- input_fn(formula, data, impute = keep_missing)
  facts <- function(input) lapply(input$columns, `[`, c("name", "type", "shape"))
  # As a training keeps its terms, and as a verb computes them again.
  kept <- with_known_terms(input, input$terms)
  expect_identical(facts(kept), facts(input))
  expect_identical(kept$data, input$data)
  rows <- with_trained_terms(data, input$terms, input$scope)
  features <- setdiff(names(input$columns), input$response)
  later <- input_fn(rows, tidyselect::all_of(features), impute = keep_missing)
  expect_identical(facts(later), facts(input)[features])
  expect_identical(later$columns[["I(wt > 3)"]]$type, "string")
})

test_that("a tabular model trains on terms with missing values, and predicts", {
  leave_to_check()
  skip_if_no_tensorflow()
  data <- cars()
  data$hp[3] <- NA
  model <- tabular_regressor(4, ensemble = 1, epochs = 1)
  train(model, log(mpg) ~ . + I(hp > 100) + log(hp), data)
  predicted <- predict(model, data)$predictions
  expect_true(all(is.finite(predicted)))
  expected <- mean((log(data$mpg) - predicted)^2)
  expect_equal(evaluate(model, data)$average_loss, expected, tolerance = 1e-5)
})

test_that("feature columns and inputs print and name computed terms alike", {
  formula <- log(mpg) ~ log(wt) + poly(hp, 2) + f + cut(wt, 3)
  expect_snapshot({
    input_fn(formula, cars())
    feature_columns(formula, cars())
  })
})

test_that("terms that cannot be computed are refused by name", {
  missing <- transform(mtcars, wt = replace(wt, 3, NA))
  many <- data.frame(y = 1, a = factor(1:40), b = factor(1:40))
  expect_snapshot(error = TRUE, {
    input_fn(mpg ~ wt - 1, mtcars)
    input_fn(mpg ~ wt + offset(hp), mtcars)
    input_fn(mpg ~ log(weight), mtcars)
    input_fn(mpg ~ poly(wt, 2), missing)
    input_fn(mpg ~ log(wt), missing)
    input_fn(mpg ~ log(3), mtcars)
    input_fn(mpg ~ rank(wt), mtcars)
    input_fn(y ~ a:b, many)
    input_fn(mpg ~ sqrt("wt"), mtcars)
    read_formula(mpg ~ log(wt), mtcars, computes = FALSE)
    evaluate_term("system(\"true\")", "x", list(), 1)
    evaluate_term("base::system(\"true\")", "x", list(), 1)
    evaluate_term(".levels(f, \"u\")", "f:wt", list(f = "z"), 1)
  })
  # The indicators of a factor contain the intercept.
  expect_no_error(input_fn(mpg ~ wt + factor(cyl) - 1, mtcars))
  expect_identical(suppressWarnings(input_fn(mpg ~ log(wt - 3), mtcars, impute = 0))$impute[[1]], 0)
})

test_that("a linear model of computed terms has the predictions of lm()", {
  skip_if_no_tensorflow()
  set.seed(1)
  data <- data.frame(x = runif(200, 1, 4), a = rnorm(200), b = rnorm(200), z = runif(200, -1, 1))
  data$cyl <- rep(c(4, 6, 8), length.out = 200)
  data$y <- with(
    data,
    x - 0.3 * x^2 + 0.4 * a * b + z^2 + 0.2 * cyl + log(x) + rnorm(200, sd = 0.1)
  )
  formula <- y ~ poly(x, 2) + a:b + I(z^2) + factor(cyl) + log(b^2 + 1) - 1
  reference <- lm(formula, data)
  model <- linear_regressor(
    feature_columns(formula, data, standardize = TRUE),
    optimizer = list("adam", learning_rate = 0.05),
    config = run_config(seed = 1)
  )
  train(model, formula, data = data, batch_size = 200, epochs = 1500)
  expect_equal(
    predict(model, newdata = data)$predictions,
    unname(fitted(reference)),
    tolerance = 1e-4
  )
  new <- data[c(150, 8), ]
  expected <- unname(predict(reference, new))
  expect_equal(predict(model, newdata = new)$predictions, expected, tolerance = 1e-4)
  expect_equal(predict(model, newdata = new[2, ])$predictions, expected[2], tolerance = 1e-4)
  expect_equal(predict(model, formula, data = new[2, ])$predictions, expected[2], tolerance = 1e-4)
  expect_equal(
    predict(model, input_fn(formula, data[1:150, ]))$predictions[[8]],
    expected[2],
    tolerance = 1e-4
  )
  loss <- mean((expected - new$y)^2)
  expect_equal(evaluate(model, new)$loss, loss, tolerance = 1e-3)
  path <- save_estimator(model, withr::local_tempfile())
  expect_identical(predict(load_estimator(path), newdata = new), predict(model, newdata = new))
  expect_error(
    predict(model, newdata = new[-1]),
    "no column `x`",
    class = "tfdistribute_input_error"
  )
  expect_warning(
    predict(model, newdata = transform(new, cyl = 5)),
    "`factor\\(cyl\\)` \"5\"",
    class = "tfdistribute_new_levels_warning"
  )
})

test_that("a model file with a function that is not listed must be trusted", {
  skip_if_no_tensorflow()
  double <- function(x) 2 * x
  model <- linear_regressor(feature_columns(mpg ~ double(wt), mtcars))
  train(model, mpg ~ double(wt), data = mtcars)
  expected <- predict(model, newdata = mtcars)
  path <- save_estimator(model, withr::local_tempfile())
  error <- expect_error(
    load_estimator(path),
    "calls double\\(\\)",
    class = "tfdistribute_model_error"
  )
  expect_match(error$remedy, "trusted = TRUE")
  # The session has no double() of its own, so only a formula can bring it.
  restored <- load_estimator(path, trusted = TRUE)
  expect_identical(predict(restored, ~ double(wt), data = mtcars), expected)
})

test_that("a job and train_and_evaluate() use the terms of the training", {
  skip_if_no_tensorflow()
  formula <- log(mpg) ~ poly(wt, 2) + hp:disp
  columns <- feature_columns(formula, mtcars, standardize = TRUE)
  config <- run_config(strategy_multi_worker(), cluster = local_cluster(workers = 2), seed = 1)
  alone <- linear_regressor(columns, config = run_config(seed = 1))
  model <- linear_regressor(columns, config = config)
  for (each in list(alone, model)) {
    train(each, formula, data = mtcars, batch_size = 32, epochs = 5)
  }
  expect_equal(
    predict(model, newdata = mtcars[5:6, ]),
    predict(alone, newdata = mtcars[5:6, ]),
    tolerance = 1e-5
  )
  evaluated <- linear_regressor(columns, config = run_config(seed = 1))
  history <- train_and_evaluate(
    evaluated,
    train_spec(input_fn(formula, mtcars, epochs = NULL), max_steps = 3),
    eval_spec(input_fn(formula, mtcars[1:9, ]))
  )
  measured <- as.data.frame(history)
  loss <- measured$value[measured$metric == "average_loss" & measured$data == "evaluation"]
  expect_equal(
    utils::tail(loss, 1),
    evaluate(evaluated, mtcars[1:9, ])$average_loss,
    tolerance = 1e-6
  )
})
