# Sparse matrices of the package Matrix as features.

sparse_rows <- function(rows = 40, columns = 12) {
  withr::local_seed(3)
  x <- Matrix::rsparsematrix(rows, columns, density = 0.2)
  x[2, ] <- 0
  list(x = Matrix::drop0(x), y = as.vector(x %*% seq_len(columns)) / 10 + 1)
}

trained_on <- function(x, y, ..., cluster = NULL, strategy = NULL) {
  data <- list(x = x, y = y)
  model <- linear_regressor(
    if (is_sparse(x)) feature_columns(y ~ x, data) else column_numeric("x", shape = ncol(x)),
    optimizer = list("sgd", learning_rate = 0.1),
    standardize_response = FALSE,
    config = run_config(strategy, cluster = cluster, seed = 1)
  )
  train(model, y ~ x, data = data, batch_size = 8, epochs = 3, ...)
  model
}

weights_of <- function(model) unname(coef(model))

test_that("a sparse matrix becomes the numbers and values of its columns, row by row", {
  x <- Matrix::sparseMatrix(
    i = c(1, 3, 3, 3),
    j = c(2, 4, 1, 2),
    x = c(5, 6, -7, 0),
    dims = c(4, 4)
  )
  found <- sparse_columns(x, "x")
  expect_identical(found[[1]], rbind(c(1L, -1L), c(-1L, -1L), c(0L, 3L), c(-1L, -1L)))
  expect_identical(found[[2]], rbind(c(5, 0), c(0, 0), c(-7, 6), c(0, 0)))
  expect_identical(sparse_columns(x * 0, "x")[[1]], matrix(-1L, 4, 1))
  # All kinds of sparse matrices.
  symmetric <- methods::as(Matrix::crossprod(x), "symmetricMatrix")
  expected <- sparse_columns(methods::as(symmetric, "generalMatrix"), "x")
  expect_identical(sparse_columns(symmetric, "x"), expected)
  for (class in c("RsparseMatrix", "TsparseMatrix")) {
    expect_identical(sparse_columns(methods::as(x, class), "x"), found)
  }
  expect_identical(sparse_columns(methods::as(Matrix::drop0(x), "nMatrix"), "x")[[2]][3, ], c(1, 1))
  expect_identical(sparse_columns(Matrix::Diagonal(2), "x")[[1]], matrix(0:1, 2))
  input <- input_fn(y ~ ., list(x = x, z = 1:4, y = 4:1))
  expect_named(input$columns, c("x", "z", "x_values", "y"))
})

test_that("a sparse matrix trains the weights of the dense matrix, on devices and in processes", {
  skip_if_no_tensorflow()
  rows <- sparse_rows()
  dense <- trained_on(as.matrix(rows$x), rows$y)
  sparse <- trained_on(rows$x, rows$y)
  expect_equal(weights_of(sparse), weights_of(dense), tolerance = 1e-6)
  expect_gt(max(abs(weights_of(dense)[-1])), 0.1)
  two <- trained_on(rows$x, rows$y, strategy = strategy_mirrored(devices = 2))
  expect_equal(weights_of(two), weights_of(dense), tolerance = 1e-6)
  if (checks_all()) {
    several <- trained_on(rows$x, rows$y, cluster = local_cluster(workers = 2))
    expect_equal(weights_of(several), weights_of(dense), tolerance = 1e-6)
  }
  # Other rows have other numbers of values.
  expected <- predict(dense, list(x = as.matrix(rows$x)))$predictions
  expect_equal(predict(sparse, list(x = rows$x))$predictions, expected, tolerance = 1e-5)
  one <- predict(sparse, list(x = rows$x[3, , drop = FALSE]))$predictions
  expect_equal(one, expected[[3]], tolerance = 1e-5)
  plain <- predict(sparse, list(x = as.matrix(rows$x)[3:4, ]))$predictions
  expect_equal(plain, expected[3:4], tolerance = 1e-5)
  frame <- data.frame(y = rows$y)
  frame$x <- rows$x
  error <- mean((expected - rows$y)^2)
  expect_equal(evaluate(sparse, frame)$average_loss, error, tolerance = 1e-5)
})

test_that("layers read a sparse matrix by an embedding", {
  skip_if_no_tensorflow()
  rows <- sparse_rows()
  column <- column_embedding(feature_columns(~x, rows["x"]), dimension = 3, combiner = "sum")
  model <- dnn_regressor(column, hidden_units = 2, optimizer = list("sgd", learning_rate = 0))
  train(model, y ~ x, data = rows, epochs = 1)
  # The first layer reads the product of the matrix and the vectors.
  weights <- function(name) {
    variable_value(model, grep(paste0(name, "$"), variable_names(model), value = TRUE))[[1]]
  }
  hidden <- as.matrix(rows$x) %*% weights("embedding_weights") %*% weights("hiddenlayer_0/kernel")
  hidden <- pmax(sweep(hidden, 2, weights("hiddenlayer_0/bias"), "+"), 0)
  expected <- hidden %*% weights("logits/kernel") + as.vector(weights("logits/bias"))
  scale <- unlist(call_backend("model_facts", model_dir = model$model_dir)$response_scale)
  expected <- as.vector(expected) * scale[[2]] + scale[[1]]
  expect_equal(predict(model, rows["x"])$predictions, expected, tolerance = 1e-5)
})

test_that("100,000 rows of 10,000 columns train in the memory of their values", {
  skip_if_no_tensorflow()
  peak_mb <- in_child_r(
    function() {
      library(tfdistribute)
      set.seed(1)
      rows <- 1e5
      train_rows <- function(rows) {
        x <- Matrix::sparseMatrix(
          i = rep(seq_len(rows), each = 10),
          j = sample.int(1e4, 10 * rows, replace = TRUE),
          x = 1,
          dims = c(rows, 1e4)
        )
        data <- list(x = x, y = as.vector(x[, 1]) + 1)
        model <- linear_regressor(feature_columns(y ~ x, data))
        train(model, y ~ x, data = data, batch_size = 1024, epochs = 1, view = FALSE)
      }
      peak <- function() {
        lines <- readLines("/proc/self/status")
        as.numeric(gsub("[^0-9]", "", grep("^VmHWM", lines, value = TRUE))) / 1024
      }
      train_rows(1000)
      before <- peak()
      train_rows(rows)
      peak() - before
    },
    list()
  )
  # The dense matrix takes 4,000 MB in 32 bits.
  expect_lt(peak_mb, 400)
})

test_that("what a sparse matrix cannot do has a remedy", {
  local_reproducible_output(width = 100)
  rows <- sparse_rows()
  expect_snapshot(input_fn(rows$x), error = TRUE)
  expect_snapshot(input_fn(y ~ ., c(rows, list(x_values = 1:40))), error = TRUE)
  missing <- replace(rows, "x", list(replace(rows$x, 1, NA)))
  expect_snapshot(input_fn(y ~ x, missing), error = TRUE)
  expect_snapshot(train(tabular_regressor(), y ~ x, data = rows), error = TRUE)
})
