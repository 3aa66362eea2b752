# mirai with daemons on this machine. Where it is not installed, a stand-in for mirai 2.7.1 with its dispatcher, whose
# tasks are processes of their own. `state` of its namespace holds what a test sets: the answer of status(), and how
# many daemons were started again.
local_mirai <- function(daemons = 2L, frame = parent.frame()) {
  local_package(
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
  if (is_real("mirai")) {
    # Daemons find packages where this session does.
    withr::local_envvar(R_LIBS = paste(.libPaths(), collapse = ":"), .local_envir = frame)
    withr::defer(mirai::daemons(0), envir = frame)
  }
  set_daemons(daemons)
}

set_daemons <- function(count, dispatcher = TRUE) {
  if (is_real("mirai")) {
    mirai::daemons(0)
    if (count > 0) {
      mirai::daemons(count, dispatcher = dispatcher)
    }
    return(invisible())
  }
  state <- getExportedValue("mirai", "state")
  state$status <- list(
    connections = as.integer(count),
    daemons = if (count > 0) "abstract://f00" else 0L,
    mirai = if (dispatcher) c(awaiting = 0L, executing = 0L, completed = 0L),
    memory = c(used = 0, peak = 0, capacity = NA)
  )
}

# How many tasks mirai was sent since its daemons were set.
count_sent <- function() {
  if (is_real("mirai")) sum(mirai::status()$mirai) else length(mirai_state()$sent)
}

mirai_state <- function() getExportedValue("mirai", "state")

wait_for_sent <- function(sent) {
  wait_until(function() !mirai::unresolved(sent), 60)
}
