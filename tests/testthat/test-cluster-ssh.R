# Proves: Clusters by ssh

two_hosts <- function(...) ssh_cluster(c("node-a", "me@node-b"), ...)

test_that("a printed cluster of hosts shows no values of variables", {
  expect_snapshot({
    two_hosts()
    two_hosts(
      workers = 3,
      ps = 1,
      evaluator = FALSE,
      environment = c(TOKEN = "secret"),
      restarts = 1
    )
  })
})

test_that("a cluster of hosts is a plain value that can be saved and changed", {
  file <- withr::local_tempfile()
  described <- two_hosts(environment = list(A = "1"), host_addresses = c("node-a" = "10.0.0.1"))
  saveRDS(described, file)
  expect_identical(readRDS(file), described)
  expect_identical(described$workers, 2L)
  described$ps <- 1
  expect_identical(described$ps, 1L)
  expect_s3_class(described, "tfdistribute_ssh_cluster")
})

test_that("an error in a cluster of hosts names the argument", {
  file <- withr::local_tempfile(lines = c("# hosts", "node-a slots=two"))
  empty <- withr::local_tempfile(lines = "# none")
  hide <- function(lines) gsub("\"/[^\"]*\"", "\"<path>\"", lines)
  expect_snapshot(error = TRUE, transform = hide, {
    ssh_cluster()
    ssh_cluster("a", hostfile = "b")
    ssh_cluster("a", workers = 0)
    ssh_cluster("a", lease_s = 1)
    ssh_cluster("a", environment = "secret")
    ssh_cluster(hostfile = file)
    ssh_cluster(hostfile = empty)
    ssh_cluster(hostfile = "/no/such/file")
    as_tf_config(ssh_cluster("a"))
  })
})

test_that("a range of workers is the fewest and the most", {
  cluster <- ssh_cluster(c("a", "b", "c"), workers = c(2, 3))
  expect_identical(cluster$workers, c(2L, 3L))
  expect_identical(count_workers(cluster), 3L)
  expect_match(
    format(cluster),
    "workers    at least 2, if hosts are lost",
    fixed = TRUE,
    all = FALSE
  )
  expect_snapshot(error = TRUE, {
    local_cluster(c(1, 2))
  })
})

test_that("a plan rejects a batch that some number of workers cannot divide", {
  skip_if_no_tensorflow()
  model <- linear_regressor(feature_columns(column_numeric("wt")), model_dir = "/shared/cars")
  rows <- train_spec(input_fn(mpg ~ wt, mtcars, batch_size = 16))
  cluster <- ssh_cluster(c("a", "b", "c"), workers = c(2, 3))
  expect_error(
    plan_training(model, rows, cluster = cluster),
    "every number of workers from 2 to 3",
    class = "tfdistribute_sharding_error"
  )
})

test_that("a hostfile names hosts and their slots", {
  file <- withr::local_tempfile(
    lines = c("# hosts", "node-a slots=2", "", "me@node-b  # the other")
  )
  cluster <- ssh_cluster(hostfile = file)
  expect_identical(cluster$hosts, c("node-a", "node-a", "me@node-b"))
  expect_identical(cluster$workers, 3L)
})

test_that("a plan shows the hosts of the tasks and rules for their firewalls", {
  skip_if_no_tensorflow()
  model <- linear_regressor(feature_columns(column_numeric("wt")), model_dir = "/shared/cars")
  expect_snapshot(plan_training(model, cluster = two_hosts()))
})

test_that("tasks get the variables, libraries and programs that the cluster names", {
  cluster <- ssh_cluster(
    "a",
    rscript = "/opt/Rscript",
    python = "/opt/python",
    libraries = c("/x", "/y")
  )
  cluster$environment <- c(NAMED = "1")
  expect_identical(task_command(cluster)[[1]], "/opt/Rscript")
  expect_mapequal(
    task_environment(cluster),
    list(NAMED = "1", LANG = "C.UTF-8", R_LIBS = "/x:/y", RETICULATE_PYTHON = "/opt/python")
  )
})

