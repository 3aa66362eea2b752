# Methods for the generics of broom, tibble and ggplot2, called through these packages.

a_finished_training <- function() {
  new_history(list(
    training = list(
      step = array(c(1, 10)),
      loss = array(c(3, 2)),
      seconds = array(c(0, 0.5)),
      examples_per_second = array(c(NaN, 900))
    ),
    evaluation = list(list(loss = 2.5, accuracy = 0.5, global_step = 10)),
    examples_per_second = 900,
    global_step = 10,
    model_dir = "runs/example"
  ))
}

test_that("a history is tidied, glanced at and plotted by the usual generics", {
  history <- a_finished_training()
  expected <- tibble::tibble(
    step = c(1L, 10L, 10L, 10L),
    metric = c("loss", "loss", "loss", "accuracy"),
    value = c(3, 2, 2.5, 0.5),
    data = c("training", "training", "evaluation", "evaluation")
  )
  expect_identical(generics::tidy(history), expected)
  expect_identical(tibble::as_tibble(history), expected)
  skip_if_not_installed("broom")
  expect_identical(
    broom::glance(history),
    tibble::tibble(
      steps = 10L,
      global_step = 10L,
      first_loss = 3,
      last_loss = 2,
      examples_per_second = 900,
      evaluation_loss = 2.5,
      evaluation_accuracy = 0.5
    )
  )
  drawn <- ggplot2::autoplot(history, metrics = "accuracy")
  expect_s3_class(drawn, "ggplot")
  expect_identical(levels(drawn$data$metric), "accuracy")
})

test_that("a linear regressor has terms like lm(), and rows with fitted values and residuals", {
  skip_if_no_tensorflow()
  model <- linear_regressor(feature_columns(mpg ~ wt + hp, mtcars))
  train(model, mpg ~ wt + hp, data = mtcars, epochs = 2)
  weights <- coef(model)
  expect_identical(
    generics::tidy(model),
    tibble::tibble(term = names(weights), estimate = unname(weights))
  )
  rows <- generics::augment(model, mtcars)
  expect_named(rows, c(names(mtcars), ".fitted", ".resid"))
  expect_identical(rows$.fitted, predict(model, newdata = mtcars)$predictions)
  expect_identical(rows$.resid, mtcars$mpg - rows$.fitted)
  expect_named(
    generics::augment(model, newdata = mtcars["wt"][0:2, , drop = FALSE] |> cbind(hp = 90)),
    c("wt", "hp", ".fitted")
  )
  evaluated <- evaluate(model, mtcars)
  glanced <- generics::glance(model)
  expect_identical(glanced$kind, "linear_regressor")
  expect_identical(glanced$parameters, 3)
  expect_identical(glanced$evaluation_loss, evaluated$loss)
  expect_identical(tibble::as_tibble(model), summary(model)$weights)
  expect_s3_class(ggplot2::autoplot(model), "ggplot")
  expect_snapshot(generics::augment(model, "mtcars.csv"), error = TRUE)
})

test_that("a classifier has an estimate per class, and rows with classes and probabilities", {
  skip_if_no_tensorflow()
  model <- linear_classifier(
    feature_columns(Species ~ Sepal.Width, iris),
    n_classes = 3,
    label_vocabulary = levels(iris$Species)
  )
  train(model, Species ~ Sepal.Width, data = iris, epochs = 2)
  tidied <- generics::tidy(model)
  expect_identical(tidied$output, rep(levels(iris$Species), each = 2))
  expect_identical(tidied$estimate, as.vector(coef(model)))
  rows <- generics::augment(model, iris)
  probabilities <- as.matrix(rows[paste0(".pred_", levels(iris$Species))])
  expect_equal(rowSums(probabilities), rep(1, 150), tolerance = 1e-6)
  expect_identical(as.integer(rows$.pred_class), max.col(probabilities, "first"))
  expect_identical(levels(rows$.pred_class), levels(iris$Species))
})

test_that("a linear fit of parsnip's engine has the coefficients of lm()", {
  skip_if_no_tensorflow()
  cars <- transform(mtcars, disp = disp * 1e4)
  fitted <- tfdistribute_fit(cars[c("wt", "disp")], cars$mpg * 1000)
  expected <- coef(lm(I(mpg * 1000) ~ wt + disp, cars))
  tidied <- generics::tidy(fitted)
  expect_identical(tidied$term, names(expected))
  expect_equal(tidied$estimate, unname(expected), tolerance = 1e-4)
  glanced <- generics::glance(fitted)
  expect_named(glanced, c("kind", "parameters", "global_step", "last_loss"))
  expect_identical(glanced$kind, "linear_regressor")
  expect_identical(glanced$last_loss, utils::tail(fitted$history$value, 1))
  expect_identical(generics::augment(fitted, cars)$.fitted, predict(fitted, cars))
})

test_that("a fitted classifier has an estimate per class, in the unit of the predictor", {
  skip_if_no_tensorflow()
  fitted <- tfdistribute_fit(iris["Sepal.Width"], iris$Species, epochs = 5)
  tidied <- generics::tidy(fitted)
  expect_identical(tidied$output, rep(levels(iris$Species), each = 2))
  rows <- generics::augment(fitted, iris)
  expect_named(rows, c(names(iris), ".pred_class", paste0(".pred_", levels(iris$Species))))
  logits <- outer(iris$Sepal.Width, tidied$estimate[c(2, 4, 6)]) +
    rep(tidied$estimate[c(1, 3, 5)], each = 150)
  expect_equal(rows$.pred_virginica, exp(logits[, 3]) / rowSums(exp(logits)), tolerance = 1e-5)
  deep <- tfdistribute_mlp(iris["Sepal.Width"], iris$Species, epochs = 1)
  expect_identical(generics::glance(deep)$kind, "dnn_classifier")
  expect_snapshot(generics::tidy(deep), error = TRUE)
})

test_that("coef() names responses and classes, and predict() names probabilities by classes", {
  skip_if_no_tensorflow()
  data <- data.frame(x = c(1, 2, 3, 4), u = 1:4, v = 4:1, kind = factor(c("c", "a", "b", "a")))
  columns <- feature_columns(column_numeric("x"))
  both <- linear_regressor(columns, label_dimension = 2)
  train(both, cbind(u, log(v)) ~ x, data = data, epochs = 1)
  expect_identical(dimnames(coef(both)), list(c("(Intercept)", "x"), c("u", "log(v)")))
  kinds <- linear_classifier(columns, n_classes = 3)
  train(kinds, kind ~ x, data = data, epochs = 1)
  expect_identical(colnames(coef(kinds)), c("a", "b", "c"))
  predicted <- predict(kinds, data)
  probabilities <- do.call(rbind, predicted$probabilities)
  expect_identical(colnames(probabilities)[max.col(probabilities)], predicted$classes)
  following <- predict(kinds, data, as_iterable = TRUE)
  expect_named(following()$probabilities[[1]], c("a", "b", "c"))
  expect_identical(unique(generics::tidy(both)$output), c("u", "log(v)"))
  unnamed <- linear_regressor(columns, label_dimension = 2)
  train(unnamed, function() {
    features <- list(x = c(1, 2, 3, 4))
    labels <- matrix(1:8 + 0.5, 4)
    tf$data$Dataset$from_tensor_slices(list(features = features, labels = labels))$batch(4L)
  })
  expect_null(colnames(coef(unnamed)))
})
