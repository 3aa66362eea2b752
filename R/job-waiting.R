# Waiting for a job: its state is read ten times a second, and what is new is shown.

poll_s <- 0.1

# Wait for the end of a job and return its history, or invisibly NULL after `timeout_s` seconds. With
# `stop_on_interrupt`, Ctrl-C ends the job.
follow_job <- function(
  job,
  timeout_s = Inf,
  stop_on_interrupt = TRUE,
  show = getOption("tfdistribute.progress", TRUE)
) {
  deadline <- Sys.time() + timeout_s
  news <- new_news(job, show)
  on.exit(news$finish())
  state <- tryCatch(
    repeat {
      state <- news$read()
      if (!is.null(state$ended) || Sys.time() > deadline) {
        break
      }
      Sys.sleep(poll_s)
    },
    interrupt = function(interrupt) {
      news$finish()
      if (stop_on_interrupt) {
        cli::cli_inform(c(i = "Stopping the job. The chief writes a checkpoint."))
        stop_job(job)
      } else {
        cli::cli_inform(c(i = "The job goes on; {.fn stop_job} ends it."))
      }
      rlang::interrupt()
    }
  )
  state <- news$state()
  if (is.null(state$ended)) {
    return(invisible())
  }
  news$finish()
  result_of_job(state, job)
}

# What was read already, so that everything is shown once.
new_news <- function(job, show) {
  seen <- new.env(parent = emptyenv())
  seen$state <- NULL
  seen$position <- NULL
  seen$step <- 0L
  seen$evaluations <- 0L
  seen$texts <- character()
  seen$table <- NULL
  progress <- new_progress(show = show)
  list(
    read = function() {
      wire <- job_wire(job)
      answer <- call_backend("job_news", job = wire, position = seen$position, level = "warning")
      seen$position <- answer$position
      seen$state <- answer$state
      show_progress(answer$state, seen, progress)
      show_texts(c(unlist(answer$state$notes), warnings_of_r(unlist(answer$lines))), seen)
      show_problem(answer$state, seen)
      answer$state
    },
    state = function() seen$state,
    finish = function() progress$finish()
  )
}

show_progress <- function(state, seen, progress) {
  if (is.null(progress$listener)) {
    return(invisible())
  }
  step <- state$global_step
  if (!is.null(step) && step != seen$step) {
    seen$step <- step
    progress$listener(list(
      event = "step",
      step = as.integer(step),
      loss = state$loss %||% NA_real_,
      last_step = state$max_steps,
      examples_per_second = speed_of(state)
    ))
  }
  for (metrics in utils::tail(state$evaluations, length(state$evaluations) - seen$evaluations)) {
    metrics <- lapply(metrics, function(value) value %||% NaN)
    progress$listener(c(list(event = "evaluation"), metrics))
  }
  seen$evaluations <- length(state$evaluations)
}

# Each task tells the speed of its own part.
speed_of <- function(state) {
  trains <- Filter(function(task) grepl("^(chief|worker) ", task$task), state$tasks)
  speeds <- vapply(trains, function(task) task$examples_per_second %||% NaN, NaN)
  if (length(speeds) == 0) NaN else sum(speeds)
}

# Each text once, whoever says it: tasks that do the same warn of the same.
show_texts <- function(texts, seen) {
  for (text in texts) {
    plain <- sub("^\\[[a-z]+ [0-9]+\\] |^[a-z]+ [0-9]+: ", "", text)
    if (!plain %in% seen$texts) {
      seen$texts <- c(seen$texts, plain)
      text <- sub("^([a-z]+ [0-9]+): ", "[\\1] ", text)
      # Foreign text is data, never a template.
      cli::cli_inform(c("!" = "{text}"))
    }
  }
}

# Of the logs, what R warned of; the errors of tasks are told as the job's.
warnings_of_r <- function(lines) {
  body <- sub("^\\[[^]]*\\] ", "", lines)
  begins <- grepl("^(Warning|In addition: Warning)", body)
  lines[begins | c(FALSE, utils::head(begins, -1))[seq_along(lines)]]
}

# The table of tasks, when something goes wrong.
show_problem <- function(state, seen) {
  is_stalled <- any(vapply(state$tasks, function(task) identical(task$state, "stalled"), NA))
  problem <- if (is_stalled || state$state %in% c("restarting", "failed")) state$message
  if (is.null(problem) || identical(problem, seen$table)) {
    return(invisible())
  }
  seen$table <- problem
  lines <- format_tasks(task_table(state$tasks))
  message(paste(c(problem, lines), collapse = "\n"))
}
