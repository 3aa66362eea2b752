# Idle processes of local clusters. Their protocol is tested with fake tasks, in Python.

test_that("a second training gets idle processes, and their state and weights are those of a cold start", {
  skip_if_no_tensorflow()
  found <- in_child_r(timeout_s = 240, function() {
    options(tfdistribute.idle_s = 100, digits = 5)
    set.seed(2)
    # What the task finds, and its process.
    record <- function(directory) {
      force(directory)
      hook_session_run(begin = function() {
        task <- jsonlite::fromJSON(Sys.getenv("TF_CONFIG"))$task
        facts <- list(
          pid = Sys.getpid(),
          place = getwd(),
          packages = search(),
          digits = getOption("digits"),
          random = stats::runif(1),
          variables = setdiff(names(Sys.getenv()), "CHANGED"),
          temporary = basename(dirname(tempdir())),
          input = length(readLines(file("stdin"))),
          affinity = grep("Cpus_allowed_list", readLines("/proc/self/status"), value = TRUE)
        )
        saveRDS(facts, file.path(directory, paste0(task$type, ".rds")))
      })
    }
    train_once <- function() {
      set.seed(3)
      directory <- tempfile("facts")
      dir.create(directory)
      config <- run_config(
        strategy_multi_worker(),
        cluster = local_cluster(workers = 2, start_timeout_s = 200),
        seed = 1
      )
      columns <- feature_columns(column_numeric("wt", "hp"))
      model <- dnn_regressor(hidden_units = 4, feature_columns = columns, config = config)
      input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 8, epochs = NULL)
      train(model, input, steps = 5, hooks = record(directory))
      weights <- lapply(variable_names(model), function(name) variable_value(model, name))
      tasks <- lapply(c(chief = "chief", worker = "worker"), function(task) {
        readRDS(file.path(directory, paste0(task, ".rds")))
      })
      unlink(c(directory, model_dir(model)), recursive = TRUE)
      list(
        weights = weights,
        pids = unlist(lapply(tasks, `[[`, "pid"), use.names = FALSE),
        states = lapply(tasks, function(task) task[names(task) != "pid"])
      )
    }
    idle <- function() {
      repeat {
        state <- tfdistribute:::call_backend("idle_processes")
        if (length(state) > 0 && state[[1]]$is_ready) {
          return(unlist(state[[1]]$pids))
        }
        Sys.sleep(0.1)
      }
    }
    train_once()
    prepared <- idle()
    warm <- train_once()
    Sys.setenv(CHANGED = "1")
    before <- idle()
    cold <- train_once()
    list(prepared = prepared, before = before, warm = warm, cold = cold)
  })
  expect_identical(found$warm$pids, found$prepared)
  expect_false(any(found$cold$pids %in% found$before))
  expect_identical(found$warm$states, found$cold$states)
  expect_identical(found$warm$weights, found$cold$weights)
})

test_that("idle processes are kept for a number of seconds", {
  withr::local_options(tfdistribute.idle_s = "long")
  expect_snapshot(error = TRUE, idle_s())
})

test_that("examples that R CMD check runs leave no idle processes", {
  withr::local_options(tfdistribute.idle_s = NULL)
  withr::local_envvar(`_R_CHECK_PACKAGE_NAME_` = NA)
  expect_identical(idle_s(), 300)
  withr::local_envvar(`_R_CHECK_PACKAGE_NAME_` = "tfdistribute")
  expect_identical(idle_s(), 0)
})
