test_that("a printed cluster of daemons shows what each of them has", {
  expect_snapshot({
    mirai_cluster(workers = 2)
    mirai_cluster(workers = 1, ps = 1, gpus_per_worker = 1, profile = "gpu")
  })
})

test_that("daemons that cannot be used are an error before anything starts", {
  skip_if_no_tensorflow()
  state <- local_mirai(connections = 1L)
  model <- wt_regressor(
    config = run_config(strategy_multi_worker(), cluster = mirai_cluster(workers = 2))
  )
  expect_snapshot(error = TRUE, {
    train(model, cars_input())
    state$status$mirai <- NULL
    train(model, cars_input())
    state$status <- no_daemons
    check_cluster(model$config$cluster)
  })
  expect_null(state$sent)
})

test_that("daemons reach the session where they reach mirai", {
  expect_identical(address_of_daemons("abstract://f00"), "127.0.0.1")
  expect_identical(address_of_daemons("ipc:///tmp/f00"), "127.0.0.1")
  expect_identical(address_of_daemons("tcp://10.0.0.1:5555"), "10.0.0.1")
  expect_identical(address_of_daemons("tls+tcp://head:5555"), "head")
  expect_identical(address_of_daemons("tcp://[::1]:5555/x"), "::1")
})

test_that("two daemons train the weights of two processes", {
  skip_if_no_tensorflow()
  leave_to_check()
  state <- local_mirai()
  trained <- function(cluster) {
    model <- wt_regressor(
      config = run_config(strategy_multi_worker(), cluster = cluster, seed = 1)
    )
    train(model, cars_input(epochs = 5, shuffle = FALSE))
    unlist(variable_value(model))
  }
  daemons <- mirai_cluster(workers = 2, evaluator = FALSE)
  expect_identical(nrow(check_cluster(daemons)), 0L)
  expect_length(state$sent, 2)
  expect_equal(trained(daemons), trained(local_cluster(2, evaluator = FALSE)), tolerance = 1e-6)
  expect_length(state$sent, 4)
  for (sent in state$sent) {
    sent$process$wait(10000)
    expect_identical(sent$data, 0L)
  }
  expect_length(the$members, 0)
})

# What the session knows after the supervisor has asked for one member that runs `script`.
members_of <- function(script, frame = parent.frame()) {
  exchange <- withr::local_tempdir(.local_envir = frame)
  wanted <- list(command = list("sh", "-c", script), texts = list("text"))
  jsonlite::write_json(wanted, file.path(exchange, "members.json"), auto_unbox = TRUE)
  list2env(list(exchange = exchange, profile = NULL, sent = list()))
}

send_and_wait <- function(members) {
  send_members(members)
  members$sent[[1]]$process$wait(10000)
}

test_that("a member runs until its daemon is lost, and then in a new one", {
  # Where killed daemons leave their files.
  withr::local_envvar(TMPDIR = withr::local_tempdir())
  state <- local_mirai()
  parent <- withr::local_tempfile()
  members <- members_of(sprintf("echo $PPID > %s; exec sleep 60", parent))
  for (each in 1:2) {
    send_members(members)
  }
  expect_length(state$sent, 1)
  expect_true(wait_until(function() isTRUE(file.size(parent) > 0), 20))
  # So it ends with the daemon.
  expect_identical(readLines(parent), as.character(state$sent[[1]]$process$get_pid()))
  lose <- function(sent) {
    sent$process$kill_tree()
    sent$process$wait(10000)
  }
  lose(state$sent[[1]])
  send_members(members)
  expect_length(state$sent, 2)
  expect_identical(state$launched, 1)
  state$status$daemons <- "tcp://10.0.0.1:5555"
  lose(state$sent[[2]])
  send_members(members)
  # Who has started daemons elsewhere starts them again.
  expect_identical(state$launched, 1)
  lose(state$sent[[3]])
})

test_that("a member that no daemon can run is not sent again", {
  state <- local_mirai()
  refusal <- function(members) {
    send_members(members)
    path <- file.path(members$exchange, "refusal.json")
    if (file.exists(path)) jsonlite::read_json(path)$problem
  }
  members <- members_of("exit 127")
  send_and_wait(members)
  expect_identical(refusal(members), "A daemon of mirai cannot run Python on its host.")
  members <- members_of("exit 1")
  send_and_wait(members)
  expect_null(refusal(members))
  members$sent[[1]]$process$wait(10000)
  state$status <- no_daemons
  expect_identical(refusal(members), "The daemons of mirai were reset.")
  expect_length(state$sent, 3)
})
