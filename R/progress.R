# Progress of a training in the console. Python reports a step at most ten times a second.

# The callback for Python, and a function that ends the display. It is a bar in a terminal or RStudio, and plain lines
# elsewhere (knitr, Rscript into a file). options(tfdistribute.progress = FALSE) hides it. The first event opens the
# `page` of metrics, if there is one.
new_progress <- function(
  show = getOption("tfdistribute.progress", TRUE),
  dynamic = cli::is_dynamic_tty(),
  page = NULL
) {
  if (!isTRUE(show)) {
    listener <- if (!is.null(page)) function(event) show_page(page)
    return(list(listener = listener, finish = function() invisible()))
  }
  display <- if (dynamic) progress_bar() else progress_lines()
  list(
    listener = function(event) {
      show_page(page)
      switch(
        event$event,
        step = ,
        batch = display$step(event),
        note = display$note(event$text),
        phase = display$phase(event$text),
        end = display$finish(),
        display$evaluation(event)
      )
      NULL
    },
    finish = display$finish
  )
}

show_page <- function(page) {
  if (!is.null(page)) {
    page$open()
    # RStudio serves the page from this process, and only while R waits for events.
    Sys.sleep(0.001)
  }
  NULL
}

progress_text <- function(event) {
  last_step <- if (!is.null(event$last_step)) paste0("/", event$last_step)
  what <- if (event$event == "batch") paste0(event$verb, ": batch ") else "step "
  paste0(what, event$step, last_step, "  ", loss_text(event))
}

loss_text <- function(event) {
  speed <- event$examples_per_second
  paste(
    c(
      if (!is.null(event$loss)) paste("loss", format_number(event$loss)),
      if (isTRUE(is.finite(speed))) paste(format_count(speed), "examples/s"),
      utilization_text(event)
    ),
    collapse = "  "
  )
}

# Text such as "GPU 85 %  waits for input 62 %", or NULL. Waiting is shown from a fifth of the time on.
utilization_text <- function(values) {
  busy <- values$gpu_utilization %||% NA
  wait <- values$input_wait %||% NA
  c(
    if (!is.na(busy)) sprintf("GPU %.0f %%", 100 * busy),
    if (!is.na(wait) && wait >= 0.2) sprintf("waits for input %.0f %%", 100 * wait)
  )
}

# Text such as "  2 min left", from the mean time of the steps since the first one that was shown.
time_left <- function(seconds, steps, event) {
  left <- if (is.null(event$last_step) || steps <= 0) {
    0
  } else {
    seconds / steps * (event$last_step - event$step)
  }
  units <- c(s = 1, min = 60, h = 3600)
  unit <- sum(left >= c(0, 100, 6000))
  if (left >= 1) paste0("  ", round(left / units[[unit]]), " ", names(units)[[unit]], " left")
}

evaluation_text <- function(event) {
  metrics <- event[setdiff(names(event), c("event", "global_step"))]
  values <- vapply(metrics, format_number, "")
  paste0("evaluation at step ", event$global_step, ": ", toString(paste(names(metrics), values)))
}

progress_bar <- function() {
  bar <- new.env(parent = emptyenv())
  bar$id <- NULL
  bar$phase <- NULL
  end_phase <- function() {
    if (!is.null(bar$phase)) {
      cli::cli_progress_done(id = bar$phase)
      bar$phase <- NULL
    }
  }
  list(
    phase = function(text) {
      bar$phase <- bar$phase %||% start_phase()
      cli::cli_progress_update(id = bar$phase, extra = list(text = text))
    },
    step = function(event) {
      end_phase()
      if (is.null(bar$id)) {
        bar$id <- start_bar(event, bar)
      }
      cli::cli_progress_update(
        id = bar$id,
        set = event$step - bar$from,
        # The bar already shows the progress, and without the step, a line fits 80 columns.
        extra = list(
          short = if (is.null(event$last_step)) progress_text(event) else loss_text(event),
          text = progress_text(event)
        )
      )
    },
    evaluation = function(event) cli::cat_line(evaluation_text(event), file = stderr()),
    note = function(text) cli::cat_line(text, file = stderr()),
    finish = function() {
      end_phase()
      if (!is.null(bar$id)) {
        cli::cli_progress_done(id = bar$id)
        bar$id <- NULL
      }
      invisible()
    }
  )
}

# The activity before the first step, on one line that disappears.
start_phase <- function() {
  cli::cli_progress_bar(
    total = NA,
    format = "{cli::pb_spin} {cli::pb_extra$text}",
    extra = list(text = ""),
    clear = TRUE,
    .auto_close = FALSE
  )
}

start_bar <- function(event, bar) {
  # A training may continue from a checkpoint.
  bar$from <- if (event$event == "batch") 0 else event$step - 1
  known <- !is.null(event$last_step)
  cli::cli_progress_bar(
    total = if (known) event$last_step - bar$from else NA,
    format = paste0(
      if (known) "{cli::pb_bar} {cli::pb_percent}  {cli::pb_eta_str}  " else "{cli::pb_spin} ",
      "{cli::pb_extra$short}"
    ),
    format_done = "{cli::pb_extra$text}",
    extra = list(short = "", text = ""),
    # The last step stays. After batches, the result is printed.
    clear = event$event == "batch",
    .auto_close = FALSE
  )
}

# Lines for the first step, every quarter of the steps, ten seconds without a line, and the last step. Before the first
# step, lines for the activity, at most every two seconds. For batches, only a line every ten seconds.
progress_lines <- function(clock = Sys.time) {
  state <- rlang::new_environment(list(began = clock()))
  show <- function(event) {
    now <- clock()
    state$first <- state$first %||% list(step = event$step, at = now)
    seconds <- as.double(difftime(now, state$first$at, units = "secs"))
    message(progress_text(event), time_left(seconds, event$step - state$first$step, event))
    state$shown_step <- event$step
    state$shown_at <- now
  }
  list(
    phase = function(text) {
      now <- clock()
      if (is.null(state$phase_at) || difftime(now, state$phase_at, units = "secs") >= 2) {
        state$phase_at <- now
        message(text)
      }
    },
    step = function(event) {
      state$last <- event
      if (is_line_due(state, event, clock)) show(event)
    },
    evaluation = function(event) message(evaluation_text(event)),
    note = function(text) message(text),
    finish = function() {
      is_step <- identical(state$last$event, "step")
      if (is_step && !identical(state$last$step, state$shown_step)) {
        show(state$last)
      }
      # A verb may train several times, and each training has a speed of its own.
      rlang::env_unbind(state, intersect(c("first", "last", "shown_at"), names(state)))
      invisible()
    }
  )
}

is_line_due <- function(state, event, clock) {
  if (is.null(state$shown_at) && event$event == "step") {
    return(TRUE)
  }
  if (difftime(clock(), state$shown_at %||% state$began, units = "secs") >= 10) {
    return(TRUE)
  }
  if (event$event == "batch") {
    return(FALSE)
  }
  quarter <- if (is.null(event$last_step)) Inf else event$last_step / 4
  floor(event$step / quarter) > floor(state$shown_step / quarter)
}
