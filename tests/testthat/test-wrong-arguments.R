# Every argument of every exported function is given values of many kinds. A value is refused by a short error of this
# package that names the argument, or is accepted; what no argument can mean is never accepted.

odd_values <- function() {
  list(
    null = NULL,
    na = NA,
    na_text = NA_character_,
    nan = NaN,
    infinite = Inf,
    minus_one = -1,
    zero = 0,
    half = 0.5,
    one = 1,
    two = 2L,
    large = 1e12,
    numbers = c(2, 1),
    many_numbers = as.double(1:1e5),
    text = "no such thing",
    empty_text = "",
    long_text = strrep("x", 1e5),
    braces = "{stop(1)}",
    bytes = "\xff\xfe",
    line_break = "a\nb",
    texts = c("a", "b"),
    long_texts = rep(strrep("y", 1000), 100),
    no_text = character(),
    true = TRUE,
    logicals = c(TRUE, FALSE),
    empty_list = list(),
    list_of_one = list(1),
    list_of_text = list("a", 2),
    named_list = list(a = 1),
    nested_list = list(list(list())),
    list_of_null = list(NULL),
    fn = function(some_argument) NULL,
    environment = globalenv(),
    formula = y ~ x,
    symbol = quote(some_name),
    call = quote(some_function(x)),
    factor = factor(c("a", "b")),
    date = as.Date("2020-01-01"),
    times = as.POSIXlt(Sys.time()),
    complex = 1i,
    raw = as.raw(1),
    matrix = matrix(1:4, 2),
    table = table(1:3),
    frame = mtcars,
    foreign = structure(list(), class = strrep("z", 50)),
    config = run_config(),
    cluster = local_cluster(2),
    strategy = strategy_mirrored(2),
    column = column_numeric("wt"),
    input = input_fn(mpg ~ wt, mtcars),
    model = linear_regressor(column_numeric("wt")),
    hook = hook_progress_bar(),
    spec = train_spec(input_fn(mpg ~ wt, mtcars))
  )
}

# What a call does: "accepted", or its error.
outcome_of <- function(name, arguments) {
  tryCatch(
    {
      suppressMessages(suppressWarnings(do.call(name, arguments, quote = TRUE)))
      "accepted"
    },
    error = function(error) {
      if (identical(conditionMessage(error), "Python was started")) "accepted" else error
    }
  )
}

# Why an error is not as it should be; NULL if it is.
fault_of <- function(error, argument) {
  if (!inherits(error, "tfdistribute_error")) {
    return(paste("is R's own error:", substr(conditionMessage(error), 1, 200)))
  }
  message <- conditionMessage(error)
  size <- nchar(message, "bytes")
  named <- grepl(argument, message, fixed = TRUE) ||
    isTRUE(startsWith(as.character(error$argument), argument))
  if (size > 2000) {
    paste("has an error of", size, "bytes")
  } else if (!named && argument != "...") {
    paste("has an error that does not name it:", substr(message, 1, 200))
  }
}

local_described_only <- function(frame = parent.frame()) {
  local_no_python(frame)
  withr::local_options(tfdistribute.progress = FALSE, .local_envir = frame)
  withr::local_dir(withr::local_tempdir(.local_envir = frame), .local_envir = frame)
  withr::defer(set_columns(NULL), envir = frame)
}

test_that("an argument that a function does not have is refused by name", {
  leave_to_check()
  local_described_only()
  valid <- required_values()
  taking_any <- c("feature_columns", "flags", "session_run_args", "shape")
  for (name in setdiff(exported_functions(), c(not_called, taking_any))) {
    error <- outcome_of(name, c(valid_call(name, valid), list(no_such_argument = strrep("x", 1e5))))
    expect_null(
      if (is.character(error)) error else fault_of(error, "no_such_argument"),
      label = name
    )
  }
})

test_that("an argument without a default that is missing is refused by name", {
  leave_to_check()
  local_described_only()
  valid <- required_values()
  for (name in setdiff(exported_functions(), not_called)) {
    required <- setdiff(names(Filter(is_required_argument, arguments_of(name))), "...")
    for (argument in required) {
      arguments <- valid_call(name, valid)
      arguments[[argument]] <- NULL
      error <- outcome_of(name, arguments)
      label <- paste0(name, "() without ", argument)
      expect_null(if (is.character(error)) error else fault_of(error, argument), label = label)
    }
  }
})

