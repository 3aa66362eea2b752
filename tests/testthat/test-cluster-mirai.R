test_that("a printed cluster of daemons shows what each of them has", {
  expect_snapshot({
    mirai_cluster(workers = 2)
    mirai_cluster(workers = 1, ps = 1, gpus_per_worker = 1, profile = "gpu")
  })
})

test_that("daemons that cannot be used are an error before anything starts", {
  skip_if_no_tensorflow()
  local_mirai(daemons = 1L)
  model <- wt_regressor(
    config = run_config(strategy_multi_worker(), cluster = mirai_cluster(workers = 2))
  )
  expect_snapshot(error = TRUE, {
    train(model, cars_input())
    set_daemons(1, dispatcher = FALSE)
    train(model, cars_input())
    set_daemons(0)
    check_cluster(model$config$cluster)
  })
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
  local_mirai()
  trained <- function(cluster) {
    model <- wt_regressor(
      config = run_config(strategy_multi_worker(), cluster = cluster, seed = 1)
    )
    train(model, cars_input(epochs = 5, shuffle = FALSE))
    unlist(variable_value(model))
  }
  daemons <- mirai_cluster(workers = 2, evaluator = FALSE)
  expect_identical(nrow(check_cluster(daemons)), 0L)
  expect_identical(count_sent(), 2L)
  expect_equal(trained(daemons), trained(local_cluster(2, evaluator = FALSE)), tolerance = 1e-6)
  expect_identical(count_sent(), 4L)
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
  expect_true(wait_for_sent(members$sent[[1]]))
  members$sent[[1]]
}

test_that("a member runs until its daemon is lost, and then in a new one", {
  # Where killed daemons leave their files.
  withr::local_envvar(TMPDIR = withr::local_tempdir())
  local_mirai(daemons = 1L)
  parent <- withr::local_tempfile()
  # It ends soon after its daemon.
  script <- "echo $PPID > %s; for i in $(seq 300); do kill -0 $PPID || exit; sleep 0.1; done"
  members <- members_of(sprintf(script, parent))
  daemon <- function() {
    expect_true(wait_until(function() isTRUE(file.size(parent) > 0), 60))
    as.integer(readLines(parent))
  }
  for (each in 1:2) {
    send_members(members)
  }
  expect_identical(count_sent(), 1L)
  sent <- members$sent[[1]]
  lost <- daemon()
  # The member ends with its daemon, which is its parent.
  tools::pskill(lost, tools::SIGKILL)
  expect_true(wait_for_sent(sent))
  file.remove(parent)
  send_members(members)
  expect_false(identical(members$sent[[1]], sent))
  found <- daemon()
  expect_false(found == lost)
  if (is_real("mirai")) {
    # Daemons elsewhere are those of the stand-in.
    tools::pskill(found, tools::SIGKILL)
    return(expect_true(wait_for_sent(members$sent[[1]])))
  }
  state <- mirai_state()
  expect_identical(state$launched, 1)
  state$status$daemons <- "tcp://10.0.0.1:5555"
  for (index in 2:3) {
    state$sent[[index]]$process$kill_tree()
    wait_for_sent(state$sent[[index]])
    if (index == 2) {
      send_members(members)
    }
  }
  # Who has started daemons elsewhere starts them again.
  expect_identical(state$launched, 1)
})

test_that("a member that no daemon can run is not sent again", {
  local_mirai(daemons = 1L)
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
  wait_for_sent(members$sent[[1]])
  expect_identical(count_sent(), 3L)
  set_daemons(0)
  expect_identical(refusal(members), "The daemons of mirai were reset.")
})
