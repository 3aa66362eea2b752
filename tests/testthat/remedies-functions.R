# Errors of Python that call functions in R, and read what they return, each with the code of its remedy.

custom <- function(body) {
  model_fn <- rlang::new_function(rlang::pairlist2(features = , labels = , mode = ), body)
  train(estimator(model_fn), y ~ x, data = data.frame(x = c(1, 2), y = c(1, 2)), steps = 1)
}
weight <- quote({
  w <- tf$compat$v1$get_variable("w", list())
  predicted <- features$x * w
})
custom_rows <- function(fails, typed) {
  of <- function(code) {
    rlang::expr(custom(quote({
      !!weight
      !!code
    })))
  }
  rlang::inject(tries(!!of(rlang::enexpr(fails)), !!of(rlang::enexpr(typed)), custom = custom))
}
custom_rows(
  list(loss = (predicted - labels)^2, optimizer = "sgd"),
  {
    loss <- (predicted - labels)^2
    list(loss = tf$reduce_mean(loss), optimizer = "sgd")
  }
)
custom_rows(
  {
    predicted <- tf$compat$v1$layers$dense(features, 1L) * w
    list(loss = tf$reduce_mean((predicted - labels)^2), optimizer = "sgd")
  },
  {
    predictions <- tf$compat$v1$layers$dense(features, 1L) * w
    x <- labels
    tf$expand_dims(x, 0L)
    list(loss = tf$reduce_mean((tf$squeeze(predictions, 1L) - labels)^2), optimizer = "sgd")
  }
)
custom_rows(
  list(loss = mean((predicted - labels)^2), optimizer = "sgd", eval_metric_ops = list(a = mean)),
  list(
    loss = mean((predicted - labels)^2),
    optimizer = "sgd",
    eval_metric_ops = list(a = tf$compat$v1$metrics$mean(tf$abs(labels - predicted)))
  )
)
custom_rows(
  estimator_spec("eval", loss = mean((predicted - labels)^2)),
  estimator_spec(mode, loss = mean((predicted - labels)^2), optimizer = "sgd")
)
tries(
  logical_device(1),
  {
    placed <- estimator(function(features, labels) {
      with(logical_device(1), w <- tf$compat$v1$get_variable("w", list()))
      list(loss = mean((features$x * w - labels)^2), optimizer = "sgd")
    })
    train(placed, y ~ x, data = data, steps = 1)
    looped <- training_loop(
      function(params) list(w = tf$Variable(0), optimizer = "sgd"),
      function(parts, features, labels) {
        predicted <- with(logical_device(1), features$x * parts$w)
        list(loss = mean((predicted - labels)^2))
      }
    )
    train(looped, y ~ x, data = data, steps = 1)
  }
)
tries(
  t(tf$zeros(shape(1, 1, 1))),
  {
    x <- tf$zeros(shape(1, 1, 1))
    perm <- c(2L, 1L, 0L)
    tf$transpose(x, perm)
  }
)
tries(
  cumsum(tf$zeros(shape(2, 2))),
  {
    x <- tf$zeros(shape(2, 2))
    axis <- 0L
    tf$cumsum(x, axis)
  }
)
tries(
  train(model, function() 3),
  train(model, function() {
    features <- list(x = c(1, 2))
    labels <- c(1, 2)
    tf$data$Dataset$from_tensor_slices(list(features = features, labels = labels))$batch(32L)
  })
)
tries(
  train(model, input_fn(y ~ x, data, transform = function(features, labels) 3)),
  train(model, input_fn(y ~ x, data, transform = function(features, labels) list(features, labels)))
)
tries(
  {
    doubled <- function(features, labels) {
      if (labels[1] > 0) list(features, labels)
    }
    predict(model, input_fn(data, features = x, transform = doubled))
  },
  {
    doubled <- function(features, labels) {
      if (is.null(labels)) features else list(features, labels * 2)
    }
    predict(model, input_fn(data, features = x, transform = doubled))
  }
)
custom_rows(
  list(
    loss = mean((predicted - labels)^2),
    optimizer = "sgd",
    eval_metric_ops = list(accuracy = list(1, 2, 3))
  ),
  {
    classes <- tf$cast(predicted > 1, tf$float32)
    list(
      loss = mean((predicted - labels)^2),
      optimizer = "sgd",
      eval_metric_ops = list(accuracy = tf$compat$v1$metrics$accuracy(labels, classes))
    )
  }
)
looped <- function(train_step, ...) {
  training_loop(function(params) list(w = tf$Variable(0), optimizer = "sgd"), train_step, ...)
}
tries(
  train(looped(function(features, labels) 3), y ~ x, data = data, steps = 1),
  {
    step <- function(parts, features, labels) {
      list(loss = mean((features$x * parts$w - labels)^2), largest = max(labels))
    }
    train(looped(step), y ~ x, data = data, steps = 1)
  },
  looped = looped
)
tries(
  {
    step <- function(parts, features, labels) {
      list(loss = mean((features$x * parts$w - labels)^2))
    }
    model <- looped(step)
    train(model, y ~ x, data = data, steps = 1)
    evaluate(model, input_fn(y ~ x, data))
  },
  {
    model <- training_loop(
      function(params) list(w = tf$Variable(0), optimizer = "sgd"),
      step,
      eval_step = step
    )
    train(model, y ~ x, data = data, steps = 1)
    evaluate(model, input_fn(y ~ x, data))
  },
  looped = looped
)
keras_of <- function(units, loss) {
  keras_model_to_estimator(function() {
    built <- tf$keras$Sequential(list(tf$keras$layers$Dense(units, input_shape = list(1L))))
    built$compile(optimizer = "sgd", loss = loss)
    built
  })
}
tries(
  train(keras_of(1L, "mse"), input_fn(data, features = x), steps = 1),
  train(keras_of(1L, "mse"), input_fn(data, features = x, response = y), steps = 1),
  keras_of = keras_of
)
tries(
  {
    words <- data.frame(x = c(1, 2), y = c("a", "b"))
    train(keras_of(2L, "mse"), y ~ x, data = words, steps = 1)
  },
  {
    words$y <- factor(words$y)
    train(keras_of(2L, "sparse_categorical_crossentropy"), y ~ x, data = words, steps = 1)
    train(keras_of(1L, "mse"), input_fn(y ~ x, words, factors = "codes"), steps = 1)
  },
  keras_of = keras_of
)
tries(
  train(looped(function(parts, features, labels) list(los = mean(labels))), y ~ x, data = data),
  {
    step <- function(parts, features, labels) {
      loss <- mean((features$x * parts$w - labels)^2)
      list(loss = loss)
    }
    train(looped(step), y ~ x, data = data, steps = 1)
  },
  looped = looped
)
tries(
  {
    step <- function(parts, features, labels) {
      list(loss = mean((features$x * parts$w - labels)^2))
    }
    train(training_loop(function(params) list(w = tf$Variable(0)), step), y ~ x, data = data)
  },
  {
    applied <- function(parts, features, labels) {
      loss <- mean((features$x * parts$w - labels)^2)
      optimizer <- tf$compat$v1$train$GradientDescentOptimizer(0.1)
      gradients <- optimizer$compute_gradients(loss, list(parts$w))
      list(loss = loss, train_op = optimizer$apply_gradients(gradients))
    }
    by_hand <- training_loop(function(params) list(w = tf$Variable(0)), applied)
    train(by_hand, y ~ x, data = data, steps = 1)
    build <- function(params) list(w = tf$Variable(0), optimizer = "sgd")
    train(training_loop(build, step), y ~ x, data = data, steps = 1)
  }
)
two_outputs <- function(loss) {
  keras_model_to_estimator(function() {
    x <- tf$keras$Input(shape = list(1L), name = "x")
    outputs <- lapply(c("a", "b"), function(name) tf$keras$layers$Dense(1L, name = name)(x))
    built <- tf$keras$Model(inputs = x, outputs = outputs)
    built$compile(optimizer = "sgd", loss = loss)
    built
  })
}
tries(
  train(two_outputs("mse"), y ~ x, data = data, steps = 1),
  {
    train(two_outputs(list(a = "mse")), y ~ x, data = data, steps = 1)
    named <- function() {
      columns <- list(features = list(x = c(1, 2)), labels = list(a = c(1, 2), b = c(3, 4)))
      tf$data$Dataset$from_tensor_slices(columns)$batch(2L)
    }
    train(two_outputs("mse"), input_dataset(named), steps = 1)
  },
  two_outputs = two_outputs
)
tries(
  input_fn(tf$data$Dataset$from_tensor_slices(c(1, 2)), features = "x"),
  train(
    model,
    input_dataset(function() {
      named <- list(features = list(x = c(1, 2)), labels = c(1, 2))
      tf$data$Dataset$from_tensor_slices(named)$batch(2L)
    })
  )
)
tries(
  {
    dataset <- tf$data$Dataset$from_tensor_slices(list(x = c(1, 2), y = c(1, 2)))
    train(model, input_fn(dataset, features = "x", response = "y"))
  },
  train(model, input_fn(dataset$batch(128L), features = "x", response = "y"))
)
tries(
  estimator_spec("infer", predictions = list(p = tf$constant(1), p = tf$constant(2))),
  estimator_spec("infer", predictions = list(p = tf$constant(1), q = tf$constant(2)))
)
