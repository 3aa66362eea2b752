# What every measured script in R does: wait for its turn, measure, and say the number.

# Measure once for each line of the standard input: the amount of work, such as steps.
take_turns <- function(measure) {
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

# Examples per second of a training, as its history has them. The first tenth is left out: it holds the first batches
# and, with several steps at once, their choice.
examples_per_second <- function(history, batch_size) {
  losses <- history$losses
  losses <- losses[losses$step > max(losses$step) / 10, ]
  batch_size * (max(losses$step) - min(losses$step)) / (max(losses$seconds) - min(losses$seconds))
}
