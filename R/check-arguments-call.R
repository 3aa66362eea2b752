# Checks of a whole call for unknown arguments and missing required ones. R's own errors for both have no class and name
# internal functions.

# Check the call of the function that calls this one with its own `...`, in which nothing may be left. Every argument
# without a default must be present. `.remedies` are remedies for missing arguments, by name. The call may have
# arguments named `.also`, which the function passes on to another function. With `.renames`, it may have arguments by
# their names in tfestimators, which are returned by their names in this package.
check_call <- function(..., .remedies = NULL, .also = NULL, .renames = FALSE) {
  index <- sys.parent()
  renamed <- if (...length() > 0) {
    check_extra(index, as.list(substitute(list(...)))[-1], .also, .renames)
  }
  check_required_of(index, .remedies)
  lapply(renamed, function(each) ...elt(each))
}

# Check the expressions in `...`. The positions of renamed arguments are returned by their names in this package.
check_extra <- function(index, extra, also, renames) {
  known <- names(formals(sys.function(index)))
  names <- rlang::names2(extra)
  own <- own_name(names)
  renamed <- renames & own != names & own %in% missing_arguments(index, intersect(own, known))
  passed_on <- !is.na(pmatch(own, also, duplicates.ok = TRUE))
  unknown <- Filter(Negate(is_required), extra[!renamed & !passed_on])
  if (length(unknown) > 0) {
    abort_unknown_argument(unknown, c(known, also), called_function(index))
  }
  stats::setNames(which(renamed), own[renamed])
}

# Names of arguments in tfestimators, which this package also accepts.
accepted_names <- c(
  every_n_iter = "every_n_steps",
  every_n_secs = "every_s",
  every_n_step = "every_n_steps",
  num_epochs = "epochs",
  save_secs = "every_s",
  save_steps = "every_n_steps",
  tf_random_seed = "seed",
  train_distribute = "strategy"
)

# Names of arguments in this package. Other names are returned unchanged.
own_name <- function(names) {
  unname(ifelse(names %in% names(accepted_names), accepted_names[names], names))
}

# Check only that no argument without a default is missing, for generics and functions that use their `...`.
check_required <- function() {
  check_required_of(sys.parent())
}

check_required_of <- function(index, remedies = NULL) {
  formals <- formals(sys.function(index))
  required <- names(formals)[vapply(formals, is_required, NA)]
  absent <- missing_arguments(index, required[required != "..."])
  if (length(absent) > 0) {
    name <- absent[[1]]
    abort_tfdistribute(
      "argument",
      problem = "`{name}` is missing, and {called_function(index)} has no default for it.",
      remedy = if (!is.null(remedies[[name]])) "{remedies[[name]]}"
    )
  }
}

# Those of the arguments that the call of a frame lacks. R has to tell, because the caller may pass on its own ones.
missing_arguments <- function(index, names) {
  Filter(function(name) eval(call("missing", as.name(name)), sys.frame(index)), names)
}

# The function of a frame as "train()", by the name in the user's call.
called_function <- function(index) {
  name <- public_name(index) %||% rlang::call_name(sys.call(index))
  if (is.null(name)) "the function" else paste0(name, "()")
}

# `extra` are the expressions of the arguments in `...`.
abort_unknown_argument <- function(extra, known, called) {
  name <- rlang::names2(extra)[[1]]
  abort_tfdistribute(
    "argument",
    problem = if (nzchar(name)) {
      "`{name}` is not an argument of {called}."
    } else {
      "{called} was given more arguments than it has: {rlang::as_label(extra[[1]])}."
    },
    # Verbs set arguments such as `.verb`.
    remedy = "{remedy_for_unknown(name, unique(known[!startsWith(known, '.')]))}",
    argument = if (nzchar(name)) name else "..."
  )
}

# Names of arguments in other packages, by their names in this package.
other_names <- c(
  after_step = "after_run",
  before_step = "before_run",
  label = "response",
  labels = "response",
  metric = "monitor",
  patience = "patience_steps",
  sep = "delim",
  target = "response"
)

