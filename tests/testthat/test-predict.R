test_that("one value for each row becomes a vector, several a list of vectors in row order", {
  expect_identical(prediction_column(array(1:3, c(3, 1))), 1:3)
  expect_identical(prediction_column(matrix(1:6, 3)), list(c(1L, 4L), c(2L, 5L), c(3L, 6L)))
  cube <- array(1:12, c(2, 3, 2))
  expect_identical(prediction_column(cube)[[2]], cube[2, , ])
  expect_identical(
    prediction_column(matrix(c("b", "a", "d", "c"), 2)),
    list(c("b", "d"), c("a", "c"))
  )
  expect_identical(prediction_column(array(c("a", "b"), c(2, 1))), c("a", "b"))
})

test_that("tfestimators' columns come first, and no output of a model is lost", {
  one <- matrix(1, 1, 1)
  columns <- list(all_classes = matrix("a", 1, 2), aux = one, logits = one, classes = one)
  expect_named(prediction_tibble(columns), c("classes", "logits", "all_classes", "aux"))
})

test_that("without simplify there is one named list for each row", {
  rows <- rows_of(tibble::tibble(classes = c("a", "b"), logits = list(1:2, 3:4)))
  expect_identical(rows[[2]], list(classes = "b", logits = 3:4))
})

test_that("outputs that are the same in every row are not computed unless they are asked for", {
  asked <- local_bridge(list(value = list(logits = matrix(1, 1, 1))))
  model <- linear_classifier(feature_columns(column_numeric("x")))
  input <- input_fn(y ~ x, data.frame(x = 1, y = 1))
  predict(model, input)
  expect_identical(asked$arguments$hidden_keys, list("all_classes", "all_class_ids"))
  predict(model, input, predict_keys = "classes")
  expect_null(asked$arguments$hidden_keys)
})

test_that("an output that predict_keys names is also returned batch by batch", {
  batches <- list(list(all_classes = matrix("a", 1, 2)), NULL)
  local_answers(predict = function(arguments) "batches", next_batch = function(arguments) {
    batch <- batches[[1]]
    batches <<- batches[-1]
    batch
  })
  model <- linear_classifier(feature_columns(column_numeric("x")))
  input <- input_fn(y ~ x, data.frame(x = 1, y = 1))
  following <- predict(model, input, predict_keys = "all_classes", as_iterable = TRUE)
  expect_named(following(), "all_classes")
  expect_null(following())
})

# Numbers that no other position has, and what Python answers with them.
numbers <- function(columns) matrix(seq_len(3 * columns) / 7, 3, columns)
answered <- list(
  one = list(predictions = numbers(1)),
  two = list(
    classes = matrix(c("no", "yes", "no")),
    logits = numbers(1),
    probabilities = numbers(2)
  ),
  several = list(
    classes = matrix(c("c", "a", "c")),
    logits = numbers(3),
    probabilities = numbers(3)
  )
)

# What each type is, by a model and its answer.
typed_cases <- function() {
  columns <- feature_columns(column_numeric("x"))
  named <- function(names) `colnames<-`(numbers(length(names)), names)
  as_tibble <- function(names) tibble::as_tibble(named(names))
  two <- list(
    response = numbers(2)[, 2],
    link = numbers(1)[, 1],
    class = factor(c("no", "yes", "no"), c("no", "yes")),
    prob = as_tibble(c("no", "yes"))
  )
  several <- list(
    response = named(c("c", "b", "a")),
    link = named(c("c", "b", "a")),
    class = factor(c("c", "a", "c"), c("c", "b", "a")),
    prob = as_tibble(c("c", "b", "a"))
  )
  case <- function(model, answer, types, classes = NULL) as.list(environment())
  plain <- list(response = numbers(1)[, 1], link = numbers(1)[, 1])
  both <- list(predictions = numbers(2))
  lists <- list(response = named(c("u", "v")), link = named(c("u", "v")))
  quantiles <- list(quantile = named(c("0.1", "0.25", "0.9")))
  list(
    case(linear_regressor(columns), answered$one, plain),
    case(dnn_regressor(4, columns), answered$one, plain),
    case(dnn_linear_combined_regressor(linear_feature_columns = columns), answered$one, plain),
    case(baseline_regressor(), answered$one, plain),
    case(tabular_regressor(), answered$one, plain),
    case(
      tabular_regressor(loss = "poisson"),
      answered$one,
      list(response = numbers(1)[, 1], link = log(numbers(1)[, 1]))
    ),
    case(linear_regressor(columns, label_dimension = 2), both, lists),
    case(
      tabular_regressor(quantiles = c(0.1, 0.25, 0.9)),
      list(predictions = numbers(3)),
      quantiles
    ),
    case(linear_classifier(columns), answered$two, two, c("no", "yes")),
    case(baseline_classifier(), answered$two, two, c("no", "yes")),
    case(tabular_classifier(), answered$two, two, c("no", "yes")),
    case(dnn_classifier(4, columns, n_classes = 3), answered$several, several, c("c", "b", "a"))
  )
}