# Two ssh servers on this machine, which also knows them. Returns a program that is ssh with this configuration.
local_ssh_servers <- function(frame = parent.frame()) {
  sshd <- Sys.which("sshd")
  sshd <- if (nzchar(sshd)) sshd else "/usr/sbin/sshd"
  if (!file.exists(sshd)) {
    skip_or_fail("There is no sshd.")
  }
  directory <- withr::local_tempdir(.local_envir = frame)
  path <- function(name) file.path(directory, name)
  if (Sys.info()[["effective_user"]] == "root") {
    dir.create("/run/sshd", showWarnings = FALSE)
  }
  make_key <- function(name) {
    processx::run("ssh-keygen", c("-q", "-t", "ed25519", "-N", "", "-f", path(name)), timeout = 20)
    paste(
      strsplit(readLines(path(paste0(name, ".pub"))), " ", fixed = TRUE)[[1]][1:2],
      collapse = " "
    )
  }
  writeLines(make_key("id"), path("authorized_keys"))
  ports <- unlist(call_backend("free_ports", count = 2L))
  known <- config <- character()
  # A process object that nothing refers to ends its process.
  servers <- list()
  withr::defer(lapply(servers, function(server) server$kill()), envir = frame)
  for (host in 1:2) {
    name <- c("node-a", "node-b")[[host]]
    key <- make_key(name)
    writeLines(
      c(
        paste0("ListenAddress 127.0.0.1:", ports[[host]]),
        paste("HostKey", path(name)),
        paste("AuthorizedKeysFile", path("authorized_keys")),
        "PidFile none",
        "UsePAM no",
        "StrictModes no",
        "PasswordAuthentication no",
        "PermitRootLogin prohibit-password"
      ),
      path("sshd_config")
    )
    log <- path(paste0(name, ".log"))
    servers[[host]] <- processx::process$new(
      sshd,
      c("-D", "-e", "-f", path("sshd_config")),
      stderr = log
    )
    is_up <- function() any(grepl("Server listening", readLines(log), fixed = TRUE))
    expect_true(wait_until(is_up, 20))
    known <- c(known, paste0("[127.0.0.1]:", ports[[host]], " ", key))
    config <- c(config, paste("Host", name), "  HostName 127.0.0.1", paste("  Port", ports[[host]]))
  }
  writeLines(known, path("known_hosts"))
  user <- Sys.info()[["effective_user"]]
  writeLines(
    c(
      config,
      "Host *",
      "  IdentitiesOnly yes",
      "  IdentityAgent none",
      paste("  User", user),
      paste("  IdentityFile", path("id")),
      paste("  UserKnownHostsFile", path("known_hosts"))
    ),
    path("config")
  )
  c("ssh", "-F", path("config"))
}

test_that("a model trained over ssh has the weights of one trained on this machine", {
  skip_if_no_tensorflow("check-all")
  ssh <- local_ssh_servers()
  train_with <- function(config) {
    model <- linear_regressor(
      feature_columns(column_numeric("wt", "hp")),
      model_dir = withr::local_tempdir(.local_envir = parent.frame(2)),
      optimizer = list("sgd", learning_rate = 1e-5),
      config = config
    )
    input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 16, epochs = NULL, seed = 1)
    history <- suppressWarnings(train(model, input, max_steps = 20))
    list(model = model, history = history)
  }
  hosts <- ssh_cluster(c("node-a", "node-b"), ssh = ssh, evaluator = FALSE)
  expect_identical(nrow(subset(check_cluster(hosts), severity == "error")), 0L)
  far <- train_with(run_config(strategy_multi_worker(), cluster = hosts, seed = 1))
  near <- train_with(run_config(seed = 1))
  expect_equal(variable_value(far$model), variable_value(near$model), tolerance = 2e-6)
  expect_match(
    readLines(file.path(far$model$model_dir, "logs", "worker-0.log")),
    "worker 0 starts",
    all = FALSE
  )
})

test_that("hosts with another version or another model_dir are named before anything starts", {
  skip_if_no_tensorflow()
  ssh <- local_ssh_servers()
  empty <- withr::local_tempdir()
  hosts <- ssh_cluster(
    "node-a",
    workers = 2,
    ssh = ssh,
    libraries = empty,
    python = "/usr/bin/python3"
  )
  found <- check_cluster(hosts)
  found <- found[found$severity == "error", ]
  expect_match(found$message, "node-a does not have tfdistribute", all = FALSE, fixed = TRUE)
  expect_match(
    found$message,
    "node-a has TensorFlow none, and this machine",
    all = FALSE,
    fixed = TRUE
  )
})

# The weights of a model after training on a cluster, by name; and the history.
trained_on <- function(cluster, make_model, input, verb = train, ...) {
  model <- make_model(withr::local_tempdir(.local_envir = parent.frame()), cluster)
  history <- suppressWarnings(suppressMessages(verb(model, input, ...)))
  names <- variable_names(model)
  weights <- lapply(rlang::set_names(names), function(name) variable_value(model, name))
  list(weights = weights, history = history)
}

on_hosts_and_here <- function(ssh, make_model, input, ..., ps = 0, evaluator = FALSE) {
  here <- local_cluster(2, ps = ps, evaluator = evaluator, start_timeout_s = 120)
  hosts <- ssh_cluster(c("node-a", "node-b"), ssh = ssh, ps = ps, evaluator = evaluator)
  list(
    far = trained_on(hosts, make_model, input, ...),
    near = trained_on(here, make_model, input, ...)
  )
}

