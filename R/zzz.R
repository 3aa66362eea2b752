.onLoad <- function(libname, pkgname) {
  declare_python_packages()
  # Scripts that attach R's tensorflow or generics after this package still reach the methods.
  for (verb in c("train", "evaluate", "train_and_evaluate", "export_savedmodel")) {
    register_when_loaded("tensorflow", verb)
  }
  for (verb in c("train", "evaluate")) {
    register_when_loaded("generics", verb)
  }
}

# Register this package's method of a verb for a generic of the same name in another package, now or when
# that package is loaded.
register_when_loaded <- function(package, generic) {
  method <- get(paste0(generic, ".tfdistribute_estimator"), envir = topenv())
  register <- function(...) {
    namespace <- asNamespace(package)
    if (exists(generic, envir = namespace, inherits = FALSE)) {
      registerS3method(generic, "tfdistribute_estimator", method, envir = namespace)
    }
  }
  setHook(packageEvent(package, "onLoad"), register)
  if (isNamespaceLoaded(package)) {
    register()
  }
}
