# Proves: Clusters of Slurm

two_nodes <- function(...) {
  slurm_cluster(nodes = 2, time_limit = "04:00:00", options = "--cpus-per-task=8", ...)
}

# The paths of this machine, of this package and of Python.
hide_paths <- function(lines) {
  lines <- gsub("-c '[^']*'", "-c <code>", lines)
  lines <- gsub("exec [^ ]+ ", "exec <python> ", lines)
  lines <- gsub("<code> [^ ]+ ", "<code> <package> ", lines)
  lines <- gsub("chdir=.*$", "chdir=<working directory>", lines)
  gsub(getwd(), "<working directory>", lines, fixed = TRUE)
}

test_that("a printed cluster of Slurm shows no values of variables", {
  expect_snapshot({
    two_nodes()
    slurm_cluster(
      nodes = 1,
      workers = 3,
      ps = 1,
      evaluator = FALSE,
      partition = "long",
      account = "us",
      setup = "module load R",
      environment = c(TOKEN = "secret"),
      requeue = FALSE
    )
  })
})

test_that("a cluster of Slurm is a plain value that can be saved and changed", {
  file <- withr::local_tempfile()
  described <- two_nodes(environment = list(A = "1"))
  saveRDS(described, file)
  expect_identical(readRDS(file), described)
  described$nodes <- 1
  expect_identical(described$nodes, 1L)
  expect_identical(described$workers, 2L)
  expect_s3_class(described, "tfdistribute_slurm_cluster")
})

test_that("an error in a cluster of Slurm names the argument", {
  skip_if_no_tensorflow()
  refused <- function(...) job_script(slurm_cluster(nodes = 2, ...))
  expect_snapshot(error = TRUE, {
    slurm_cluster()
    slurm_cluster(nodes = 0)
    slurm_cluster(nodes = 2, time_limit = 3600)
    slurm_cluster(nodes = 2, stop_signal_s = 5)
    slurm_cluster(nodes = 2, environment = "secret")
    refused(time_limit = "four hours")
    refused(time_limit = "00:03:00")
    refused(partition = "a b")
    refused(options = "cpus-per-task=8")
    refused(options = "--array=0-9")
    refused(options = "--time=1")
    refused(options = "--exclusive\n#SBATCH --uid=0")
    as_tf_config(two_nodes())
    job_script(local_cluster(2))
  })
})

test_that("the script of a job shows what sbatch would get", {
  skip_if_no_tensorflow()
  model <- linear_regressor(
    feature_columns(column_numeric("wt")),
    model_dir = "/shared/my cars",
    config = run_config(
      strategy_multi_worker(),
      cluster = two_nodes(setup = c("module load R", "export OMP_NUM_THREADS=8"))
    )
  )
  expect_snapshot(job_script(model), transform = hide_paths)
  expect_snapshot(job_script(slurm_cluster(1, requeue = FALSE)), transform = hide_paths)
})

test_that("a plan numbers the nodes that Slurm will choose", {
  skip_if_no_tensorflow()
  model <- linear_regressor(feature_columns(column_numeric("wt")), model_dir = "/shared/cars")
  expect_snapshot(plan_training(model, cluster = two_nodes(ps = 1)))
})

test_that("a task of the user's own srun reads its cluster from Slurm's variables", {
  skip_if_no_tensorflow()
  withr::local_envvar(
    TF_CONFIG = NA,
    SLURM_JOB_ID = "7",
    SLURM_STEP_ID = "0",
    SLURM_NTASKS = "3",
    SLURM_PROCID = "2",
    SLURM_STEP_NODELIST = "node[01-02]",
    SLURM_STEP_TASKS_PER_NODE = "2,1"
  )
  expect_snapshot(cluster_from_environment())
  withr::local_envvar(SLURM_STEP_NODELIST = NA)
  expect_snapshot(error = TRUE, cluster_from_environment())
})

# A real Slurm with two nodes on this machine, for the test.
local_slurm <- function(frame = parent.frame()) {
  programs <- Sys.which(c("slurmctld", "slurmd", "munged", "sbatch"))
  if (!all(nzchar(programs)) || Sys.info()[["effective_user"]] != "root") {
    skip_or_fail("There is no Slurm, or this is not root.")
  }
  directory <- withr::local_tempdir(.local_envir = frame)
  source <- file.path(source_root(), "tests", "python")
  slurm <- processx::process$new(
    python_in_use(),
    c("-m", "support.slurm_daemons", directory),
    env = c("current", PYTHONPATH = source),
    wd = source,
    stdin = "|",
    stdout = file.path(directory, "ready")
  )
  withr::defer(
    {
      close(slurm$get_input_connection())
      slurm$wait(30000)
    },
    envir = frame
  )
  is_up <- function() isTRUE(file.size(file.path(directory, "ready")) > 0)
  expect_true(wait_until(is_up, 60))
  withr::local_envvar(SLURM_CONF = file.path(directory, "slurm.conf"), .local_envir = frame)
}

real_nodes <- function(...) {
  # A login without a terminal finds this Python and these packages.
  slurm_cluster(nodes = 2, ..., rscript = file.path(R.home("bin"), "Rscript"))
}

expect_same_weights <- function(far, near) {
  names <- variable_names(near)
  expect_identical(variable_names(far), names)
  for (name in setdiff(names, "global_step")) {
    expect_equal(variable_value(far, name), variable_value(near, name), tolerance = 1e-6)
  }
}