# Arguments that take any value, are ignored, or are refused by Python whatever the value. Inputs in memory are
# described by what tidyselect makes of a value.
takes_anything <- c(
  "array_reshape(x)",
  "boosted_trees_classifier(n_batches_per_layer)",
  "boosted_trees_regressor(n_batches_per_layer)",
  "input_fn(num_threads)",
  "input_fn(queue_capacity)",
  "numpy_input_fn(num_threads)",
  "numpy_input_fn(queue_capacity)",
  "run_config(experimental_distribute)",
  "with_columns(expr)"
)
# Right values, of calls that fail for another reason.
# TensorFlow checks what a model function returns, `features` names the columns that a matrix lacks, and the error of a
# version begins with its value.
right_values <- c(
  "check_cluster(batch_size = null)",
  "check_cluster(batch_size = one)",
  "check_cluster(batch_size = two)",
  "check_cluster(devices_per_worker = two)",
  "estimator(params = foreign)",
  "estimator(params = times)",
  "estimator_spec(eval_metric_ops = foreign)",
  "input_fn(object = formula)",
  "input_fn(object = matrix)",
  "input_fn(object = named_list)",
  "input_layer(features = times)",
  "launch(object = model)",
  "launch(train_spec = input)",
  "launch(train_spec = spec)",
  "launch(wait = true)",
  "write_dockerfile(version = long_text)",
  "write_manifest(eval_spec = null)",
  "write_manifest(path = line_break)",
  "write_manifest(path = text)"
)
nonsense <- c("environment", "formula", "symbol", "call", "times", "complex", "raw", "foreign")

test_that("a wrong value of any argument is refused by a short error that names it", {
  leave_to_check()
  local_described_only()
  values <- odd_values()
  valid <- required_values()
  pairs <- lapply(setdiff(exported_functions(), not_called), function(name) {
    arguments <- setdiff(names(arguments_of(name)), "...")
    expand.grid(
      name = rep(name, length(arguments) > 0),
      argument = arguments,
      value = names(values),
      stringsAsFactors = FALSE
    )
  })
  pairs <- do.call(rbind, pairs)
  pairs <- pairs[!paste0(pairs$name, "(", pairs$argument, ")") %in% takes_anything, ]
  # A share of the pairs, drawn by their own names: what is drawn of one function does not depend on the others.
  calls <- paste0(pairs$name, "(", pairs$argument, " = ", pairs$value, ")")
  share <- vapply(calls, function(call) strtoi(substr(rlang::hash(call), 1, 4), 16L) / 65536, 0)
  drawn <- which(share < if (checks_all()) 0.4 else 0.03)
  faults <- character()
  for (row in drawn) {
    pair <- pairs[row, ]
    arguments <- valid_call(pair$name, valid)
    arguments[pair$argument] <- values[pair$value]
    set_columns(NULL)
    outcome <- outcome_of(pair$name, arguments)
    fault <- if (!is.character(outcome)) {
      fault_of(outcome, pair$argument)
    } else if (pair$value %in% nonsense) {
      "is accepted"
    }
    if (!is.null(fault) && !calls[row] %in% right_values) {
      faults <- c(faults, paste(calls[row], fault))
    }
  }
  expect_identical(faults, character())
})

test_that("a list that only has the class of a description prints, and is refused as an argument", {
  families <- c("cluster", "estimator", "input", "strategy", "hook", "feature_column", "job")
  families <- c(families, "feature_columns", "run_config", "train_spec", "eval_spec", "optimizer")
  for (class in paste0("tfdistribute_", families)) {
    for (value in list(list(), list(kind = "local"), list(1, "a"), 1)) {
      expect_output(print(structure(value, class = class)), info = class)
    }
  }
  forged <- function(class) structure(list(), class = paste0("tfdistribute_", class))
  expect_error(run_config(cluster = forged("cluster")), class = "tfdistribute_argument_error")
  model <- linear_regressor(column_numeric("wt"))
  expect_error(
    train_and_evaluate(model, forged("train_spec"), forged("eval_spec")),
    class = "tfdistribute_argument_error"
  )
})
