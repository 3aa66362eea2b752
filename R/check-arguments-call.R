# Checks of a whole call: arguments that the function does not have, and required ones that were not given. R's own
# errors for both have no class and name internal functions.

# Check the call of the exported function that calls this one: its `...` must be empty, and every argument without a
# default must be given. `...` are remedies for missing arguments, by name.
check_call <- function(...) {
  index <- sys.parent()
  frame <- sys.frame(index)
  extra <- as.list(eval(quote(substitute(list(...))), frame))[-1]
  extra <- Filter(Negate(is_required), extra)
  if (length(extra) > 0) {
    abort_unknown_argument(extra, names(formals(sys.function(index))), called_function(index))
  }
  check_required_of(index, list(...))
}

# Check only that the arguments without a default were given: for generics and functions that use their `...`.
check_required <- function(...) {
  check_required_of(sys.parent(), list(...))
}

check_required_of <- function(index, remedies) {
  frame <- sys.frame(index)
  required <- names(Filter(is_required, formals(sys.function(index))))
  for (name in setdiff(required, "...")) {
    if (eval(call("missing", as.name(name)), frame)) {
      abort_tfdistribute(
        "argument",
        problem = "`{name}` is missing, and {called_function(index)} has no default for it.",
        remedy = if (!is.null(remedies[[name]])) "{remedies[[name]]}",
        argument = name
      )
    }
  }
}

# "train()": the function of a frame, by the name that the user called.
called_function <- function(index) {
  generic <- get0(".Generic", sys.frame(index), inherits = FALSE)
  name <- generic %||% rlang::call_name(sys.call(index))
  if (is.null(name)) "the function" else paste0(name, "()")
}

# `extra` are the expressions of the arguments in `...`.
abort_unknown_argument <- function(extra, formals, called) {
  name <- rlang::names2(extra)[[1]]
  abort_tfdistribute(
    "argument",
    problem = if (nzchar(name)) {
      "`{name}` is not an argument of {called}."
    } else {
      "{called} was given more arguments than it has: {rlang::as_label(extra[[1]])}."
    },
    remedy = "{remedy_for_unknown(name, setdiff(formals, '...'))}",
    argument = if (nzchar(name)) name else "..."
  )
}

# Names that other packages give to arguments of this one.
other_names <- c(
  after_step = "after_run",
  before_step = "before_run",
  epochs = "num_epochs",
  label = "response",
  labels = "response",
  metric = "monitor",
  patience = "patience_steps",
  sep = "delim",
  strategy = "train_distribute",
  target = "response"
)

# What other packages take as an argument and this one does not, by an argument that the function has: remedies.
other_ways <- list(
  learning_rate = c(
    optimizer = "Set it in `optimizer`, as in optimizer = list(\"adam\", learning_rate = 0.01).",
    dnn_optimizer = "Set it in `dnn_optimizer`, as in dnn_optimizer = list(\"adam\", learning_rate = 0.01)."
  ),
  epochs = c(input_fn = "Give num_epochs to input_fn()."),
  batch_size = c(input_fn = "Give batch_size to input_fn()."),
  newdata = c(input_fn = "Give it as `input_fn`: a data frame, or an input that input_fn() makes."),
  data = c(input_fn = "Give it as `input_fn`: a data frame, or an input that input_fn() makes.")
)

remedy_for_unknown <- function(name, known) {
  ways <- other_ways[[name]]
  way <- ways[names(ways) %in% known]
  if (length(way) > 0) {
    return(way[[1]])
  }
  same <- intersect(other_names[name], known)
  if (length(known) == 0) {
    "It has no arguments."
  } else {
    paste0(did_you_mean(c(same, name)[[1]], known), "Its arguments are ", backquoted(known), ".")
  }
}
