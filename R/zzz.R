.onLoad <- function(libname, pkgname) {
  declare_python_packages()
  # A module that is imported on first use.
  assign("tf", as_tensorflow_module(delayed_tensorflow()), envir = topenv())
  # tibble is loaded when it is first used, because that takes a tenth of the time to load this package.
  delayedAssign("glimpse", tibble::glimpse, assign.env = topenv())
  # Methods also work in scripts that attach tensorflow or generics after this package.
  for (verb in c("train", "evaluate", "train_and_evaluate", "export_savedmodel")) {
    register_when_loaded("tensorflow", verb)
  }
  for (verb in c("train", "evaluate")) {
    register_when_loaded("generics", verb)
  }
  register_when_loaded("knitr", "knit_print", "tfdistribute_history", knit_print_of_history)
  for (verb in c("model_dir", "latest_checkpoint")) {
    register_when_loaded("tfestimators", verb)
  }
  for (generic in c("yhat", "model_info")) {
    register_when_loaded("DALEX", generic)
  }
  register_tensor_methods()
  when_loaded("tensorflow", join_tensorflow)
  prepare_tensorflow_of_others()
  register_when_loaded("pillar", "type_sum", "python.builtin.object", type_sum_of_python)
  # Descriptions can be passed to Python functions.
  for (class in paste0(
    "tfdistribute_",
    c("run_config", "hook", "parse_example_spec", "features")
  )) {
    register_when_loaded("reticulate", "r_to_py", class, as_python_argument)
  }
  when_loaded("parsnip", function(...) register_parsnip_engines())
  # tfestimators also has this method, and the choice must not depend on the order of loading.
  setHook(packageEvent("tfestimators", "onLoad"), function(...) {
    registerS3method("predict", "tf_estimator", predict.tf_estimator, envir = asNamespace("stats"))
  })
}

# Register a method for a generic of another package, now or when that package is loaded. The default is the method of a
# verb.
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
  when_loaded(package, register)
}

# The default methods of those verbs. If this package was attached last, another package's objects, such as Keras
# models, reach them, too. Their methods are registered for that package's generic.
verb_of_others <- function(verb, object, ...) {
  for (package in Filter(isNamespaceLoaded, c("tensorflow", "generics"))) {
    namespace <- asNamespace(package)
    has_method <- function(class) {
      !is.null(utils::getS3method(verb, class, optional = TRUE, envir = namespace))
    }
    if (exists(verb, namespace, inherits = FALSE) && any(vapply(class(object), has_method, NA))) {
      return(get(verb, namespace)(object, ...))
    }
  }
  check_estimator(object)
}

when_loaded <- function(package, register) {
  setHook(packageEvent(package, "onLoad"), register)
  if (isNamespaceLoaded(package)) {
    register()
  }
}

# A method of pillar's type_sum(), with which rlang shows a Python object among the arguments of a call in a backtrace.
# Without it, rlang asks for the object's length. For a tensor of a graph, this is an error that would hide the error of
# the callback.
type_sum_of_python <- function(x, ...) {
  sub("^.*[.]", "", class(x)[[1]])
}
