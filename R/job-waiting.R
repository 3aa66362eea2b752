# Waiting for a job, whose state is polled and whose changes are shown.

poll_s <- 0.1

# Wait for the end of a job and return its result, or invisibly NULL after `timeout_s` seconds. With
# `stop_on_interrupt`, Ctrl-C ends the job.
follow_job <- function(
  job,
  timeout_s = Inf,
  stop_on_interrupt = TRUE,
  show = getOption("tfdistribute.progress", TRUE),
  page = NULL
) {
  deadline <- Sys.time() + timeout_s
  monitor <- job_monitor(job, show, page)
  on.exit(monitor$finish())
  state <- tryCatch(
    repeat {
      state <- monitor$read()
      if (!is.null(state$ended) || Sys.time() > deadline) {
        break
      }
      Sys.sleep(poll_s)
    },
    interrupt = function(interrupt) {
      monitor$finish()
      if (stop_on_interrupt) {
        cli::cli_inform(c(i = stopping_text(job)))
        job_stop(job)
        raise_interrupt(stop_text(update_job(job)))
      }
      raise_interrupt("The job continues. `job_stop()` ends it.")
    }
  )
  state <- monitor$state()
  if (is.null(state$ended)) {
    return(invisible())
  }
  monitor$finish()
  result_of_job(state, job)
}

# A reader of a job's state that shows each change once.
job_monitor <- function(job, show, page = NULL) {
  seen <- rlang::new_environment(list(step = 0L, evaluations = 0L))
  progress <- new_progress(show = show, page = page)
  list(
    read = function() {
      wire <- job_wire(job)
      answer <- call_backend("job_news", job = wire, position = seen$position, level = "warning")
      seen$position <- answer$position
      seen$state <- answer$state
      replace_daemons(job, answer$state)
      refresh_page(job, page, seen)
      show_progress(answer$state, seen, progress)
      show_warnings(c(unlist(answer$state$notes), r_warnings(unlist(answer$lines))), seen)
      show_failure(answer$state, seen)
      answer$state
    },
    state = function() seen$state,
    finish = function() progress$finish()
  )
}

# The supervisor of a job on this machine writes the page itself, but a supervisor inside the cluster is elsewhere.
refresh_page <- function(job, page, seen) {
  if (is.null(page) || is.null(job$scheduler)) {
    return(invisible())
  }
  is_due <- is.null(seen$refreshed_at) ||
    difftime(Sys.time(), seen$refreshed_at, units = "secs") > 5
  if (is_due || !is.null(seen$state$ended)) {
    view_job(job, page)
    seen$refreshed_at <- Sys.time()
  }
}

show_progress <- function(state, seen, progress) {
  if (is.null(progress$listener)) {
    return(invisible())
  }
  if (reads_only(state)) {
    show_batches(state, seen, progress)
    return(invisible())
  }
  step <- state$global_step
  phase <- if (identical(state$state, "queued")) {
    state$message
  } else if (is.null(step) && is.null(state$ended)) {
    phase_text(state$tasks)
  }
  if (!is.null(phase) && !identical(phase, seen$phase)) {
    seen$phase <- phase
    progress$listener(list(event = "phase", text = phase))
  }
  if (!is.null(step) && step != seen$step) {
    seen$step <- step
    progress$listener(list(
      event = "step",
      step = as.integer(step),
      loss = state$loss %||% NA_real_,
      last_step = state$max_steps,
      examples_per_second = state$examples_per_second %||% NaN
    ))
  }
  for (metrics in utils::tail(state$evaluations, length(state$evaluations) - seen$evaluations)) {
    metrics <- lapply(metrics, function(value) value %||% NaN)
    progress$listener(c(list(event = "evaluation"), metrics))
  }
  seen$evaluations <- length(state$evaluations)
}

stopping_text <- function(job) {
  paste0("Stopping the job.", if (!reads_only(job)) " The chief writes a checkpoint.")
}

show_batches <- function(state, seen, progress) {
  batches <- sum(vapply(state$tasks, function(task) as.integer(task$step %||% 0L), 0L))
  if (batches > seen$step) {
    seen$step <- batches
    progress$listener(list(
      event = "batch",
      verb = state$verb,
      step = batches,
      last_step = state$max_steps,
      examples_per_second = state$examples_per_second %||% NaN
    ))
  }
}

# The activity of the tasks before the first step, such as "chief 0, worker 0: loading TensorFlow". NULL while all
# start.
phase_text <- function(tasks) {
  activities <- vapply(tasks, function(task) task$activity, "")
  if (all(activities == "starting")) {
    return(NULL)
  }
  names <- vapply(tasks, function(task) task$task, "")
  groups <- split(names, factor(activities, unique(activities)))
  paste(vapply(groups, show_tasks, ""), names(groups), sep = ": ", collapse = "; ")
}

show_tasks <- function(names) {
  if (length(names) > 4) paste(length(names), "tasks") else toString(names)
}

# The results of a job that the user stopped. NULL if it has trained nothing.
stop_text <- function(state) {
  step <- state$checkpoint %||% state$global_step
  if (!is.null(step)) {
    interpolate(
      "Stopped at step {step}, and its checkpoint is written. train() continues from there."
    )
  }
}

# Show each warning once, because tasks that run the same code raise the same warnings.
show_warnings <- function(texts, seen) {
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

# R's warnings among log lines. Errors of tasks become the error of the job.
r_warnings <- function(lines) {
  body <- sub("^\\[[^]]*\\] ", "", lines)
  begins <- grepl("^(Warning|In addition: Warning)", body)
  lines[begins | c(FALSE, utils::head(begins, -1))[seq_along(lines)]]
}

# Show the table of tasks if some have failed, restarted or stalled.
show_failure <- function(state, seen) {
  is_stalled <- any(vapply(state$tasks, function(task) identical(task$state, "stalled"), NA))
  problem <- if (is_stalled || state$state %in% c("restarting", "failed")) state$message
  if (is.null(problem) || identical(problem, seen$table)) {
    return(invisible())
  }
  seen$table <- problem
  lines <- format_tasks(task_table(state$tasks))
  message(paste(c(problem, lines), collapse = "\n"))
}
