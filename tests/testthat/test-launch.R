# Jobs with real processes. Each starts R and TensorFlow at least twice, so a few jobs test many things.
# Proves: R functions as models

cars <- function(...) cars_input(mpg ~ wt + hp, ...)

in_cluster <- function(..., evaluator = FALSE) {
  # Test machines can be slow and busy.
  cluster <- local_cluster(2, evaluator = evaluator, start_timeout_s = 200)
  run_config(strategy_multi_worker(), cluster = cluster, ...)
}

# The private directory of the job that trained in `model_dir`.
private_directory_of <- function(model_dir) {
  text <- readLines(file.path(model_dir, "logs", "result.json"), warn = FALSE)
  id <- sub("^.*?\"id\": \"([^\"]*)\".*$", "\\1", text[[1]], perl = TRUE)
  file.path(dirname(tempdir()), paste0("tfdistribute-job-", id))
}

test_that("one call trains and evaluates in three processes, with the numbers of one", {
  skip_if_no_tensorflow("promise")
  columns <- feature_columns(column_numeric("wt", "hp"))
  directory <- withr::local_tempdir()
  sgd <- list("sgd", learning_rate = 1e-5)
  model <- linear_regressor(
    columns,
    model_dir = file.path(directory, "cluster"),
    optimizer = sgd,
    config = in_cluster(save_checkpoints_steps = 15, evaluator = TRUE)
  )
  training <- train_spec(cars(epochs = NULL), max_steps = 30)
  evaluation <- eval_spec(cars(), start_delay_secs = 0, throttle_secs = 0)
  history <- train_and_evaluate(model, training, evaluation)
  alone <- linear_regressor(columns, model_dir = file.path(directory, "alone"), optimizer = sgd)
  reference <- train(alone, cars(epochs = NULL), max_steps = 30)

  expect_s3_class(history, class(reference), exact = TRUE)
  expect_identical(history$global_step, 30L)
  expect_identical(history$losses$step, reference$losses$step)
  expect_equal(history$losses$loss, reference$losses$loss, tolerance = 1e-5)
  expect_equal(variable_value(model), variable_value(alone), tolerance = 2e-6)
  expect_true(30L %in% history$evaluations$global_step)
  expect_named(history$tasks, c("task", "state", "step", "examples_per_second"))
  expect_identical(history$tasks$task, c("chief 0", "worker 0", "evaluator 0"))
  expect_identical(unique(history$tasks$state), "done")
  expect_true(all(history$tasks$examples_per_second[1:2] > 0))
  expect_identical(c(history$restarts, history$steps_lost), c(0L, 0L))

  # Verbs that use a trained model run in this process and ignore the cluster.
  expect_equal(predict(model, cars()), predict(alone, cars()), tolerance = 1e-5)
  last <- utils::tail(history$evaluations, 1)
  expect_equal(evaluate(model, cars())$average_loss, last$average_loss, tolerance = 1e-5)

  expect_setequal(
    list.files(file.path(model$model_dir, "logs"), "log$"),
    c("chief-0.log", "worker-0.log", "evaluator-0.log")
  )
  expect_length(list.files(model$model_dir, "tmp_worker"), 0)
  expect_false(dir.exists(private_directory_of(model$model_dir)))
})

