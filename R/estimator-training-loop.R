# Models with training, evaluation and prediction steps of their own.

#' Make an estimator from your own steps
#'
#' Creates an estimator for models that train in their own steps: with `tf$GradientTape()`, several optimizers or
#' several losses. The functions define what one step does with one batch, and the verbs run the loop. [train()],
#' [train_and_evaluate()], [evaluate()] and [predict()] work with every strategy, cluster and hook, with checkpoints,
#' and with many steps per run. Write the functions for one device.
#'
#' TensorFlow calls the functions at the start of a verb, once for each device, on R's own thread. They build the graph
#' that TensorFlow then runs at every step, so no R code runs during the steps. For R code in a step, use a
#' [hook][hook_session_run].
#'
#' @param build Function (`params`) that creates objects for all steps, such as layers and optimizers. It returns a
#'   named list. Like the other functions, it may omit its arguments.
#' @eval help_of("training_loop")
#' @inheritParams estimator
#' @returns A description of class `tfdistribute_training_loop_estimator`, `tfdistribute_estimator`.
#'
#' @section Several devices:
#' As for [estimator()], return a loss that is a mean over the examples of the step. Legacy Keras optimizers
#' (`tf$keras$optimizers$legacy`) and optimizers of `tf$compat$v1$train` then minimize the mean over all devices.
#' `tf$keras$optimizers$Adam()` has no effect in a graph and is rejected. You do not need `strategy$run()` or
#' `experimental_distribute_dataset()`. See `vignette("custom-loops")`.
#' @section Errors:
#' * `tfdistribute_argument_error` if an argument has the wrong type or is out of range.
#' * `tfdistribute_callback_error`, from a verb, if a function fails. The `parent` is the function's own error.
#' * `tfdistribute_model_error`, from a verb, if the required step is missing or returns another object.
#' @references <https://www.tensorflow.org/tutorials/distribute/custom_training>
#' @seealso [estimator()] for one function for all modes, and `vignette("custom-loops")`
#' @examples
#' loop <- training_loop(
#'   build = function(params) {
#'     list(
#'       layer = tf$keras$layers$Dense(1L),
#'       optimizer = tf$keras$optimizers$legacy$SGD(params$learning_rate)
#'     )
#'   },
#'   train_step = function(parts, features, labels) {
#'     tape <- tf$GradientTape()
#'     loss <- with(tape, {
#'       predicted <- tf$squeeze(parts$layer(tf$reshape(features$wt, c(-1L, 1L))), 1L)
#'       tf$reduce_mean(tf$math$squared_difference(labels, predicted))
#'     })
#'     variables <- parts$layer$trainable_variables
#'     gradients <- tape$gradient(loss, variables)
#'     list(loss = loss, train_op = parts$optimizer$apply_gradients(Map(list, gradients, variables)))
#'   },
#'   predict_step = function(parts, features) {
#'     list(mpg = tf$squeeze(parts$layer(tf$reshape(features$wt, c(-1L, 1L))), 1L))
#'   },
#'   params = list(learning_rate = 0.05)
#' )
#' loop
#' @examplesIf tfdistribute_available()
#' train(loop, input_fn(mpg ~ wt, mtcars, epochs = 20))
#' predict(loop, input_fn(head(mtcars, 3), features = wt))
#' @export
training_loop <- function(
  # Fields of estimator$training_loop without model_class, build_parts
  build,
  train_step,
  eval_step = NULL,
  predict_step = NULL,
  params = NULL,
  model_dir = NULL,
  config = NULL,
  class = NULL,
  loss_reduction = c("sum_over_batch_size", "sum"),
  warm_start_from = NULL,
  ...
) {
  check_call(...)
  class <- check_strings(class, null = TRUE)
  made <- describe_estimator(
    "training_loop",
    list(
      params = params,
      loss_reduction = loss_reduction,
      warm_start_from = warm_start_from,
      model_dir = model_dir,
      config = config
    ),
    build_parts = check_step(build, "params"),
    train_step = check_step(train_step, c("parts", "features", "labels", "step")),
    eval_step = if (!is.null(eval_step)) check_step(eval_step, c("parts", "features", "labels")),
    predict_step = if (!is.null(predict_step)) check_step(predict_step, c("parts", "features")),
    model_class = class %||% character()
  )
  structure(made, class = c(class, base::class(made)))
}

check_step <- function(step, arguments, argument = rlang::caller_arg(step)) {
  check_function(step, argument = argument)
  check_formals(
    step,
    supplied = arguments,
    remedy = paste0("It can have any of ", backquoted(arguments), "."),
    argument = argument
  )
  step
}

# The return value of `build` stays in R, for the steps of the same device. Python gets its optimizer.
#' @export
as_wire.tfdistribute_training_loop_estimator <- function(x) {
  made <- new.env()
  fields <- unclass_list(x)
  # Tasks compare the variables that these functions use.
  x <- fields[c("build_parts", "train_step", "eval_step", "predict_step", "params")]
  fields$build_parts <- function() {
    made$parts <- call_taken(x$build_parts, list(params = x$params))
    optimizer <- if (is.list(made$parts)) made$parts[["optimizer"]]
    list(optimizer = if (!is.null(optimizer)) as_wire(check_optimizer(optimizer, "optimizer")))
  }
  fields$train_step <- function(features, labels, step) {
    values <- call_taken(
      x$train_step,
      list(parts = made$parts, features = features, labels = labels, step = step)
    )
    optimizer <- if (is.list(values)) values[["optimizer"]]
    if (!is.null(optimizer)) {
      values$optimizer <- as_wire(check_optimizer(optimizer, "optimizer"))
    }
    values
  }
  if (!is.null(x$eval_step)) {
    fields$eval_step <- function(features, labels) {
      call_taken(x$eval_step, list(parts = made$parts, features = features, labels = labels))
    }
  }
  if (!is.null(x$predict_step)) {
    fields$predict_step <- function(features) {
      call_taken(x$predict_step, list(parts = made$parts, features = features))
    }
  }
  fields["params"] <- list(NULL)
  lapply(fields, as_wire)
}

# Call a function with the arguments that it has, in a call that is readable in a backtrace.
call_taken <- function(step, arguments) {
  arguments$features <- as_features(arguments$features)
  taken <- names(formals(args(step)))
  if (!"..." %in% taken) {
    arguments <- arguments[intersect(names(arguments), taken)]
  }
  rlang::exec(step, !!!arguments)
}
