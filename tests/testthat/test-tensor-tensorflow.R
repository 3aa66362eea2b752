# R's package tensorflow, or where it is not installed, a stand-in that has its `tf`, a module that is imported on first
# use, and does to classes and methods what it does. Version 2.11 gives its class to variables, and to tensors of
# TensorFlow 2.13 and older only; version 2.20 to all tensors.
local_tensorflow <- function(classes, frame = parent.frame()) {
  code <- c(
    "tf <- NULL",
    paste("own_classes <-", paste(deparse(classes), collapse = " ")),
    "as_alike <- function(x, other) {",
    "  if (inherits(x, 'tensorflow.tensor')) x else tf$cast(tf$convert_to_tensor(x), other$dtype)",
    "}",
    "both <- function(name) {",
    "  function(a, b) {",
    "    if (inherits(a, 'tensorflow.tensor')) b <- as_alike(b, a) else a <- as_alike(a, b)",
    "    tf[[name]](a, b)",
    "  }",
    "}",
    # As the original, it reckons the number of rows, and asks TensorFlow to fill in two sizes where it is not known.
    "columns <- function(...) {",
    "  rows <- setdiff(sapply(lapply(list(...), dim), function(size) size[1]), 1L)",
    "  size <- c(if (is.na(rows)) -1L else rows, -1L)",
    "  tf$concat(lapply(list(...), function(x) tf$reshape(x, as.list(size))), 1L)",
    "}",
    ".onLoad <- function(libname, pkgname) {",
    "  tf <<- reticulate::import('tensorflow', delay_load = list(environment = 'r-tensorflow'))",
    "  reticulate::register_class_filter(function(classes) {",
    "    if (any(own_classes %in% classes)) c('tensorflow.tensor', classes) else classes",
    "  })",
    "  method <- function(generic, method) {",
    "    registerS3method(generic, 'tensorflow.tensor', method, envir = baseenv())",
    "  }",
    "  method('*', both('multiply'))",
    "  method('+', both('add'))",
    "  method('-', both('subtract'))",
    "  method('exp', function(x) tf$exp(x))",
    "  method('mean', function(x, ...) tf$reduce_mean(x))",
    "  method('cbind', columns)",
    "  method('dim', function(x) {",
    "    sizes <- x$shape$as_list()",
    "    as.integer(vapply(sizes, function(size) if (is.null(size)) NA else size, 0))",
    "  })",
    "}"
  )
  local_package("tensorflow", code, frame)
}

variable <- "tensorflow.python.ops.variables.Variable"

# Uses what a session has, as a user of both packages does.
use_both <- function(before) {
  loaded <- "tensorflow" %in% loadedNamespaces()
  old <- if (before) tfdistribute::tf$constant(c(1, 2))
  library(tensorflow)
  tf <- tensorflow::tf
  message_of <- function(code) tryCatch(code, error = conditionMessage)
  kept <- tf$estimator$LinearRegressor
  first <- class(tf$keras$layers$Dense(1L))
  messages <- list(
    layers = message_of(tf$layers),
    adam = message_of(tf$train$AdamOptimizer),
    typo = message_of(tf$nn$rel),
    estimator = message_of(tf$estimator$estimator)
  )
  w <- tf$Variable(2)
  x <- if (before) old else tf$constant(c(1, 2))
  net <- function(features, labels, mode) {
    scale <- tf$Variable(1)
    columns <- cbind(features$wt, features * scale, exp(features))
    p <- tf$squeeze(tf$compat$v1$layers$dense(columns, 1L), 1L) * scale + features$wt
    list(loss = mean((p - labels) * (p - labels)), optimizer = "sgd")
  }
  trained <- tfdistribute::train(estimator(net), mpg ~ wt + hp, data = mtcars, steps = 1)
  bad <- estimator(function(features, labels, mode) tf$contrib$layers)
  messages$model <- message_of(tfdistribute::train(bad, mpg ~ wt, data = mtcars, steps = 1))
  list(
    loaded = loaded,
    kinds = list(class(kept), first, class(tf$keras$layers$Dense(1L)), class(tf$losses)),
    numbers = lapply(
      list(x * w, w * tf$constant(c(1, 2)), x - tf$constant(1), exp(w)),
      function(x) {
        as.vector(x$numpy())
      }
    ),
    bound = dim(cbind(a = tf$constant(c(1, 2)), b = tf$Variable(c(1, 2)), 1)),
    steps = trained$global_step,
    messages = messages
  )
}

test_that("beside R's tensorflow, operators, TensorFlow's parts and errors are those without it", {
  skip_if_no_tensorflow()
  for (version in list(variable, c(variable, tensor_class))) {
    local_tensorflow(version)
    found <- in_child_r(use_both, list(before = length(version) == 1))
    expect_false(found$loaded)
    expect_identical(found$kinds[[1]][[1]], "python.builtin.type")
    expect_identical(found$kinds[[2]], found$kinds[[3]])
    expect_equal(found$numbers, list(c(2, 4), c(2, 4), c(0, 1), exp(2)), tolerance = 1e-6)
    expect_identical(found$bound, c(2L, 3L))
    expect_identical(found$steps, 1L)
    expect_match(found$messages$layers, "Use tf$compat$v1$layers.", fixed = TRUE)
    expect_match(found$messages$adam, "Use tf$compat$v1$train$AdamOptimizer.", fixed = TRUE)
    expect_match(found$messages$typo, "Did you mean tf$nn$relu?", fixed = TRUE)
    expect_match(found$messages$estimator, "Did you mean tf$estimator$Estimator?", fixed = TRUE)
    expect_match(found$messages$model, "Its layers are in tf$compat$v1$layers", fixed = TRUE)
  }
})

test_that("TensorFlow that another package has imported is prepared when this one is loaded", {
  skip_if_no_tensorflow()
  found <- callr::r(
    function() {
      tf <- reticulate::import("tensorflow")
      loadNamespace("tfdistribute")
      list(class(tf$estimator$LinearRegressor)[[1]], tryCatch(tf$layers, error = conditionMessage))
    },
    timeout = 120
  )
  expect_identical(found[[1]], "python.builtin.type")
  expect_match(found[[2]], "tf$compat$v1$layers", fixed = TRUE)
})
