test_that("a training loop describes itself, and takes what it can call", {
  step <- function(parts, features, labels) list(loss = 1)
  loop <- training_loop(
    function() NULL,
    step,
    params = list(a = 1, b = 2),
    model_dir = "/runs/loop"
  )
  expect_s3_class(loop, c("tfdistribute_training_loop_estimator", "tfdistribute_estimator"))
  expect_snapshot(print(loop))
  expect_snapshot(error = TRUE, {
    training_loop("adam", step)
    training_loop(function() NULL, function(x) x)
    training_loop(function() NULL, step, eval_step = function(parts, data) 1)
    training_loop(function() NULL, step, params = 1)
  })
})

test_that("a training loop trains to the bit as estimator() does, and evaluates and predicts", {
  skip_if_no_tensorflow("smoke")
  found <- in_child_r(function() {
    predicted <- function(parts, features) {
      x <- tf$stack(list(features$wt, features$hp), axis = 1L)
      tf$squeeze(parts$net(x), 1L)
    }
    build <- function(params) {
      layers <- list(tf$keras$layers$Dense(8L, "tanh"), tf$keras$layers$Dense(1L))
      list(
        net = tf$keras$Sequential(layers),
        optimizer = tf$keras$optimizers$legacy$Adam(params$rate),
        # A value that Python could not keep.
        data = data.frame(a = 1)
      )
    }
    train_step <- function(parts, features, labels) {
      stopifnot(is.data.frame(parts$data))
      tape <- tf$GradientTape()
      loss <- with(tape, {
        tf$reduce_mean(tf$math$squared_difference(labels, predicted(parts, features)))
      })
      variables <- parts$net$trainable_variables
      pairs <- Map(list, tape$gradient(loss, variables), variables)
      list(loss = loss, train_op = parts$optimizer$apply_gradients(pairs))
    }
    eval_step <- function(parts, features, labels) {
      far <- tf$abs(tf$subtract(labels, predicted(parts, features)))
      list(loss = tf$square(far), mean_absolute_error = far)
    }
    cars <- as.data.frame(scale(mtcars))
    batches <- input_fn(mpg ~ wt + hp, cars, batch_size = 8, epochs = NULL, shuffle = FALSE)
    all_cars <- input_fn(mpg ~ wt + hp, cars, batch_size = 20)
    config <- function(strategy = NULL) run_config(strategy, seed = 7)
    loop_with <- function(strategy = NULL, step = train_step) {
      training_loop(
        build,
        step,
        eval_step,
        function(parts, features) list(mpg = predicted(parts, features)),
        params = list(rate = 0.01),
        config = config(strategy)
      )
    }
    values_of <- function(model) {
      history <- train(model, batches, steps = 20)
      list(values = variable_value(model), losses = history$losses$loss)
    }
    loop <- loop_with()
    one <- values_of(loop)
    in_one_function <- estimator(
      function(features, labels, mode) train_step(build(list(rate = 0.01)), features, labels),
      config = config()
    )
    without_tape <- loop_with(step = function(parts, features, labels) {
      list(loss = tf$reduce_mean(tf$math$squared_difference(labels, predicted(parts, features))))
    })
    broken <- loop_with(step = function(parts, features) stop("no good step"))
    list(
      loop = one,
      same = values_of(in_one_function),
      mirrored = values_of(loop_with(strategy_mirrored(2))),
      without_tape = values_of(without_tape),
      evaluation = evaluate(loop, all_cars),
      predictions = predict(loop, all_cars)$mpg,
      mpg = cars$mpg,
      error = tryCatch(train(broken, batches, steps = 1), error = identity)
    )
  })
  expect_identical(found$same, found$loop)
  kernel <- function(run) run$values[["sequential/dense/kernel"]]
  expect_length(kernel(found$loop), 16)
  expect_equal(kernel(found$mirrored), kernel(found$loop), tolerance = 1e-5)
  expect_equal(kernel(found$without_tape), kernel(found$loop), tolerance = 1e-5)
  far <- abs(found$mpg - as.vector(found$predictions))
  expect_equal(found$evaluation$loss, mean(far^2), tolerance = 1e-5)
  expect_equal(found$evaluation$mean_absolute_error, mean(far), tolerance = 1e-5)
  expect_s3_class(found$error, "tfdistribute_callback_error")
  expect_match(conditionMessage(found$error$parent), "no good step", fixed = TRUE)
})

test_that("the example of two networks trains both on two devices", {
  skip_if_no_tensorflow("check-all")
  found <- in_child_r(
    function(path) {
      session <- new.env()
      sys.source(path, session)
      points <- session$circle[1:256, ]
      model <- session$gan(run_config(strategy_mirrored(2), seed = 1))
      batches <- input_fn(points, features = c(x, y), batch_size = 64, epochs = NULL)
      train(model, batches, steps = 2)
      before <- variable_value(model)
      train(model, batches, steps = 20)
      list(
        before = before,
        after = variable_value(model),
        evaluation = evaluate(model, input_fn(points, features = c(x, y))),
        drawn = predict(model, input_fn(points, features = c(x, y)))
      )
    },
    list(file.path(source_root(), "inst", "examples", "gan.R"))
  )
  kernels <- grep("kernel$", names(found$after), value = TRUE)
  expect_length(kernels, 6)
  for (name in kernels) {
    expect_false(isTRUE(all.equal(found$after[[name]], found$before[[name]])), label = name)
  }
  expect_identical(found$after$global_step, 22)
  expect_identical(dim(found$drawn), c(256L, 2L))
  expect_true(is.finite(found$evaluation$radius))
})
