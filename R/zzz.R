.onLoad <- function(libname, pkgname) {
  declare_python_packages()
  set_tf(topenv())
  # Scripts that attach R's tensorflow or generics after this package still reach the methods.
  for (verb in c("train", "evaluate", "train_and_evaluate", "export_savedmodel")) {
    register_when_loaded("tensorflow", verb)
  }
  for (verb in c("train", "evaluate")) {
    register_when_loaded("generics", verb)
  }
  register_when_loaded("pillar", "type_sum", "python.builtin.object", named_by_class)
  # Descriptions may be given to Python's own functions.
  for (class in paste0("tfdistribute_", c("run_config", "hook", "parse_example_spec"))) {
    register_when_loaded("reticulate", "r_to_py", class, as_python_argument)
  }
  # tfestimators has this method too; which of the two is called must not depend on who was loaded last.
  setHook(packageEvent("tfestimators", "onLoad"), function(...) {
    registerS3method("predict", "tf_estimator", predict.tf_estimator, envir = asNamespace("stats"))
  })
}

# Register this package's method (of a verb, unless another is given) for a generic of another package, now or when that
# package is loaded.
register_when_loaded <- function(
  package,
  generic,
  class = "tfdistribute_estimator",
  method = get(paste0(generic, ".", class), envir = topenv())
) {
  force(method)
  register <- function(...) {
    namespace <- asNamespace(package)
    if (exists(generic, envir = namespace, inherits = FALSE)) {
      registerS3method(generic, class, method, envir = namespace)
    }
  }
  setHook(packageEvent(package, "onLoad"), register)
  if (isNamespaceLoaded(package)) {
    register()
  }
}
