# What happens to a job from outside: its session is killed, its files are changed.
# Proves: No process left behind

# The job that runs below a directory of temporary files: its private directory, and what its supervisor tells.
running_state <- function(temporary) {
  directory <- list.files(temporary, "^tfdistribute-job-", full.names = TRUE)
  file <- file.path(directory, "state.json")
  if (length(file) == 1 && file.exists(file)) jsonlite::read_json(file)
}

files_with <- function(text, directories) {
  files <- list.files(directories, recursive = TRUE, all.files = TRUE, full.names = TRUE)
  Filter(function(file) length(grepRaw(text, content_of(file), fixed = TRUE)) > 0, files)
}

# A running job renames and removes files: one that is gone since the listing has no content.
content_of <- function(file) {
  tryCatch(
    suppressWarnings(readBin(file, "raw", file.size(file))),
    error = function(condition) raw()
  )
}

test_that("a job ends within ten seconds of its session, which was killed", {
  skip_if_no_tensorflow("promise")
  model_dir <- file.path(withr::local_tempdir(), "model")
  session <- local_child_r(
    function(model_dir) {
      config <- run_config(
        strategy_multi_worker(),
        save_checkpoints_steps = 20,
        cluster = local_cluster(2, evaluator = FALSE, start_timeout_s = 200)
      )
      cars <- input_fn(mpg ~ wt, mtcars, batch_size = 16, epochs = NULL)
      columns <- feature_columns(column_numeric("wt"))
      train(linear_regressor(columns, model_dir = model_dir, config = config), cars, steps = 1e6)
    },
    list(model_dir),
    environment = c(A_PASSWORD = "planted-secret-9f2c")
  )
  temporary <- attr(session, "temporary")
  has_saved <- function() {
    file.exists(file.path(model_dir, "model.ckpt-20.index")) || !session$is_alive()
  }
  expect_true(wait_until(has_saved, 200))
  expect_true(session$is_alive(), info = output_of(session))
  state <- running_state(temporary)
  pids <- c(state$pid, vapply(state$tasks, function(task) task$pid, 1L))
  expect_length(pids, 3)
  expect_true(all(vapply(pids, is_running, NA)))
  # Tasks have the session's environment; no file has it.
  directories <- c(temporary, model_dir)
  expect_true(any(grepl("task.rds", files_with("linear_regressor", directories), fixed = TRUE)))
  expect_identical(files_with("planted-secret-9f2c", directories), character())

  session$signal(tools::SIGKILL)
  # The ten seconds are a promise for a machine that has time.
  is_gone <- function() {
    !any(vapply(pids, is_running, NA)) &&
      length(list.files(temporary, "^tfdistribute-job-")) == 0
  }
  expect_true(wait_until(is_gone, 30))
  result <- jsonlite::read_json(file.path(model_dir, "logs", "result.json"))
  expect_identical(result$state, "stopped")
  expect_match(result$message, "The session that started the job is gone.", fixed = TRUE)
  expect_false(file.exists(file.path(model_dir, ".lock")))
  expect_length(list.files(model_dir, "^tmp_"), 0)
})

test_that("a task refuses a task file that was changed", {
  skip_if_no_tensorflow()
  directory <- local_job_directory()
  digest <- sha256(write_task(directory, "train", list(object = list())))
  changed <- list(verb = "train", arguments = list(), packages = "thisPackageIsNotThere")
  saveRDS(changed, task_file(directory))
  events <- withr::local_tempfile()
  task <- processx::run(
    task_command()[[1]],
    task_command()[-1],
    env = c(
      "current",
      unlist(task_environment()),
      TFDISTRIBUTE_JOB = directory,
      TFDISTRIBUTE_DIGEST = digest,
      TFDISTRIBUTE_EVENTS = events
    ),
    error_on_status = FALSE,
    timeout = 120
  )
  expect_identical(task$status, 1L)
  expect_match(task$stderr, "is not what was written for this job", fixed = TRUE)
  expect_false(grepl("thisPackageIsNotThere", task$stderr, fixed = TRUE))
  told <- lapply(readLines(events), jsonlite::fromJSON)
  failed <- told[[length(told)]]
  expect_identical(c(failed$event, failed$kind), c("failed", "argument"))
  expect_false(failed$transient)
})
