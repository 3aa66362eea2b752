# Hooks as verbs take them: NULL, one, or a list; each a Python object such as tf$estimator$SessionRunHook.
check_hooks <- function(hooks, argument = "hooks") {
  if (is.null(hooks)) {
    return(list())
  }
  if (is_python_object(hooks)) {
    hooks <- list(hooks)
  }
  valid <- is.list(hooks) && all(vapply(hooks, is_python_object, logical(1)))
  if (!valid) {
    abort_argument(argument, hooks, "a list of TensorFlow hooks or NULL")
  }
  unname(hooks)
}