if (checks_all()) {
  test_that("R and Keras models trained over ssh have the weights of those trained here", {
    skip_if_no_tensorflow()
    ssh <- local_ssh_servers()
    input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 16, epochs = NULL, seed = 1)
    config_of <- function(cluster) {
      run_config(strategy_multi_worker(), cluster = cluster, seed = 1)
    }
    units <- 4L
    in_r <- function(model_dir, cluster) {
      model_fn <- function(features, labels, mode) {
        hidden <- tf$compat$v1$layers$dense(features, units, activation = tf$nn$tanh)
        predicted <- tf$squeeze(tf$compat$v1$layers$dense(hidden, 1L), axis = 1L)
        loss <- tf$reduce_mean(tf$math$squared_difference(labels, predicted))
        estimator_spec(mode, loss = loss, optimizer = "sgd", predictions = list(mpg = predicted))
      }
      estimator(model_fn, model_dir = model_dir, config = config_of(cluster))
    }
    keras <- function(model_dir, cluster) {
      keras_model_to_estimator(
        function() {
          layers <- tf$keras$layers
          model <- tf$keras$Sequential(list(
            layers$InputLayer(input_shape = list(2L), name = "x"),
            layers$Dense(4L, activation = "tanh"),
            layers$Dense(1L)
          ))
          model$compile(optimizer = "sgd", loss = "mse")
          model
        },
        model_dir = model_dir,
        config = config_of(cluster)
      )
    }
    for (make_model in list(in_r, keras)) {
      trained <- on_hosts_and_here(ssh, make_model, input, max_steps = 20)
      expect_gt(length(trained$near$weights), 3)
      expect_equal(trained$far$weights, trained$near$weights, tolerance = 1e-6)
    }
  })
}

if (checks_all()) {
  test_that("parameter servers and an evaluator over ssh give the weights and losses of those here", {
    skip_if_no_tensorflow()
    ssh <- local_ssh_servers()
    rows <- mtcars[rep(1, 16), ]
    # Workers with servers do not wait for each other. One worker alone takes the same steps everywhere.
    make_model <- function(model_dir, cluster) {
      cluster$workers <- 1
      linear_regressor(
        feature_columns(column_numeric("wt", "hp")),
        model_dir = model_dir,
        config = run_config(strategy_parameter_server(), cluster = cluster, seed = 1)
      )
    }
    training <- train_spec(
      input_fn(mpg ~ wt + hp, rows, batch_size = 16, epochs = NULL, seed = 1),
      max_steps = 20
    )
    trained <- on_hosts_and_here(
      ssh,
      make_model,
      training,
      verb = train_and_evaluate,
      eval_spec(input_fn(mpg ~ wt + hp, mtcars)),
      ps = 1,
      evaluator = TRUE
    )
    expect_equal(trained$far$weights, trained$near$weights, tolerance = 1e-6)
    last <- function(history) history$evaluation[[length(history$evaluation)]]
    expect_equal(last(trained$far$history), last(trained$near$history), tolerance = 1e-6)
  })
}

if (checks_all()) {
  test_that("a training over ssh starts at most two seconds later than one here", {
    skip_if_no_tensorflow()
    ssh <- local_ssh_servers()
    seconds_to_first_step <- function(cluster) {
      model <- linear_regressor(
        feature_columns(column_numeric("wt", "hp")),
        model_dir = withr::local_tempdir(.local_envir = parent.frame()),
        config = run_config(strategy_multi_worker(), cluster = cluster)
      )
      input <- input_fn(mpg ~ wt + hp, mtcars, batch_size = 16, epochs = NULL)
      began <- Sys.time()
      job <- suppressMessages(launch(model, train_spec(input, max_steps = 1e6), wait = FALSE))
      withr::defer(job_stop(job))
      has_stepped <- function() isTRUE(all(job_state(job)$step >= 1))
      expect_true(wait_until(has_stepped, 120))
      as.double(Sys.time() - began, units = "secs")
    }
    hosts <- ssh_cluster(c("node-a", "node-b"), ssh = ssh, evaluator = FALSE)
    here <- local_cluster(2, evaluator = FALSE)
    # The first start of a run reads files that later ones find in memory.
    seconds_to_first_step(here)
    near <- c(seconds_to_first_step(here), seconds_to_first_step(here))
    far <- c(seconds_to_first_step(hosts), seconds_to_first_step(hosts))
    message(sprintf("first step: %.1f s here, %.1f s over ssh", min(near), min(far)))
    expect_lt(min(far) - min(near), 2)
  })
}
