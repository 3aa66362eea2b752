#' Show a training in TensorBoard
#'
#' Starts the TensorBoard of this package's Python, which shows the losses, metrics and graph in a `model_dir`. The run
#' `.` shows the training, and the run `eval` shows its evaluations. The function waits until TensorBoard answers, which
#' takes a while on a busy machine. Ctrl-C ends the attempt. The page opens with the loss of all runs at the top.
#' TensorBoard listens only on this machine, unless you set another host, and ends with the R session.
#'
#' @param log_dir Paths, estimators, or a list of them. Their names, or else the names of the directories, are above the
#'   names of the runs if there are several. Not needed with `action = "stop"`, which stops every TensorBoard of this
#'   session.
#' @param action `"start"` or `"stop"`.
#' @param host Address to listen on, a string. TensorBoard requires no password, so anyone who can connect can read
#'   everything below `log_dir`.
#' @param port Port to listen on, a count, or `"auto"` for a free port.
#' @param launch_browser TRUE to open the Viewer of RStudio or VS Code, or else the browser, FALSE to open nothing, or a
#'   function that is called with the URL of the page.
#' @param reload_interval Seconds between checks of the files, a number.
#' @param purge_orphaned_data TRUE hides records that a training wrote after the checkpoint from which it was continued.
#' @returns The URL, a string, or NULL for `"stop"`, invisibly.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_backend_error` if TensorBoard does not start. The message contains its output.
#' @references <https://www.tensorflow.org/tensorboard>. The interface follows R's tensorflow package.
#' @examples
#' \dontrun{
#' tensorboard("runs/diamonds")
#' tensorboard(action = "stop")
#' }
#' @export
tensorboard <- function(
  log_dir = NULL,
  action = c("start", "stop"),
  host = "127.0.0.1",
  port = "auto",
  launch_browser = getOption("tensorflow.tensorboard.browser", interactive()),
  reload_interval = 5,
  purge_orphaned_data = TRUE,
  ...
) {
  check_call(...)
  if (check_default_choice(action, c("start", "stop")) == "stop") {
    for (process in the$tensorboards) {
      process$kill_tree()
    }
    the$tensorboards <- NULL
    return(invisible(NULL))
  }
  url <- start_tensorboard(c(
    log_arguments(log_dir),
    c("--host", check_string(host)),
    c("--port", if (identical(port, "auto")) "0" else as.character(check_count(port))),
    c("--reload_interval", format(check_number(reload_interval, minimum = 0))),
    c("--purge_orphaned_data", tolower(check_flag(purge_orphaned_data))),
    # The fast loader is a process that outlives TensorBoard.
    c("--load_fast", "false")
  ))
  # TensorBoard sorts its cards by name, so the cards of the layers would be above the loss.
  page <- paste0(
    url,
    "?pinnedCards=%5B%7B%22plugin%22%3A%22scalars%22%2C%22tag%22%3A%22loss%22%7D%5D#timeseries"
  )
  if (is.function(launch_browser)) {
    launch_browser(page)
  } else if (check_flag(launch_browser)) {
    open_url(page)
  }
  cli::cli_inform(c(v = "TensorBoard is at {.url {url}}."))
  invisible(url)
}

# In the Viewer of RStudio or VS Code, or else in the browser.
open_url <- function(url) {
  open <- getOption("viewer", utils::browseURL)
  open(url)
}

log_arguments <- function(log_dir) {
  is_model <- function(x) inherits(x, c("tfdistribute_estimator", "tf_estimator"))
  if (is_model(log_dir)) {
    log_dir <- list(log_dir)
  }
  if (!(is.character(log_dir) || is.list(log_dir)) || length(log_dir) == 0) {
    abort_argument(log_dir, "one or more directories or estimators")
  }
  path_of <- function(log_dir) if (is_model(log_dir)) model_dir(log_dir) else check_string(log_dir)
  paths <- path.expand(vapply(log_dir, path_of, "", USE.NAMES = FALSE))
  if (length(paths) == 1 && is.null(names(log_dir))) {
    return(c("--logdir", paths))
  }
  names <- names(log_dir) %||% rep("", length(paths))
  names <- make.unique(ifelse(nzchar(names), names, basename(paths)), sep = "-")
  c("--logdir_spec", paste0(names, ":", paths, collapse = ","))
}

# Start TensorBoard and wait until it answers or ends. Returns its URL.
start_tensorboard <- function(arguments) {
  python <- python_found() %||%
    abort_no_python(rlang::catch_cnd(rlang::abort("No Python was found.")))
  log <- tempfile("tensorboard-", fileext = ".log")
  process <- processx::process$new(
    python,
    c("-m", "tensorboard.main", arguments),
    stdout = log,
    stderr = "2>&1",
    # TensorBoard leaves a file with its address, which is deleted with the session.
    env = c("current", TMPDIR = tempdir()),
    cleanup_tree = TRUE
  )
  url <- character()
  on.exit(if (length(url) == 0) process$kill_tree())
  while (length(url) == 0) {
    # A process that ends has already written its last lines.
    is_alive <- process$is_alive()
    output <- readLines(log, warn = FALSE)
    url <- regmatches(output, regexpr("https?://[^ ]+", output))
    if (length(url) == 0 && !is_alive) {
      abort_tfdistribute(
        "backend",
        problem = c(
          "TensorBoard ended with status {process$get_exit_status()}: ",
          "{paste(utils::tail(output[nzchar(output)], 3), collapse = ' ')}"
        ),
        remedy = "See tfdistribute_sitrep(), and give another `port` if this one is taken."
      )
    }
    Sys.sleep(0.1)
  }
  # A reference keeps the process alive until the session ends.
  the$tensorboards <- c(the$tensorboards, list(process))
  url[[1]]
}