test_that("a background job can be inspected, waited for and stopped", {
  skip_if_no_tensorflow("smoke")
  rate <- 0.01
  line <- function(features, labels, mode) {
    x <- tf$reshape(features$wt, c(-1L, 1L))
    predicted <- tf$squeeze(tf$compat$v1$layers$dense(x, 1L), 1L)
    list(
      predictions = list(mpg = predicted),
      loss = if (mode != "infer") tf$reduce_mean(tf$math$squared_difference(labels, predicted)),
      optimizer = list("sgd", learning_rate = rate)
    )
  }
  model <- estimator(line, model_dir = withr::local_tempdir(), config = in_cluster())
  job <- launch(model, train_spec(cars(epochs = NULL), max_steps = 1e6), wait = FALSE)
  withr::defer(job_stop(job))
  expect_s3_class(job, "tfdistribute_job")
  # Neither another job nor a training of this session may write there.
  alone <- estimator(line, model_dir = model_dir(model))
  for (again in list(model, alone)) {
    expect_error(
      train(again, cars(epochs = NULL), max_steps = 10),
      "is in use by another training: .*, pid [0-9]+",
      class = "tfdistribute_model_directory_error"
    )
  }
  deadline <- Sys.time() + 200
  while (anyNA(job_state(job)$step) && Sys.time() < deadline) {
    expect_null(job_wait(job, timeout_s = 0.3))
  }
  tasks <- job_state(job)
  expect_identical(tasks$state, c("training", "training"))
  expect_true(all(vapply(tasks$pid, is_running, NA)))
  expect_match(format(job), "chief 0 .*training, step [0-9]+", all = FALSE)
  expect_match(job_logs(job, "worker 0"), "worker 0 starts", all = FALSE)

  took <- system.time(job_stop(job))[["elapsed"]]
  expect_lt(took, 12)
  # The supervisor is the last process to end, after it has reported the end of the job.
  wait_until(function() !is_running(job$pid), 5)
  expect_false(any(vapply(c(tasks$pid, job$pid), is_running, NA)))
  expect_false(dir.exists(job$directory))
  expect_gt(job_history(job)$global_step, 0)
  expect_gt(variable_value(model, "global_step")[[1]], 0)
  expect_error(job_wait(job), "was stopped", class = "tfdistribute_training_error")
})

test_that("Ctrl-C stops every process, and an error names the task, host and code", {
  skip_if_no_tensorflow()
  directory <- withr::local_tempdir()
  child <- local_child_r(
    function(directory) {
      config <- run_config(
        strategy_multi_worker(),
        save_checkpoints_steps = 50,
        cluster = local_cluster(2, evaluator = FALSE, start_timeout_s = 200)
      )
      cars <- input_fn(mpg ~ wt, mtcars, batch_size = 16, epochs = NULL)
      columns <- feature_columns(column_numeric("wt"))
      model <- linear_regressor(columns, model_dir = directory, config = config)
      result <- tryCatch(
        train(model, cars, steps = 1e6),
        interrupt = function(interrupt) "interrupted"
      )
      # ps itself, and the shell that runs it.
      children <- length(system("ps -o pid= --ppid $PPID", intern = TRUE)) - 2

      broken_part <- function() stop("nothing {works} here")
      broken <- function(features, labels, mode) {
        warning("this is {odd}")
        if (grepl('"type": "worker"', Sys.getenv("TF_CONFIG"))) {
          broken_part()
        }
        x <- tf$reshape(features$wt, c(-1L, 1L))
        list(loss = tf$reduce_mean(tf$compat$v1$layers$dense(x, 1L)), optimizer = "sgd")
      }
      error <- tryCatch(
        train(estimator(broken, config = config), cars, steps = 5),
        error = identity
      )
      list(
        result = result,
        children = children,
        error = error,
        message = conditionMessage(error),
        log = readLines(error$log),
        restarts = jsonlite::read_json(file.path(dirname(error$log), "result.json"))$restarts
      )
    },
    list(directory)
  )
  has_begun <- function() any(grepl("ckpt-[1-9]", list.files(directory))) || !child$is_alive()
  wait_until(has_begun, 200)
  child$interrupt()
  found <- result_of(child, 200)
  expect_identical(found$result, "interrupted")
  expect_lte(found$children, 0)
  expect_match(output_of(child), "this is {odd}", fixed = TRUE)
  expect_s3_class(found$error, "tfdistribute_callback_error")
  expect_identical(found$error$task, "worker 0")
  expect_match(
    found$message,
    "worker 0 on localhost: `model_fn` failed at test-launch.R:",
    fixed = TRUE
  )
  expect_match(found$message, "nothing {works} here", fixed = TRUE)
  expect_match(found$error$r_traceback, "broken_part()", fixed = TRUE)
  expect_match(found$error$python_traceback, "CallbackError", fixed = TRUE)
  # Errors in the user's code are not retried.
  expect_identical(found$restarts, 0L)
  expect_match(found$log, "nothing {works} here", fixed = TRUE, all = FALSE)
})

