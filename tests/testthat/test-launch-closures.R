# Variables that are sent with functions. Task files are written and read in this process; Python is a stand-in.

# Write values to a task file and read them back, as a task does.
sent <- function(..., env = parent.frame()) {
  local_bridge(list(value = NULL), frame = env)
  folder <- withr::local_tempdir(.local_envir = env)
  withr::local_preserve_seed()
  write_task(folder, "train", list(object = list(), ...))
  read_task(folder, "digest")$arguments
}

local_global <- function(..., frame = parent.frame()) {
  values <- list(...)
  list2env(values, envir = globalenv())
  withr::defer(rm(list = names(values), envir = globalenv()), envir = frame)
}

in_global <- function(code) {
  eval(code, globalenv())
}

test_that("a function is sent with the values of its variables, including promises and dots", {
  make <- function(rate, ..., unused = stop("not used")) {
    huge <- numeric(1e6)
    inner <- function(x) x * rate
    function(x) inner(x) + sum(...)
  }
  callback <- make(10 / 4, 1, 2)
  received <- sent(model_fn = callback)$model_fn
  expect_identical(received(2), 8)
  # Unused variables and the test's environment are not sent.
  kept <- ls(environment(received))
  expect_setequal(kept, c("inner", "rate"))
  expect_false(identical(environment(received), environment(callback)))
})

test_that("functions that share an environment still share it in the task", {
  counter <- function() {
    count <- 0
    list(add = function() count <<- count + 1, get = function() count)
  }
  both <- sent(hooks = counter())$hooks
  both$add()
  both$add()
  expect_identical(both$get(), 2)
})

test_that("variables of the global environment are found through functions, and sent", {
  local_global(
    scale_of = in_global(quote(function(x) x / divisor_of_test())),
    divisor_of_test = in_global(quote(function() 4 + offset_of_test)),
    offset_of_test = 1,
    not_used_at_all = 3
  )
  found <- find_captures(list(model_fn = in_global(quote(function(x) scale_of(x)))))
  expect_setequal(found$globals, c("scale_of", "divisor_of_test", "offset_of_test"))
  expect_length(found$frames, 0)
})

test_that("functions of packages are sent by name", {
  found <- find_captures(list(activation_fn = stats::median, other = tibble::tibble))
  expect_identical(
    found,
    list(frames = list(), globals = character(), large = character(), options = list())
  )
  expect_identical(sent(activation_fn = stats::median)$activation_fn, stats::median)
})

test_that("code that reads variables by computed names is sent with all variables", {
  make <- function() {
    a <- 1
    b <- 2
    function(name) get(name)
  }
  received <- sent(model_fn = make())$model_fn
  expect_identical(received("a") + received("b"), 3)
})

test_that("an environment with a class keeps it, and its functions keep their variables", {
  make <- function() {
    total <- 5
    self <- new.env()
    self$method <- function() total
    self$me <- self
    structure(self, class = "thing")
  }
  thing <- make()
  received <- sent(params = list(thing = thing))$params$thing
  expect_s3_class(received, "thing")
  expect_identical(received$method(), 5)
  expect_identical(received$me, received)
})

test_that("a missing argument stays missing", {
  make <- function(x, y) function() is.name(tryCatch(y, error = function(e) quote(none)))
  expect_true(sent(model_fn = make(1))$model_fn())
})

test_that("an error names the argument and the variable that cannot be sent", {
  connection <- textConnection("text")
  withr::defer(close(connection))
  pointer <- attr(connection, "conn_id")
  helper <- function() pointer
  expect_snapshot(error = TRUE, {
    find_captures(list(model_fn = function() readLines(connection)))
    find_captures(list(model_fn = function() helper()))
    find_captures(list(params = list(deep = list(1, pointer))))
    find_captures(list(hooks = list(function() list(connection)[[1]])))
  })
  # An unused connection is no error.
  expect_identical(sent(model_fn = function() 1)$model_fn(), 1)
})

test_that("Python objects are refused, and modules are imported again", {
  skip_if_no_tensorflow()
  json <- reticulate::import("json")
  decoder <- json$JSONDecoder()
  expect_error(
    find_captures(list(model_fn = function() decoder$decode("1"))),
    "`model_fn` uses `decoder`, which is a Python object (JSONDecoder)",
    fixed = TRUE
  )
  expect_error(
    find_captures(list(saving_listeners = list(decoder))),
    "`saving_listeners[[1]]` is a Python object",
    fixed = TRUE,
    class = "tfdistribute_argument_error"
  )
  received <- sent(model_fn = function() json$loads("[1, 2]"))$model_fn
  expect_identical(received(), c(1L, 2L))
})

test_that("a message names large objects", {
  make <- function() {
    large_one <- numeric(13e6)
    function() large_one[[1]]
  }
  local_bridge(list(value = NULL))
  withr::local_preserve_seed()
  folder <- withr::local_tempdir()
  expect_message(
    write_task(folder, "train", list(object = list(model_fn = make()))),
    "large_one.*is larger than 100 MB"
  )
})

test_that("packages, options and random numbers are those of the session", {
  folder <- withr::local_tempdir()
  local_bridge(list(value = NULL))
  withr::local_options(OutDec = ",", tfdistribute.of_test = 7, my.rate = 0.1)
  withr::local_seed(12)
  write_task(folder, "train", list(object = list()))
  drawn <- stats::runif(3)
  withr::local_options(OutDec = ".", tfdistribute.of_test = NULL, my.rate = NULL)
  read_task(folder, "digest")
  expect_identical(stats::runif(3), drawn)
  expect_identical(getOption("OutDec"), ",")
  expect_identical(getOption("tfdistribute.of_test"), 7)
  expect_identical(getOption("my.rate"), 0.1)
  expect_false("base" %in% attached_packages())
  expect_identical(utils::tail(attached_packages(), 1), sub("^package:", "", search()[[2]]))
})
