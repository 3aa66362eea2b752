#' Show a training in TensorBoard
#'
#' Starts the TensorBoard of this package's Python, which shows the losses, metrics and graph in a `model_dir`. The run
#' `train` shows the training, and the run `train/eval` shows its evaluations. The function waits until TensorBoard
#' answers, which takes a while on a busy machine. Ctrl-C ends the attempt. The page opens with the loss of all runs at
#' the top. TensorBoard listens only on this machine, unless you set another host, and ends with the R session.
#'
#' @param log_dir Paths, estimators, or a list of them. Their names become the names of the runs. Not needed with
#'   `action = "stop"`, which stops every TensorBoard of this session.
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
  action <- check_default_choice(action, c("start", "stop"))
  if (action == "stop") {
    stop_tensorboards()
    return(invisible(NULL))
  }
  arguments <- c(
    log_arguments(log_dir),
    "--host",
    check_string(host),
    "--port",
    if (identical(port, "auto")) "0" else as.character(check_count(port)),
    "--reload_interval",
    format(check_number(reload_interval, minimum = 0)),
    "--purge_orphaned_data",
    tolower(check_flag(purge_orphaned_data)),
    # The fast loader is a process that outlives TensorBoard.
    "--load_fast",
    "false"
  )
  url <- start_tensorboard(arguments)
  note_missing_profiler(log_dir)
  if (is.function(launch_browser)) {
    launch_browser(at_the_loss(url))
  } else if (check_flag(launch_browser)) {
    open_url(at_the_loss(url))
  }
  cli::cli_inform(c(v = "TensorBoard is at {.url {url}}."))
  invisible(url)
}

# Says so if a directory has a profile, which this Python's TensorBoard does not show without a plugin.
note_missing_profiler <- function(log_dir, python = python_found()) {
  paths <- vapply(c(log_dir), log_path, "")
  # Before 2.20, the plugin was the package that is installed.
  either <- "u.find_spec('xprof') or u.find_spec('tensorboard_plugin_profile')"
  plugin <- c("-c", paste("import importlib.util as u; assert", either))
  if (
    any(dir.exists(file.path(paths, "profile"))) &&
      processx::run(python, plugin, error_on_status = FALSE)$status != 0
  ) {
    cli::cli_inform(c(
      i = "TensorBoard shows profiles with a plugin: {.code pip install tensorboard-plugin-profile}."
    ))
  }
}

# TensorBoard sorts its cards by name, so the cards of the layers would be above the loss, which is therefore pinned.
at_the_loss <- function(url) {
  pinned <- "[{\"plugin\":\"scalars\",\"tag\":\"loss\"}]"
  paste0(url, "?pinnedCards=", utils::URLencode(pinned, reserved = TRUE), "#timeseries")
}

# In the Viewer of RStudio or VS Code, or else in the browser.
open_url <- function(url) {
  open <- getOption("viewer", utils::browseURL)
  open(url)
}

log_arguments <- function(log_dir) {
  if (inherits(log_dir, estimator_classes)) {
    log_dir <- list(log_dir)
  }
  if (!(is.character(log_dir) || is.list(log_dir)) || length(log_dir) == 0) {
    abort_argument(log_dir, "one or more directories or estimators")
  }
  paths <- vapply(log_dir, log_path, "", USE.NAMES = FALSE)
  names <- names(log_dir) %||% rep("", length(paths))
  own <- if (length(paths) == 1) "train" else basename(paths)
  names <- make.unique(ifelse(nzchar(names), names, own), sep = "-")
  if (any(is_remote_path(paths))) {
    c("--logdir_spec", paste0(names, ":", paths, collapse = ","))
  } else {
    c("--logdir", linked_directory(names, paths))
  }
}

# A directory with a link to each path. TensorBoard names runs by directories, and runs of --logdir_spec "train/.".
linked_directory <- function(names, paths) {
  folder <- tempfile("tensorboard-")
  links <- file.path(folder, names)
  for (link in links) {
    dir.create(dirname(link), recursive = TRUE, showWarnings = FALSE)
  }
  file.symlink(vapply(paths, absolute_path, ""), links)
  folder
}

estimator_classes <- c("tfdistribute_estimator", "tf_estimator")

log_path <- function(log_dir) {
  path.expand(
    if (inherits(log_dir, estimator_classes)) model_dir(log_dir) else check_string(log_dir)
  )
}

# Start TensorBoard and wait until it answers or ends. Returns its URL.
start_tensorboard <- function(arguments, say_after_s = 3, python = python_found()) {
  if (is.null(python)) {
    abort_no_python(rlang::catch_cnd(rlang::abort("No Python was found.")))
  }
  log <- tempfile("tensorboard-", fileext = ".log")
  process <- processx::process$new(
    python,
    c("-m", "tensorboard.main", arguments),
    stdout = log,
    stderr = "2>&1",
    # TensorBoard leaves a file with its address, which is deleted with the session.
    env = c("current", TMPDIR = tempdir()),
    cleanup = TRUE,
    cleanup_tree = TRUE
  )
  url <- character()
  on.exit(if (length(url) == 0) process$kill_tree())
  began <- Sys.time()
  is_silent <- TRUE
  repeat {
    # A process that ends has already written its last lines.
    is_alive <- process$is_alive()
    output <- readLines(log, warn = FALSE)
    url <- regmatches(output, regexpr("https?://[^ ]+", output))
    if (length(url) > 0) {
      break
    }
    if (!is_alive) {
      abort_tensorboard(output, process$get_exit_status())
    }
    if (is_silent && Sys.time() - began > say_after_s) {
      is_silent <- FALSE
      cli::cli_inform(c(
        i = "Waiting for TensorBoard (process {process$get_pid()}), which loads TensorFlow."
      ))
    }
    Sys.sleep(0.1)
  }
  # A reference keeps the process alive until the session ends.
  the$tensorboards <- c(the$tensorboards, list(process))
  url[[1]]
}

abort_tensorboard <- function(output, status) {
  abort_tfdistribute(
    "backend",
    problem = "TensorBoard did not start: {last_output(output, status)}",
    remedy = "See tfdistribute_sitrep(), and give another `port` if this one is taken."
  )
}

last_output <- function(output, status) {
  output <- utils::tail(output[nzchar(output)], 3)
  if (length(output) > 0) {
    paste(output, collapse = " ")
  } else {
    paste0("it ended with status ", status, " and no message.")
  }
}

stop_tensorboards <- function() {
  for (process in the$tensorboards) {
    process$kill_tree()
  }
  the$tensorboards <- NULL
}