# Whether a model trains in a job as on one device: one process takes one step per run, the others up to five.
expect_agreement <- function(model, data, workers) {
  cars <- input_fn(mpg ~ wt + hp, data, batch_size = 12, epochs = NULL, seed = 2)
  # The one process takes single steps on whole batches.
  model$config <- run_config(steps_per_run = 5, micro_batches = 4)
  cluster <- local_cluster(workers, start_timeout_s = 200)
  verification <- check_distribution(model, cars, cluster, steps = 8)
  expect_true(verification$agrees, info = paste(format(verification), collapse = "\n"))
  expect_false(dir.exists("unused"))
  invisible(verification)
}

if (checks_all()) {
  test_that("a model of R trains in three processes as on one device", {
    skip_if_no_tensorflow()
    rate <- 0.01
    line <- function(features, labels, mode) {
      x <- tf$stack(list(features$wt, features$hp), axis = 1L)
      hidden <- tf$compat$v1$layers$dense(x, 4L, activation = tf$nn$tanh, name = "hidden")
      predicted <- tf$squeeze(tf$compat$v1$layers$dense(hidden, 1L, name = "out"), 1L)
      list(
        predictions = list(mpg = predicted),
        loss = if (mode != "infer") tf$reduce_mean(tf$math$squared_difference(labels, predicted)),
        optimizer = list("sgd", learning_rate = rate)
      )
    }
    model <- estimator(line, model_dir = "unused")
    verification <- expect_agreement(model, as.data.frame(scale(mtcars)), workers = 3)
    expect_true(all(c("hidden/kernel", "out/bias", "loss") %in% verification$differences$name))
  })

  test_that("a training loop of R trains on two devices and in two processes as on one device", {
    skip_if_no_tensorflow()
    loop <- training_loop(
      function(params) {
        dense <- tf$keras$layers$Dense
        list(
          hidden = dense(4L, activation = "tanh", name = "hidden"),
          out = dense(1L, name = "out"),
          optimizer = tf$keras$optimizers$legacy$Adam(params$rate)
        )
      },
      function(parts, features, labels) {
        tape <- tf$GradientTape()
        loss <- with(tape, {
          x <- tf$stack(list(features$wt, features$hp), axis = 1L)
          predicted <- tf$squeeze(parts$out(parts$hidden(x)), 1L)
          tf$reduce_mean(tf$math$squared_difference(labels, predicted))
        })
        variables <- c(parts$hidden$trainable_variables, parts$out$trainable_variables)
        pairs <- Map(list, tape$gradient(loss, variables), variables)
        list(loss = loss, train_op = parts$optimizer$apply_gradients(pairs))
      },
      params = list(rate = 0.01),
      model_dir = "unused"
    )
    found <- expect_agreement(loop, as.data.frame(scale(mtcars)), workers = 2)$differences
    expect_setequal(found$training, c("devices", "processes"))
    expect_true(all(c("hidden/kernel", "out/bias", "loss") %in% found$name))
    expect_lt(max(found$difference[found$name != "loss"]), 1e-6)
  })
}

test_that("a task file that was changed or exposed is not read", {
  skip_if_no_tensorflow()
  directory <- local_job_directory()
  expect_identical(file.info(directory)$mode, as.octmode("700"))
  digest <- sha256(write_task(directory, "train", list(object = list())))
  read_task(directory, digest)
  bytes <- readBin(task_file(directory), "raw", 1e6)
  bytes[[length(bytes)]] <- xor(bytes[[length(bytes)]], as.raw(1))
  writeBin(bytes, task_file(directory))
  expect_error(read_task(directory, digest), "is not what was written")
  writeBin(xor(bytes, as.raw(0)), task_file(directory))
  Sys.chmod(directory, "755")
  expect_error(read_task(directory, sha256(task_file(directory))), "others")
  Sys.chmod(directory, "700")
})

# The functions of the backend that a verb asks for a job that is not started.
local_asked <- function(model_dir, frame = parent.frame()) {
  asked <- new.env()
  asked$names <- character()
  answering <- function(name, answer) {
    function(arguments) {
      asked$names <- c(asked$names, name)
      asked$arguments[[name]] <- arguments
      answer
    }
  }
  prepared <- c(untrained(), list(max_steps = 3, directory = model_dir))
  local_answers(
    prepare_verb = answering("prepare_verb", prepared),
    trained_state = answering("trained_state", untrained()),
    start_job = answering("start_job", list(id = "job", pid = 1L)),
    remove_job_directory = answering("remove_job_directory", NULL),
    job_state = function(arguments) list(state = "starting"),
    frame = frame
  )
  asked
}

