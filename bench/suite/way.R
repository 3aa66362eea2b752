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

# Examples per second of a training's history, without the first tenth, in which the first batches are read and the
# number of steps per run is chosen.
examples_per_second <- function(history, batch_size) {
  losses <- history$losses
  losses <- losses[losses$step > max(losses$step) / 10, ]
  batch_size * (max(losses$step) - min(losses$step)) / (max(losses$seconds) - min(losses$seconds))
}
