# Errors of code that calls TensorFlow, each with the code of its remedy.

tries(
  {
    x <- tf$constant(c(2, 1))
    sort(x)
  },
  {
    tf$sort(x)
    tf$argsort(x)
  }
)
tries(
  {
    x <- tf$constant(c(2, 1))
    x[tf$constant(1L)]
  },
  {
    i <- tf$constant(1L)
    mask <- tf$constant(c(TRUE, FALSE))
    tf$gather(x, i)
    tf$boolean_mask(x, mask)
  }
)
tries(
  keras_model_to_estimator(tf$keras$Sequential(list(tf$keras$layers$Dense(1L)))),
  {
    keras_model <- tf$keras$Sequential(list(tf$keras$layers$Dense(1L, input_shape = list(1L))))
    keras_model$compile(optimizer = "sgd", loss = "mse")
    keras_model_to_estimator(keras_model)
  }
)
tries(
  train(estimator(function(features) 3), y ~ x, data = data, steps = 1),
  {
    loss_of <- function(features, labels) {
      w <- tf$compat$v1$get_variable("w", list())
      list(tf$reduce_mean((features$x * w - labels)^2), features$x * w)
    }
    spec <- estimator(function(features, labels, mode) {
      parts <- loss_of(features, labels)
      step <- tf$compat$v1$train$get_global_step()
      descent <- tf$compat$v1$train$GradientDescentOptimizer(0.01)
      estimator_spec(mode, loss = parts[[1]], train_op = descent$minimize(parts[[1]], step))
    })
    train(spec, y ~ x, data = data, steps = 1)
    listed <- estimator(function(features, labels) {
      parts <- loss_of(features, labels)
      optimizer <- list("sgd", learning_rate = 0.01)
      list(loss = parts[[1]], predictions = parts[[2]], optimizer = optimizer)
    })
    train(listed, y ~ x, data = data, steps = 1)
  }
)
tries(
  {
    mixed <- data.frame(a = c(1, 2), b = c("c", "d"), y = c(1, 2))
    train(estimator(function(features, labels) list(loss = sum(features))), y ~ a + b, data = mixed)
  },
  {
    mean_of <- estimator(function(features, labels) {
      w <- tf$compat$v1$get_variable("w", list())
      list(
        loss = mean((features$a * w - labels)^2),
        predictions = features$a * w,
        optimizer = "adam"
      )
    })
    train(mean_of, y ~ a + b, data = mixed, steps = 1)
  }
)