test_that("every verb prepares a job once, and calls Python at most three times before it starts", {
  directory <- withr::local_tempdir()
  asked <- local_asked(directory)
  columns <- feature_columns(column_numeric("wt", "hp"))
  model <- linear_regressor(columns, config = in_cluster())
  tabular <- tabular_regressor(model_dir = directory)
  cluster <- local_cluster(2)
  started <- c("prepare_verb", "start_job")
  verbs <- list(
    function() launch(model, train_spec(cars(), max_steps = 3), eval_spec(cars()), wait = FALSE),
    function() train(model, mpg ~ wt + hp, mtcars, steps = 3, wait = FALSE),
    function() {
      train(tabular, mpg ~ wt, mtcars, wait = FALSE, cluster = cluster, validation = mtcars)
    },
    function() launch(tabular, cars(), wait = FALSE, cluster = cluster, validation = cars())
  )
  for (verb in verbs) {
    asked$names <- character()
    expect_identical(verb()$id, "job")
    expect_identical(asked$names, started)
  }
  # The rows that choose the end go to the tasks, too.
  expect_named(asked$arguments$start_job$inputs, c("data-1", "data-2"))
  asked$names <- character()
  train(model, log(mpg) ~ wt + hp, mtcars, steps = 3, wait = FALSE, impute = "mean")
  expect_identical(asked$names, c("trained_state", started))
})

test_that("launch() prints the notes that train() prints", {
  notes <- function(code) {
    the$trained_directories <- NULL
    capture.output(type = "message", job <- code)
  }
  withr::local_options(tfdistribute.progress = TRUE)
  local_asked(withr::local_tempdir())
  model <- linear_regressor(
    feature_columns(column_numeric("wt")),
    model_dir = withr::local_tempdir(),
    config = in_cluster(),
    standardize_response = FALSE
  )
  input <- input_fn(mpg ~ wt, mtcars)
  launched <- notes(launch(model, input, wait = FALSE))
  expect_match(launched, "`mpg` has the mean 20.09", all = FALSE, fixed = TRUE)
  expect_identical(launched, notes(train(model, input, wait = FALSE)))
})

test_that("a job that cannot be started leaves no private directory", {
  asked <- local_asked(withr::local_tempdir())
  connection <- textConnection("rows")
  withr::defer(close(connection))
  model <- estimator(function(features) readLines(connection), config = in_cluster())
  expect_error(launch(model, cars(), wait = FALSE), "connection")
  expect_identical(asked$names, c("prepare_verb", "remove_job_directory"))
  asked$names <- character()
  expect_error(
    launch(linear_regressor(feature_columns(column_numeric("wt"))), train_spec(cars())),
    "no processes to start"
  )
  expect_identical(asked$names, character())
})

test_that("run_task() is an error outside a job", {
  expect_error(run_task(), "does not name a job", class = "tfdistribute_argument_error")
})

test_that("an input that names a service of this machine is an error before the processes start", {
  skip_if_no_tensorflow()
  port <- call_backend("free_ports", count = 1L)[[1]]
  server <- processx::process$new(
    python_in_use(),
    c("-m", "http.server", port, "--bind", "127.0.0.1")
  )
  withr::defer(server$kill())
  url <- paste0("http://localhost:", port)
  answers <- function() !inherits(try(readLines(url, n = 1), silent = TRUE), "try-error")
  expect_true(suppressWarnings(wait_until(answers, 20)))
  model <- linear_regressor(
    feature_columns(column_numeric("x")),
    model_dir = file.path(withr::local_tempdir(), "model"),
    config = in_cluster()
  )
  rows <- function() stop("The address ", url, " was not seen.")
  expect_error(
    train(model, input_dataset(rows), max_steps = 5),
    paste0("names \"localhost:", port),
    class = "tfdistribute_cluster_error"
  )
})
