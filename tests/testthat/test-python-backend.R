test_that("a call gives the value that Python answered", {
  asked <- local_bridge(list(value = 42))
  expect_identical(call_backend("evaluate", steps = 3L), 42)
  expect_identical(asked$name, "evaluate")
  expect_identical(asked$arguments, list(steps = 3L))
})

test_that("Python's error becomes a condition of the same class with the same text", {
  local_bridge(list(
    error = list(
      kind = "model_directory",
      problem = "`model_dir` {x} holds another model.",
      remedy = "Use another.",
      argument = "model_dir",
      value = "{x}",
      traceback = "Traceback ..."
    )
  ))
  error <- tryCatch(call_backend("train"), error = identity)
  expect_s3_class(error, "tfdistribute_model_directory_error")
  expect_s3_class(error, "tfdistribute_model_error")
  expect_identical(error$problem, "`model_dir` {x} holds another model.")
  expect_identical(error$python_traceback, "Traceback ...")
})

test_that("Python's interrupt becomes R's interrupt", {
  local_bridge(list(interrupt = TRUE))
  expect_identical(tryCatch(call_backend("train"), interrupt = function(i) "stopped"), "stopped")
})

test_that("an interrupt that Python has handled waits for the last words, and spares the next call", {
  found <- in_child_r(timeout_s = 30, function() {
    namespace <- asNamespace("tfdistribute")
    state <- namespace$the
    state$bridge <- list(call = function(...) {
      tools::pskill(Sys.getpid(), tools::SIGINT)
      tools::pskill(Sys.getpid(), tools::SIGINT)
      list(interrupt = TRUE, text = "Stopped at step 3.")
    })
    said <- new.env()
    outcome <- tryCatch(
      withCallingHandlers(
        namespace$call_backend("train"),
        message = function(message) said$text <- conditionMessage(message)
      ),
      interrupt = function(interrupt) "interrupted"
    )
    after <- tryCatch(
      {
        Sys.sleep(0.05)
        "fine"
      },
      interrupt = function(interrupt) "swallowed"
    )
    list(said = said$text, outcome = outcome, after = after)
  })
  expect_match(found$said, "Stopped at step 3.", fixed = TRUE)
  expect_identical(found$outcome, "interrupted")
  expect_identical(found$after, "fine")
})

test_that("the R error of a callback becomes the parent of the condition", {
  before <- the$bridge
  withr::defer(the$bridge <- before)
  cause <- structure(class = c("my_error", "error", "condition"), list(message = "no", call = NULL))
  the$bridge <- list(call = function(name, arguments, ...) {
    the$callback_error <- cause
    list(error = list(kind = "callback", problem = "no", remedy = NULL))
  })
  error <- tryCatch(call_backend("train"), error = identity)
  expect_s3_class(error, "tfdistribute_callback_error")
  expect_identical(error$parent, cause)
  expect_null(the$callback_error)
})

test_that("an R function that TensorFlow calls on another thread is an error, and R lives on", {
  skip_if_no_tensorflow()
  found <- in_child_r(timeout_s = 90, function() {
    # Made before the package has prepared Python.
    early <- reticulate::r_to_py(function() 1)
    cpu <- tf$config$list_physical_devices("CPU")[[1]]
    device <- tf$config$LogicalDeviceConfiguration()
    tf$config$set_logical_device_configuration(cpu, list(device, device))
    mirrored <- tf$distribute$MirroredStrategy(list("CPU:0", "CPU:1"))
    message_of <- function(expr) tryCatch(expr, error = conditionMessage)
    read <- function(...) tf$numpy_function(function(x) x, list(1), tf$float32)
    data <- tf$data$Dataset$range(2L)$map(read)
    list(
      run = message_of(mirrored$run(function() tf$constant(1))),
      early = message_of(mirrored$run(early)),
      data = message_of(reticulate::iter_next(reticulate::as_iterator(data))),
      one = tf$distribute$OneDeviceStrategy("CPU:0")$run(function() tf$constant(1))$numpy()
    )
  })
  expect_match(found$run, "R functions run on R's thread only", fixed = TRUE)
  expect_match(found$early, "R functions run on R's thread only", fixed = TRUE)
  expect_match(found$data, "R functions run on R's thread only", fixed = TRUE)
  expect_identical(found$one, 1)
})

test_that("vectors, lists and descriptions become plain values", {
  expect_identical(as_wire(3L), 3L)
  expect_identical(as_wire(c(1.5, 2)), list(1.5, 2))
  expect_identical(as_wire(character()), list())
  expect_identical(as_wire(factor("b", levels = c("a", "b"))), "b")
  expect_identical(as_wire(c(a = 1)), 1)
  described <- new_description("strategy", "mirrored", devices = 2L, cross_device = NULL)
  expect_identical(as_wire(described), list(kind = "mirrored", devices = 2L, cross_device = NULL))
})