test_that("a model trained by Slurm has the weights of one trained on this machine", {
  skip_if_no_tensorflow("check-all")
  local_slurm()
  make_model <- function(config) {
    linear_regressor(
      feature_columns(column_numeric("wt", "hp")),
      model_dir = withr::local_tempdir(.local_envir = parent.frame()),
      optimizer = list("sgd", learning_rate = 1e-5),
      config = config
    )
  }
  input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 16, epochs = NULL, seed = 1)
  cluster <- real_nodes(evaluator = FALSE)
  expect_identical(nrow(check_cluster(cluster)), 0L)
  unknown <- check_cluster(real_nodes(partition = "gpu"))
  expect_match(unknown$message, "Slurm does not accept this job: .*invalid partition")
  far <- make_model(run_config(strategy_multi_worker(), cluster = cluster, seed = 1))
  job <- launch(far, train_spec(input, max_steps = 20), wait = FALSE)
  expect_match(format(job)[[1]], "<job> .*: (queued|starting|training)")
  found <- job_find(far)
  expect_identical(found$key, job$key)
  history <- suppressWarnings(suppressMessages(job_wait(found)))
  expect_identical(history$global_step, 20L)
  near <- make_model(run_config(seed = 1))
  suppressWarnings(train(near, input, max_steps = 20))
  expect_same_weights(far, near)
  # The next session, too, sees how it ended.
  expect_identical(job_history(job_find(far$model_dir))$global_step, 20L)
  expect_match(job_logs(found, "worker 0"), "worker 0 starts", all = FALSE)
  expect_false(file.exists(file.path(far$model_dir, ".jobs")))
})

if (checks_all()) {
  test_that("models of R and Keras, and parameter servers, train by Slurm as on this machine", {
    skip_if_no_tensorflow()
    local_slurm()
    offset <- 0.5
    in_r <- function(features, labels, mode, params, config) {
      tf <- reticulate::import("tensorflow")
      v1 <- tf$compat$v1
      inputs <- tf$stack(list(features$wt, features$hp / 100), axis = 1L)
      outputs <- v1$layers$dense(inputs, 1L, kernel_initializer = tf$ones_initializer())
      predicted <- tf$reshape(outputs, list(-1L)) + offset
      if (mode == "infer") {
        return(estimator_spec(mode, predictions = list(predictions = predicted)))
      }
      loss <- v1$losses$mean_squared_error(tf$reshape(labels, list(-1L)), predicted)
      optimizer <- v1$train$GradientDescentOptimizer(0.001)
      train_op <- optimizer$minimize(loss, v1$train$get_global_step())
      estimator_spec(mode, loss = loss, train_op = train_op)
    }
    in_keras <- function() {
      keras <- reticulate::import("tensorflow")$keras
      model <- keras$Sequential(list(
        keras$layers$Dense(1L, kernel_initializer = "ones", input_shape = list(2L))
      ))
      model$compile(optimizer = keras$optimizers$legacy$SGD(1e-6), loss = "mse")
      model
    }
    columns <- feature_columns(column_numeric("wt"))
    makers <- list(
      r = function(...) estimator(in_r, ...),
      keras = function(...) keras_model_to_estimator(in_keras, ...),
      servers = function(...) linear_regressor(columns, ...)
    )
    input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 16, epochs = NULL, seed = 1)
    training <- train_spec(input, max_steps = 20)
    all_cars <- input_fn(mpg ~ wt + hp, mtcars)
    evaluation <- eval_spec(all_cars, start_delay_secs = 0, throttle_secs = 0)
    for (name in names(makers)) {
      has_servers <- name == "servers"
      strategy <- if (has_servers) strategy_parameter_server() else strategy_multi_worker()
      workers <- if (has_servers) 1 else 2
      trained <- lapply(list(real_nodes, local_cluster), function(make_cluster) {
        cluster <- make_cluster(workers = workers, ps = as.integer(has_servers))
        model <- makers[[name]](
          model_dir = withr::local_tempdir(.local_envir = parent.frame(2)),
          config = run_config(strategy, cluster = cluster, seed = 1)
        )
        history <- suppressWarnings(train_and_evaluate(model, training, evaluation))
        expect_identical(utils::tail(history$evaluations$global_step, 1), 20L, label = name)
        model
      })
      expect_same_weights(trained[[1]], trained[[2]])
    }
  })
}

test_that("a waiting job of Slurm is seen and stopped from R", {
  skip_if_no_tensorflow("smoke")
  directory <- withr::local_tempdir()
  # Programs that answer as those of Slurm do for a job that waits.
  answers <- c(
    sbatch = "cat > script; echo 7",
    squeue = "[ -e gone ] && echo 'CANCELLED|None' || echo 'PENDING|Resources'",
    scancel = "case \"$*\" in *--signal*) exit 1 ;; *) touch gone ;; esac"
  )
  for (name in names(answers)) {
    path <- file.path(directory, name)
    writeLines(c("#!/bin/sh", sprintf("cd '%s' || exit 1", directory), answers[[name]]), path)
    Sys.chmod(path, "755")
  }
  # Python took its variables when it started.
  environment <- reticulate::import("os", convert = FALSE)$environ
  before <- reticulate::py_to_r(environment$get("PATH"))
  reticulate::py_set_item(environment, "PATH", paste0(directory, ":", before))
  withr::defer(reticulate::py_set_item(environment, "PATH", before))
  config <- run_config(strategy_multi_worker(), cluster = slurm_cluster(nodes = 2))
  columns <- feature_columns(column_numeric("wt"))
  model <- linear_regressor(columns, model_dir = withr::local_tempdir(), config = config)
  job <- launch(model, train_spec(input_fn(mpg ~ wt, mtcars), max_steps = 5), wait = FALSE)
  expect_match(format(job)[[1]], ": queued")
  job_stop(job)
  expect_match(format(job)[[1]], ": stopped")
})
