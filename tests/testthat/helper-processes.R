# R processes of their own, for what might abort R, wait for ever or be interrupted.

# Start an R process that calls `fn` with the package attached. `fn` sees its arguments and global objects, not the
# variables of the test. The process and all that it started are ended with the test. `environment` holds environment
# variables of the process. Its temporary directory is its own.
local_child_r <- function(fn, args = list(), environment = character(), frame = parent.frame()) {
  environment(fn) <- globalenv()
  call_with_package <- function(fn, args) {
    options(tfdistribute.progress = FALSE)
    library(tfdistribute)
    do.call(fn, args)
  }
  temporary <- withr::local_tempdir(.local_envir = frame)
  child <- callr::r_bg(
    call_with_package,
    list(fn = fn, args = args),
    stdout = withr::local_tempfile(.local_envir = frame),
    stderr = "2>&1",
    env = c(callr::rcmd_safe_env(), TMPDIR = temporary, environment),
    cleanup_tree = TRUE
  )
  attr(child, "temporary") <- temporary
  withr::defer(child$kill_tree(), envir = frame)
  child
}

# The value of the function that a child R calls, for which it has `timeout_s`. It fails if the child and what it
# started leave files behind.
result_of <- function(child, timeout_s) {
  child$wait(timeout = timeout_s * 1000)
  if (child$is_alive()) {
    rlang::abort(paste0("Not finished after ", timeout_s, " s:\n", output_of(child)))
  }
  result <- tryCatch(
    child$get_result(),
    error = function(error) {
      rlang::abort(paste0("The child R process failed:\n", output_of(child)), parent = error)
    }
  )
  left <- function() list.files(attr(child, "temporary"), all.files = TRUE, no.. = TRUE)
  # The supervisor of a job ends a moment later.
  if (!wait_until(function() length(left()) == 0, 20)) {
    rlang::abort(paste("The child R process left behind:", toString(left())))
  }
  result
}

output_of <- function(child) {
  paste(readLines(child$get_output_file(), warn = FALSE), collapse = "\n")
}

in_child_r <- function(fn, args = list(), timeout_s = 120) {
  result_of(local_child_r(fn, args), timeout_s)
}

wait_until <- function(condition, timeout_s) {
  deadline <- Sys.time() + timeout_s
  while (!isTRUE(condition()) && Sys.time() < deadline) {
    Sys.sleep(0.05)
  }
  isTRUE(condition())
}

# A process that has ended, and was not collected yet, does not run.
is_running <- function(pid) {
  stat <- suppressWarnings(
    tryCatch(readLines(file.path("/proc", pid, "stat")), error = function(error) character())
  )
  length(stat) > 0 && !grepl("^[0-9]+ \\(.*\\) Z", stat[[1]])
}

# The exports of this package that installed packages export as something else. Their namespaces are loaded into a
# process of its own, because stand-ins take their places in other tests.
clashing_exports <- function(packages) {
  find_clashes <- function(packages) {
    exports <- getNamespaceExports("tfdistribute")
    clashes_with <- function(package) {
      is_other <- function(name) {
        !identical(getExportedValue(package, name), getExportedValue("tfdistribute", name))
      }
      Filter(is_other, intersect(exports, getNamespaceExports(package)))
    }
    sapply(Filter(rlang::is_installed, packages), clashes_with, simplify = FALSE)
  }
  in_child_r(find_clashes, list(packages))
}
