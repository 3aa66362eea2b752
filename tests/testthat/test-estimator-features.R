in_graph <- function(code) {
  graph <- tf$Graph()
  with(graph$as_default(), code)
}

columns <- function(...) {
  as_features(lapply(list(...), function(values) tf$constant(values)))
}

values_of <- function(tensor) {
  session <- tf$compat$v1$Session(graph = tensor$graph)
  on.exit(session$close())
  session$run(tensor)
}

test_that("features of numbers are a list, and one matrix", {
  skip_if_no_tensorflow()
  in_graph({
    features <- columns(wt = c(1, 2), hp = c(3, 4), am = c(5, 6))
    values <- matrix(as.double(1:6), 2)
    expect_identical(names(features), c("wt", "hp", "am"))
    expect_length(features, 3)
    expect_identical(values_of(features$hp), array(c(3, 4)))
    expect_identical(unname(lapply(features, values_of))[[3]], array(c(5, 6)))
    expect_identical(values_of(tf$reduce_sum(features, 1L)), array(c(9, 12)))
    ones <- tf$ones(shape(3, 1), tf$float32)
    expect_identical(values_of(tf$matmul(features, ones)), matrix(c(9, 12)))
    expect_identical(values_of(features[c("am", "wt")] * 2), matrix(c(10, 12, 2, 4), 2))
    expect_identical(values_of(features[, 2] - features$wt), array(c(2, 2)))
    expect_equal(values_of(sqrt(features) + 1), sqrt(values) + 1, tolerance = 1e-6)
    centred <- matrix(c(-0.5, 0.5), 2, 3)
    expect_identical(values_of(features - mean(features, axis = 1)), centred)
    expect_identical(values_of(sum(features, axis = 2)), array(rowSums(values)))
    expect_identical(values_of(do.call(cbind, features)), values)
    expect_identical(values_of(cbind(features, 1, features$am)), cbind(values, 1, values[, 3]))
    expect_identical(values_of(t(head(features, 1))), t(values[1, , drop = FALSE]))
    expect_identical(values_of(as.matrix(features)), values)
    expect_identical(dim(features), c(2L, 3L))
    expect_identical(as.integer(features$shape$as_list()), c(2L, 3L))
    expect_output(print(features), "<features> wt, hp, am", fixed = TRUE)
  })
})

test_that("features without names are a list of tensors", {
  skip_if_no_tensorflow()
  in_graph({
    features <- columns(wt = c(1, 2), hp = c(3, 4))
    nameless <- features
    names(nameless) <- NULL
    # Its class has stayed.
    stripped <- features
    attr(stripped, "names") <- NULL
    lists <- list(
      unname(features),
      nameless,
      stripped,
      unname(as.list(features)),
      unname(lapply(features, identity))
    )
    for (each in lists) {
      expect_identical(values_of(tf$stack(each, axis = 1L)), matrix(c(1, 2, 3, 4), 2))
    }
    renamed <- stats::setNames(features, c("a", "b"))
    expect_identical(values_of(renamed[, 2] - renamed$a), array(c(2, 2)))
    expect_identical(values_of(Reduce(`+`, features)), array(c(4, 6)))
    expect_identical(values_of(with(features, wt * hp)), array(c(3, 8)))
  })
})

test_that("a feature that is added is in the matrix, too", {
  skip_if_no_tensorflow()
  in_graph({
    features <- columns(wt = c(1, 2))
    features$twice <- features$wt * 2
    expect_identical(values_of(tf$reduce_sum(features, 0L)), array(c(3, 6)))
  })
})

test_that("features of several kinds are a list only", {
  skip_if_no_tensorflow()
  in_graph({
    features <- columns(wt = c(1, 2), name = c("a", "b"))
    expect_null(dim(features))
    expect_named(reticulate::py_to_r(as_python(features)), c("wt", "name"))
  })
  single <- tf$constant(1)
  expect_identical(as_features(single), single)
})

# The way of tfestimators: all features through one layer, and classes as codes.
layers_of <- function(features, labels, mode) {
  hidden <- tf$compat$v1$layers$dense(features, 8L, activation = tf$nn$relu)
  logits <- tf$compat$v1$layers$dense(hidden, 3L)
  classes <- tf$argmax(logits, 1L)
  if (mode == "infer") {
    return(estimator_spec(mode, predictions = list(class = classes, logits = logits)))
  }
  onehot <- tf$one_hot(labels, 3L)
  loss <- tf$compat$v1$losses$softmax_cross_entropy(onehot, logits)
  step <- tf$compat$v1$train$get_global_step()
  optimizer <- tf$compat$v1$train$AdagradOptimizer(0.1)
  estimator_spec(mode, loss = loss, train_op = optimizer$minimize(loss, global_step = step))
}

test_that("a factor has the codes of the training in all data, which are listed once", {
  skip_if_no_tensorflow()
  withr::local_options(tfdistribute.progress = TRUE)
  model <- estimator(layers_of, model_dir = withr::local_tempdir())
  flowers <- function(data, ...) {
    input_fn(data, c(Petal.Length, Petal.Width, Species), response = Kind, batch_size = 50, ...)
  }
  data <- transform(iris, Kind = Species)
  said <- character()
  keep <- function(message) {
    said <<- c(said, conditionMessage(message))
    invokeRestart("muffleMessage")
  }
  history <- withCallingHandlers(train(model, flowers(data, epochs = 60)), message = keep)
  again <- withCallingHandlers(train(model, flowers(data), steps = 1), message = keep)
  listed <- "The factor `Kind` is read as codes: 0 = setosa, 1 = versicolor, 2 = virginica."
  expect_identical(sum(trimws(said) == listed), 1L)
  expect_true(listed %in% history$notes)
  expect_identical(again$notes, character())
  predicted <- predict(model, flowers(data))
  expect_gt(mean(predicted$class == as.integer(iris$Species) - 1L), 0.9)
  reversed <- transform(data, Species = factor(Species, rev(levels(Species))))
  expect_equal(predict(model, flowers(reversed)), predicted)
  strings <- transform(data, Species = as.character(Species))
  expect_equal(predict(model, flowers(strings)), predicted)
  unknown <- transform(data, Species = factor("rose"))
  expect_snapshot(error = TRUE, predict(model, flowers(unknown)))
})

test_that("identity columns and numeric columns read the codes of a factor", {
  skip_if_no_tensorflow()
  data <- data.frame(f = factor(rep(c("a", "b", "c"), 20)), y = rep(1:3, 20) + 0.5)
  fitted <- function(column, f) {
    model <- linear_regressor(feature_columns(column), model_dir = withr::local_tempdir())
    train(model, input_fn(y ~ f, transform(data, f = f), shuffle = FALSE, epochs = 4))
    predict(model, input_fn(~f, transform(data, f = f)[1:3, ]))
  }
  codes <- as.integer(data$f) - 1L
  for (column in list(
    column_categorical_with_identity("f", num_buckets = 3),
    column_numeric("f")
  )) {
    expect_equal(fitted(column, data$f), fitted(column, codes))
  }
})