test_that("a type is a form of the outputs as R's models have it, and a model lacks the other types", {
  for (case in typed_cases()) {
    local_answers(
      predict = function(arguments) case$answer[unlist(arguments$predict_keys)],
      learned = function(arguments) list(classes = case$classes),
      trained_columns = function(arguments) {
        list(response = "both", terms = list(both = "cbind(u, v)"))
      }
    )
    input <- input_fn(~x, data.frame(x = 1:3))
    for (type in c("response", "link", "class", "prob", "quantile")) {
      info <- paste(case$model$kind, type)
      if (type %in% names(case$types)) {
        typed <- predict(case$model, input, type = type)
        expect_identical(typed, case$types[[type]], info = info)
      } else {
        error <- expect_error(
          predict(case$model, input, type = type),
          class = "tfdistribute_argument_error"
        )
        for (other in names(case$types)) {
          expect_match(error$problem, quoted(other), fixed = TRUE, info = info)
        }
      }
    }
  }
})

test_that("predictions for no rows have the columns of others, as in predict.lm()", {
  skip_if_no_tensorflow()
  folder <- function() tempfile("model", withr::local_tempdir(.local_envir = parent.frame(2)))
  cars <- cars_and_words()
  cars$am <- mtcars$am == 1
  columns <- feature_columns(~ wt + word + maker, cars)
  formula <- mpg ~ poly(wt, 2) + log(hp)
  line <- function(features, labels, mode) {
    output <- tf$compat$v1$layers$dense(tf$reshape(features$wt, list(-1L, 1L)), 1L)
    loss <- if (!is.null(labels)) tf$reduce_mean((tf$reshape(labels, list(-1L, 1L)) - output)^2)
    predictions <- list(y = output, pair = tf$concat(list(output, output), 1L))
    list(predictions = predictions, loss = loss, optimizer = "sgd")
  }
  network <- function() {
    model <- tf$keras$Sequential(list(tf$keras$layers$Dense(2L, input_shape = list(2L))))
    model$compile(optimizer = "sgd", loss = "mse")
    model
  }
  cases <- list(
    list(linear_regressor(columns, folder()), mpg ~ wt + word + maker),
    list(linear_classifier(columns[c(1, 3)], folder(), n_classes = 4), factor(word) ~ wt + maker),
    list(dnn_classifier(4, columns[1], folder()), maker ~ wt),
    list(linear_regressor(feature_columns(formula, cars), folder()), formula),
    list(baseline_classifier(model_dir = folder()), maker ~ wt),
    list(tabular_classifier(8, model_dir = folder(), epochs = 1), maker ~ wt + am + word),
    list(estimator(line, folder()), mpg ~ wt),
    list(keras_model_to_estimator(network, model_dir = folder()), mpg ~ wt + hp)
  )
  for (case in cases) {
    model <- case[[1]]
    train(model, case[[2]], data = cars)
    expected <- predict(model, cars)
    expect_identical(predict(model, cars[0, ]), expected[0, ])
    for (type in names(prediction_types(model))) {
      typed <- predict(model, cars[1:2, ], type = type)
      none <- predict(model, cars[0, ], type = type)
      is_table <- !is.null(dim(typed))
      expect_identical(none, if (is_table) typed[0, , drop = FALSE] else typed[0])
    }
    expect_identical(predict(model, cars[0, ], simplify = FALSE), list())
    expect_null(predict(model, cars[0, ], as_iterable = TRUE)())
  }
  expect_identical(
    predict(cases[[1]][[1]], cars[0, ], cluster = local_cluster(2)),
    predict(cases[[1]][[1]], cars)[0, ]
  )
  expect_error(evaluate(model, cars[0, ]), "no rows", class = "tfdistribute_input_error")
  expect_error(predict(model, list(wt = list(), hp = list())), "The data has no rows")
})