test_that("descriptions can be saved and read again", {
  described <- strategy_mirrored(devices = 2)
  file <- withr::local_tempfile()
  saveRDS(described, file)
  expect_identical(readRDS(file), described)
})

test_that("Ctrl-C inside a callback is told to Python", {
  skip_if_no_tensorflow()
  callback <- guard_callback(function() rlang::interrupt())
  answer <- function(callback) reticulate::py_to_r(reticulate::py_call(callback$call))
  expect_identical(answer(callback), list(interrupt = TRUE))
  expect_identical(answer(guard_callback(function() 3)), list(value = 3))
})

test_that("after a fork every verb refuses at once, and the session itself goes on", {
  skip_if_no_tensorflow()
  skip_on_os("windows")
  found <- in_child_r(timeout_s = 60, function() {
    model <- linear_regressor(feature_columns(column_numeric("wt")), model_dir = tempfile())
    cars <- input_fn(mpg ~ wt, mtcars)
    # Starts Python.
    check_sharding(cars, cluster = 1)
    verbs <- list(
      function() train(model, cars),
      function() train_and_evaluate(model, train_spec(cars), eval_spec(cars)),
      function() evaluate(model, cars),
      function() predict(model, cars),
      function() export_savedmodel(model, tempfile())
    )
    forked <- parallel::mclapply(verbs, function(verb) tryCatch(verb(), error = identity))
    list(
      parent = Sys.getpid(),
      classes = lapply(forked, class),
      messages = vapply(forked, conditionMessage, ""),
      here = class(tryCatch(evaluate(model, cars), error = identity))[[1]]
    )
  })
  for (classes in found$classes) {
    expect_identical(classes[[1]], "tfdistribute_backend_error")
  }
  expect_match(found$messages, paste("forked from process", found$parent), fixed = TRUE)
  expect_match(found$messages, "callr::r()", fixed = TRUE)
  expect_identical(found$here, "tfdistribute_model_directory_error")
})

test_that("loading the package starts no Python, and the first call asks it for its configuration once", {
  skip_if_no_tensorflow()
  # An environment whose program notes each start.
  real <- Sys.getenv("RETICULATE_PYTHON")
  home <- withr::local_tempdir()
  dir.create(file.path(home, "bin"))
  for (name in c("lib", "pyvenv.cfg")) {
    file.symlink(file.path(dirname(dirname(real)), name), file.path(home, name))
  }
  starts <- file.path(home, "starts")
  python <- file.path(home, "bin", "python")
  writeLines(
    c("#!/bin/sh", paste("echo start >>", shQuote(starts)), paste("exec", shQuote(real), '"$@"')),
    python
  )
  Sys.chmod(python)
  found <- result_of(
    local_child_r(
      function(starts) {
        count <- function() if (file.exists(starts)) length(readLines(starts)) else 0L
        loaded <- loadedNamespaces()
        shows_tables <- identical(glimpse, tibble::glimpse)
        columns <- feature_columns(column_numeric("x"))
        input <- input_fn(data.frame(x = 1:2, y = 1:2), "x", "y")
        described <- count()
        tfdistribute:::call_backend("free_ports", count = 1)
        list(
          loaded = loaded,
          shows_tables = shows_tables,
          described = described,
          called = count()
        )
      },
      list(starts),
      c(RETICULATE_PYTHON = python)
    ),
    timeout_s = 60
  )
  expect_identical(found$described, 0L)
  expect_identical(found$called, 1L)
  # What an input, a job or a table needs is loaded when it is there.
  needed_later <- c("codetools", "generics", "parallel", "processx", "tibble")
  expect_false(any(needed_later %in% found$loaded))
  expect_true(found$shows_tables)
})

test_that("looking for the backend starts no Python, and writes nothing into an empty home", {
  skip_if_no_tensorflow()
  home <- withr::local_tempdir()
  looked <- in_child_r(timeout_s = 60, args = list(home), function(home) {
    found <- tfdistribute::tfdistribute_available()
    # Debian's Python has no TensorFlow.
    Sys.setenv(HOME = home, RETICULATE_PYTHON = "/usr/bin/python3")
    c(found, tfdistribute::tfdistribute_available(), reticulate::py_available())
  })
  expect_identical(looked, c(TRUE, FALSE, FALSE))
  expect_identical(list.files(home, all.files = TRUE, no.. = TRUE), character())
})
