# Protocol of measured R scripts: wait for a turn, measure, print the number.

# Measure once per line of standard input, which holds the amount of work. A warm-up, of this amount, comes before the
# first turn, while the other ways start: what is loaded and built only once.
take_turns <- function(measure, warm_up = 0L) {
  if (warm_up > 0) {
    measure(warm_up)
  }
  lines <- file("stdin", "r")
  on.exit(close(lines))
  cat("BENCH {\"ready\": true}\n")
  flush(stdout())
  while (length(line <- readLines(lines, 1)) > 0) {
    started <- proc.time()[["elapsed"]]
    value <- measure(as.integer(line))
    seconds <- proc.time()[["elapsed"]] - started
    cat(sprintf("BENCH {\"value\": %.6g, \"seconds\": %.2f}\n", value, seconds))
    flush(stdout())
  }
}

# Let one training last over all turns, and measure the examples per second of the fastest of many short intervals.
# Where other machines share the processor, it slows down for tenths of a second, whatever runs on it. An interval has
# this number of steps, and a turn as many intervals as a line of standard input says.
train_in_turns <- function(model, input, steps, batch_size, warm_up) {
  lines <- file("stdin", "r")
  on.exit(close(lines))
  turn <- new.env(parent = emptyenv())
  turn$left <- warm_up
  turn$amount <- 0L
  begin <- function(context) {
    line <- readLines(lines, 1)
    if (length(line) == 0) {
      context$request_stop()
    } else {
      turn$amount <- turn$left <- as.integer(line)
      turn$least_s <- Inf
      turn$began <- turn$interval <- as.numeric(Sys.time())
    }
  }
  after_interval <- function(context, values) {
    now <- as.numeric(Sys.time())
    turn$left <- turn$left - 1L
    if (turn$amount > 0) {
      turn$least_s <- min(turn$least_s, now - turn$interval)
    }
    turn$interval <- now
    if (turn$left > 0) {
      return()
    }
    if (turn$amount == 0) {
      cat("BENCH {\"ready\": true}\n")
    } else {
      value <- steps * batch_size / turn$least_s
      cat(sprintf("BENCH {\"value\": %.6g, \"seconds\": %.2f}\n", value, now - turn$began))
    }
    flush(stdout())
    begin(context)
  }
  train(model, input, hooks = hook_session_run(after_run = after_interval, every_n_steps = steps))
}

# Examples per second of a training's history, without the first tenth, in which the first batches are read and the
# number of steps per run is chosen.
examples_per_second <- function(history, batch_size) {
  losses <- history$losses
  losses <- losses[losses$step > max(losses$step) / 10, ]
  batch_size * (max(losses$step) - min(losses$step)) / (max(losses$seconds) - min(losses$seconds))
}
