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
