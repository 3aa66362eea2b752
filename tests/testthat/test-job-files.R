# Files of jobs, as others may have planted or damaged them.

task <- list(
  task = "worker 0",
  host = "a",
  pid = 7L,
  state = "running",
  activity = "training",
  step = 3L,
  log = "/log"
)

ended_job <- function(model_dir) {
  list(
    id = "abcdefgh",
    logs = file.path(model_dir, "logs"),
    model_dir = model_dir,
    verb = "train",
    state = "failed",
    message = "It failed.",
    started = 1,
    ended = 2,
    global_step = 3L,
    notes = list("a note"),
    tasks = list(task),
    evaluations = list(list(global_step = 3, loss = 0.5)),
    failure = list(kind = "training", problem = "It failed.", task = "worker 0", host = "a"),
    history = list(
      training = list(
        step = list(1L, 2L),
        loss = list(0.5, 0.25),
        seconds = list(0.1, 0.2),
        examples_per_second = list(5, 5)
      )
    )
  )
}

# All paths to a value inside of lists.
paths_of <- function(x, before = list()) {
  keys <- names(x) %||% seq_along(x)
  unlist(
    recursive = FALSE,
    lapply(keys, function(key) {
      path <- c(before, key)
      c(list(path), if (is.list(x[[key]])) paths_of(x[[key]], path))
    })
  )
}

with_value <- function(x, path, value) {
  key <- path[[1]]
  x[key] <- if (length(path) == 1) value else list(with_value(x[[key]], path[-1], value))
  x
}

show_all <- function(model_dir) {
  job <- job_find(model_dir)
  shown <- capture.output({
    print(job)
    print(job_state(job))
    print(job_history(job))
    print(job_logs(job))
    job_wait(job)
  })
  paste(shown, collapse = "\n")
}

test_that("a damaged result is shown without escape sequences, or is one error", {
  skip_if_no_tensorflow()
  model_dir <- withr::local_tempdir()
  result <- file.path(model_dir, "logs", "result.json")
  dir.create(dirname(result))
  escapes <- "\u001b]0;title\u0007\u001b[2J"
  wrong <- list(
    escapes,
    "{1 + 1}",
    NULL,
    TRUE,
    -1,
    1.5,
    2^60,
    list(),
    list(escapes),
    list(a = escapes)
  )
  values <- ended_job(model_dir)
  places <- paths_of(values)
  withr::local_seed(20261127)
  for (try in seq_len(if (checks_all()) 60 else 20)) {
    damaged <- with_value(values, sample(places, 1)[[1]], sample(wrong, 1))
    jsonlite::write_json(damaged, result, auto_unbox = TRUE, null = "null", digits = NA)
    text <- tryCatch(
      suppressMessages(show_all(model_dir)),
      tfdistribute_error = conditionMessage
    )
    expect_no_match(text, "[\u001b\u0007]", info = deparse(damaged))
  }
})
