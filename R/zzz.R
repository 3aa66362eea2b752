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
  register_when_loaded("pillar", "type_sum", "python.builtin.object")
}

# Register this package's method of a verb for a generic of the same name in another package, now or when
# that package is loaded.
register_when_loaded <- function(package, generic, class = "tfdistribute_estimator") {
  method <- get(paste0(generic, ".", class), envir = topenv())
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
