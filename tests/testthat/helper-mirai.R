# Stands for mirai 2.7.1 with its dispatcher, whose tasks are processes of their own. `state` of the namespace holds
# what a test sets: the answer of status(), and how many daemons were started again.
local_mirai <- function(connections = 2L, url = "abstract://f00", frame = parent.frame()) {
  local_stand_in(
    "mirai",
    c(
      "state <- new.env()",
      "status <- function(.compute = NULL) state$status",
      "launch_local <- function(n = 1L, ..., .compute = NULL) state$launched <- c(state$launched, n)",
      "unresolved <- function(x) x$process$is_alive()",
      "mirai <- function(.expr, ..., .args = list(), .timeout = NULL, .compute = NULL) {",
      "  path <- tempfile()",
      "  saveRDS(list(expr = substitute(.expr), args = .args, result = paste0(path, '.value')), path)",
      "  run <- 'x <- readRDS(commandArgs(TRUE)); saveRDS(eval(x$expr, x$args), x$result)'",
      "  rscript <- file.path(R.home('bin'), 'Rscript')",
      "  sent <- new.env()",
      "  sent$process <- processx::process$new(rscript, c('--vanilla', '-e', run, path))",
      "  value <- function() {",
      "    if (file.exists(paste0(path, '.value'))) return(readRDS(paste0(path, '.value')))",
      "    structure(19L, class = 'errorValue')",
      "  }",
      "  makeActiveBinding('data', value, sent)",
      "  state$sent <- c(state$sent, list(sent))",
      "  structure(sent, class = c('mirai', 'recvAio'))",
      "}"
    ),
    frame = frame
  )
  state <- getExportedValue("mirai", "state")
  state$status <- list(
    connections = connections,
    daemons = url,
    mirai = c(awaiting = 0L, executing = 0L, completed = 0L),
    memory = c(used = 0, peak = 0, capacity = NA)
  )
  state
}

# What mirai says of a profile without daemons.
no_daemons <- list(connections = 0L, daemons = 0L)