# Remedies for arguments of other packages that this package does not have, by an argument that the function has. Only
# train() has `saving_listeners`, and only predict() has `predict_keys`.
other_ways <- list(
  callbacks = c(hooks = "Give hooks, as in hooks = hook_early_stopping(patience_steps = 500)."),
  data = c(
    saving_listeners = "Give a formula before it, as in train(model, y ~ x, data = data).",
    eval_spec = "Give data to the specifications, as in train_spec(input_fn(y ~ x, data)).",
    input_fn = "Give it as `input_fn`: a data frame, or an input that input_fn() makes."
  ),
  learning_rate = c(
    optimizer = "Set it in `optimizer`, as in optimizer = list(\"adam\", learning_rate = 0.01).",
    dnn_optimizer = "Set it in `dnn_optimizer`, as in dnn_optimizer = list(\"adam\", learning_rate = 0.01).",
    input_fn = "Set it in the model, as in optimizer = list(\"adam\", learning_rate = 0.01)."
  ),
  na.action = c(impute = "`impute` replaces missing values, as in impute = \"median\"."),
  optimizer = c(
    input_fn = "Set it in the model, as in optimizer = list(\"adam\", learning_rate = 0.01)."
  ),
  subset = c(input_fn = "Select the rows in the data, as in data[data$x > 0, ]."),
  newdata = c(
    saving_listeners = "Give a formula with it, as in train(model, y ~ x, data = newdata).",
    input_fn = "Give it as `input_fn`: a data frame, or an input that input_fn() makes."
  ),
  validation_data = c(
    saving_listeners = "Evaluate while training with train_and_evaluate(), and give the data to its eval_spec().",
    eval_spec = "Give it to eval_spec(), as in eval_spec(input_fn(y ~ x, data))."
  ),
  validation_split = c(
    saving_listeners = "Evaluate while training with train_and_evaluate(), and give other rows to its eval_spec()."
  ),
  verbose = c(input_fn = "options(tfdistribute.progress = FALSE) hides the progress."),
  x = c(
    input_fn = "Give the rows and their labels as a formula with `data`, or an input that input_fn() makes."
  )
)

# Arguments of input_fn(), which verbs have only for data.
# fmt: skip
input_arguments <- c(
  "batch_size", "epochs", "factors", "features", "impute", "response", "seed", "shuffle",
  "transform", "weights"
)

remedy_for_unknown <- function(name, known) {
  ways <- other_ways[[name]]
  way <- ways[names(ways) %in% known]
  if (length(way) > 0) {
    return(way[[1]])
  }
  if ("input_fn" %in% known && own_name(name) %in% input_arguments) {
    return(paste0("Give ", name, " to input_fn()."))
  }
  same <- intersect(other_names[name], known)
  if (length(known) == 0) {
    "It has no arguments."
  } else {
    paste0(did_you_mean(c(same, name)[[1]], known), "Its arguments are ", backquoted(known), ".")
  }
}

check_callback <- function(
  value,
  parameters,
  argument = rlang::caller_arg(value),
  remedy = NULL
) {
  if (is.null(value)) {
    return(NULL)
  }
  if (!is.function(value)) {
    abort_argument(value, "{function_of(parameters)} or NULL", argument)
  }
  formals <- formals(args(value))
  takes <- "..." %in% names(formals) || length(formals) >= length(parameters)
  needs <- sum(vapply(formals, is_required, NA)) - "..." %in% names(formals)
  if (!takes || needs > length(parameters)) {
    given <- function_of(names(formals))
    abort_tfdistribute(
      "argument",
      problem = "`{argument}` must be {function_of(parameters)}, not {given}.",
      remedy = remedy,
      value = given
    )
  }
  value
}

function_of <- function(parameters) {
  if (length(parameters) == 0) {
    return("a function without arguments")
  }
  paste0("a function of (", toString(parameters), ")")
}
