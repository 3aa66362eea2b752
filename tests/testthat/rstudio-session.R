# A session of R in RStudio, for test-job-rstudio.R: the real rstudioapi, and a stand-in for RStudio's side of it, which
# prints what it is called with. A job is stopped with its button, and fails at step 60 while the session is idle.
suppressPackageStartupMessages(library(tfdistribute))

# rstudioapi gives these functions their arguments by name.
stop_button <- NULL
prints_its_call <- function(name) {
  force(name)
  function(...) {
    arguments <- list(...)
    stop_button <<- arguments$actions$stop %||% stop_button
    values <- vapply(Filter(Negate(is.list), arguments), function(x) trimws(format(x)), "")
    cat(name, "(", paste(names(values), values, sep = " = ", collapse = ", "), ")\n", sep = "")
    "job-1"
  }
}
`%||%` <- rlang::`%||%`
rstudio <- new.env()
for (name in c(
  "addJob",
  "setJobProgress",
  "setJobStatus",
  "setJobState",
  "addJobOutput",
  "sendToConsole"
)) {
  assign(paste0(".rs.api.", name), prints_its_call(name), rstudio)
}
selected <- ""
assign(
  ".rs.api.getSourceEditorContext",
  function(...) {
    selection <- list(list(range = c(1, 1, 1, 1), text = selected))
    list(id = "1", path = "a.R", contents = "", selection = selection)
  },
  rstudio
)
assign(".rs.api.versionInfo", function() list(version = package_version("2023.6.1")), rstudio)
assign(".rs.api.getVersion", function() package_version("2023.6.1"), rstudio)
attach(rstudio, name = "tools:rstudio")
platform <- .Platform
platform$GUI <- "RStudio"
unlockBinding(".Platform", baseenv())
assign(".Platform", platform, baseenv())

now <- list(state = "training", global_step = 40L)
the <- getFromNamespace("the", "tfdistribute")
the$bridge <- list(call = function(name, arguments, ...) {
  if (name != "job_state") {
    cat("backend:", name, arguments$job$id, "\n")
  }
  list(value = now)
})
handle <- list(id = "x", pid = 1, directory = "/d", model_dir = "/runs/cars", verb = "train")
job <- getFromNamespace("new_job", "tfdistribute")(handle, 100L, "chief 0")
invisible(getFromNamespace("show_in_rstudio", "tfdistribute")(job))
invisible(stop_button("job-1"))
later::run_now(1.2)
now <- list(
  state = "failed",
  global_step = 60L,
  ended = 1,
  notes = list("worker 0 restarts."),
  failure = list(problem = "The loss is NaN.")
)
later::run_now(1.2)
cat("asked again:", !later::loop_empty() || "tfdistribute-x" %in% getTaskCallbackNames(), "\n")

# Addins, as RStudio finds them.
addins <- read.dcf(system.file("rstudio", "addins.dcf", package = "tfdistribute"))
bound_to <- function(name) {
  getFromNamespace(addins[grep(name, addins[, "Name"]), "Binding"], "tfdistribute")
}
for (selected in c("", " history ")) {
  bound_to("live page")()
}
for (selected in c("history <- model |> train(mpg ~ wt, data = mtcars)", "3")) {
  tryCatch(bound_to("background")(), error = function(error) cat(conditionMessage(error), "\n"))
}
