# R functions for Python programs. The Python module tfdistribute.r starts R and evaluates give_to_python() once. After
# that, it calls only the functions that it received.

give_to_python <- function() {
  options(keep.source = TRUE, rlang_backtrace_on_error = "full")
  backend()
  python_module("tfdistribute.r")$receive(value_for_python(find_for_python))
  invisible()
}

# Find a function in a file for Python. Returns its `value` or an `error` as plain values.
find_for_python <- function(path, name, what, params) {
  tryCatch(
    list(value = function_for_python(path, name, what, params)),
    error = function(error) {
      kinds <- error_kinds(error)
      texts <- list(
        kind = kinds[[1]],
        problem = error$problem %||%
          paste0("`", basename(path), "` failed: ", conditionMessage(error)),
        remedy = error$remedy,
        argument = error$argument,
        value = error$value
      )
      list(error = lapply(texts, shown_as_utf8))
    }
  )
}

function_for_python <- function(path, name, what, params) {
  home <- new.env(parent = globalenv())
  source(path, local = home, keep.source = TRUE)
  found <- get0(name, envir = home, mode = "function", inherits = FALSE)
  if (is.null(found)) {
    functions <- Filter(function(each) is.function(home[[each]]), ls(home))
    abort_tfdistribute(
      "argument",
      problem = "`path` \"{basename(path)}\" has no function `{name}`.",
      remedy = if (length(functions) > 0) {
        "Use one of its functions: {toString(first_of(functions))}."
      },
      argument = "name",
      value = name
    )
  }
  if (what == "model") {
    model_fn <- found
    return(guard_first_error(model_fn_wire(check_model_fn(model_fn), params)))
  }
  guard_first_error(function() {
    input <- found()
    as_wire(check_class(input, "tfdistribute_input", "what input_fn() returns", argument = name))
  })
}

# Like guard_callback(), for calls outside of call_backend(), which clears the previous error first.
guard_first_error <- function(callback) {
  force(callback)
  guard_callback(function(...) {
    the$callback_error <- NULL
    the$callback_trace <- NULL
    callback(...)
  })
}
