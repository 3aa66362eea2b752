# A headless Chromium, which tests and tools/screenshots.R steer by its debugging protocol.

skip_if_no_browser <- function() {
  if (!nzchar(Sys.which(browser_command))) {
    skip_or_fail("Chromium is not installed: apt-get install chromium-headless-shell")
  }
  skip_if_not_installed("jsonlite")
}

browser_command <- "chromium-headless-shell"

# A browser with one page, which ends with the caller. Every wait ends with an error after `timeout_s`.
local_browser <- function(
  width = 900,
  height = 700,
  timeout_s = 30,
  frame = parent.frame()
) {
  profile <- withr::local_tempdir(.local_envir = frame)
  # The protocol separates messages by NUL, which R's strings cannot hold.
  command <- paste(
    "stdbuf -o0 tr '\\n' '\\0' |",
    browser_command,
    # In containers, Chromium's own sandbox does not start.
    "--no-sandbox --disable-dev-shm-usage --disable-gpu --hide-scrollbars",
    "--remote-debugging-pipe --user-data-dir=\"$1\" 3<&0 4>&1 2>/dev/null >/dev/null |",
    "stdbuf -o0 tr '\\0' '\\n'"
  )
  process <- processx::process$new(
    "sh",
    c("-c", command, "browser", profile),
    stdin = "|",
    stdout = "|",
    cleanup_tree = TRUE
  )
  withr::defer(process$kill_tree(), envir = frame)
  browser <- list2env(list(process = process, count = 0L, timeout_s = timeout_s))
  target <- call_browser(browser, "Target.createTarget", url = "about:blank")$targetId
  attached <- call_browser(browser, "Target.attachToTarget", targetId = target, flatten = TRUE)
  browser$session <- attached$sessionId
  resize_browser(browser, width, height)
  browser
}

# Call a method of Chromium's debugging protocol, and return its result.
call_browser <- function(browser, method, ...) {
  browser$count <- browser$count + 1L
  given <- rlang::set_names(list(...), names(list(...)))
  message <- list(id = browser$count, method = method, params = given, sessionId = browser$session)
  if (length(given) == 0) {
    message$params <- NULL
  }
  text <- jsonlite::toJSON(Filter(Negate(is.null), message), auto_unbox = TRUE, digits = NA)
  browser$process$write_input(paste0(text, "\n"))
  deadline <- Sys.time() + browser$timeout_s
  repeat {
    browser$process$poll_io(100)
    for (line in browser$process$read_output_lines()) {
      answer <- jsonlite::fromJSON(line, simplifyVector = FALSE)
      if (identical(answer$id, browser$count)) {
        if (!is.null(answer$error)) {
          rlang::abort(paste0(method, ": ", answer$error$message))
        }
        return(answer$result)
      }
    }
    if (Sys.time() > deadline || !browser$process$is_alive()) {
      rlang::abort(paste("The browser did not answer", method))
    }
  }
}

resize_browser <- function(browser, width, height, scale = 1) {
  call_browser(
    browser,
    "Emulation.setDeviceMetricsOverride",
    width = width,
    height = height,
    deviceScaleFactor = scale,
    mobile = FALSE
  )
  invisible(browser)
}

# "light" or "dark".
colour_browser <- function(browser, scheme) {
  feature <- list(list(name = "prefers-color-scheme", value = scheme))
  call_browser(browser, "Emulation.setEmulatedMedia", features = feature)
  invisible(browser)
}

open_in_browser <- function(browser, url) {
  if (file.exists(url)) {
    url <- paste0("file://", normalizePath(url))
  }
  opened <- call_browser(browser, "Page.navigate", url = url)
  if (!is.null(opened$errorText)) {
    rlang::abort(paste0(url, ": ", opened$errorText))
  }
  wait_for_page(browser, "document.readyState === 'complete'")
}

# The value of a JavaScript expression in the page.
value_in_page <- function(browser, code) {
  answer <- call_browser(browser, "Runtime.evaluate", expression = code, returnByValue = TRUE)
  if (!is.null(answer$exceptionDetails)) {
    rlang::abort(paste0(code, ": ", answer$exceptionDetails$exception$description))
  }
  answer$result$value
}

text_of_page <- function(browser, selector = "body") {
  value_in_page(browser, sprintf("(document.querySelector('%s') || {}).innerText", selector))
}

# Wait until a JavaScript expression is true.
wait_for_page <- function(browser, code, timeout_s = browser$timeout_s) {
  is_true <- function() isTRUE(value_in_page(browser, code))
  if (!wait_until(is_true, timeout_s)) {
    rlang::abort(paste0("Not true after ", timeout_s, " s: ", code, "\n", text_of_page(browser)))
  }
  invisible(browser)
}

take_screenshot <- function(browser, path) {
  image <- call_browser(browser, "Page.captureScreenshot", format = "png")$data
  writeBin(jsonlite::base64_dec(image), path)
  invisible(path)
}
