# The code of a function and what it uses, as the tasks of a cluster compare it.

test_that("a function is compared by its code, not by its place or its comments", {
  one <- code_of_function(eval(parse(text = "function(x) x + 1", keep.source = TRUE)))
  other <- code_of_function(eval(parse(text = "function(x)\n  x  +  1 # more", keep.source = TRUE)))
  expect_identical(one, other)
  expect_named(one, c("language", "code", "uses"))
  changed <- code_of_function(eval(parse(text = "function(x) x + 1.0000000000000002")))
  expect_false(identical(one$code, changed$code))
})

test_that("variables that a function uses are compared by their values", {
  with_rate <- function(rate) {
    helper <- function(x) x * rate
    units <- c(a = 4L, b = 2L)
    rows <- data.frame(x = 1:20, y = factor(rep(c("u", "v"), 10)))
    unused <- 1
    function(features, params = list(p = "q")) {
      list(helper(features), units, rows, params)
    }
  }
  uses <- code_of_function(with_rate(0.1))$uses
  expect_setequal(names(uses), c("helper", "units", "rows"))
  expect_identical(uses$helper$uses, list(rate = 0.1))
  expect_identical(uses$units, list(a = 4L, b = 2L))
  expect_match(uses$rows$x, "^20 values, checksum [0-9a-f]{8}$")
  expect_identical(code_of_function(with_rate(0.1))$uses, uses)
  expect_identical(code_of_function(with_rate(0.2))$uses$helper$uses, list(rate = 0.2))
})

test_that("what differs between processes, or cannot be compared, is left out", {
  withr::local_envvar(R_TEST = "x")
  make <- function() {
    count <- 0
    started <- Sys.time()
    state <- new.env()
    file <- textConnection("a")
    on.exit(close(file))
    module <- structure(new.env(), class = c("python.builtin.module", "python.builtin.object"))
    last <- NA_real_
    function(x) {
      count <<- count + 1
      list(started, state, file, module, last)
    }
  }
  expect_named(code_of_function(make())$uses, "last")
})

test_that("functions that use each other, and those of packages, have an end", {
  even <- function(n) n == 0 || odd(n - 1)
  odd <- function(n) n != 0 && even(n - 1)
  expect_named(code_of_function(even)$uses, "odd")
  expect_length(code_of_function(stats::lm)$uses, 0)
  expect_length(code_of_function(sum)$uses, 0)
})

test_that("functions that are sent on by this package are compared by those of the user", {
  rate <- 0.3
  model_fn <- function(features, labels, params) features * rate * params$scale
  uses <- code_of_function(model_fn_wire(model_fn, list(scale = 2)))$uses
  expect_identical(uses$model_fn$uses, list(rate = 0.3))
  expect_identical(uses$params, list(scale = 2))
})

test_that("a training loop is compared without the directory and the configuration of the model", {
  skip_if_no_tensorflow()
  rate <- 0.3
  model <- training_loop(
    build = function() list(rate = rate),
    train_step = function(parts, features) list(loss = features * parts$rate),
    model_dir = "models/m"
  )
  # As Python gets it.
  uses <- as_wire(model)$build_parts$code$`__call__`()$uses
  expect_identical(uses$x$build_parts$uses$rate, 0.3)
  expect_named(uses$x, c("build_parts", "train_step", "eval_step", "predict_step", "params"))
})
