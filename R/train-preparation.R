# Preparation of a training in this session: what the model keeps of the first rows, and what a user should know before
# the training begins.

# A training as it is performed. `known` is what `model_dir` holds, without `terms` if it could not be read. `show` is
# whether notes are printed.
prepare_training <- function(work, known, show) {
  input <- work$arguments$input_fn %||% work$arguments$train_spec
  is_new <- !is.null(known$terms) && is.null(known$checkpoint)
  work$object <- with_standardized_response(work$object, input, is_new)
  work$arguments <- with_fitted_replacements(work$object, work$arguments, show, known)
  if (show) {
    note_large_features(work$object, input)
    note_far_response(work$object, input, is_new)
  }
  if (!is.null(known$terms)) {
    note_continuation(work$object, known$checkpoint)
  }
  work
}

# Standard deviation from which a feature causes a note.
large_spread <- 1000

note_large_features <- function(object, input) {
  deep <- if (startsWith(object$kind, "dnn_linear")) {
    object$dnn_feature_columns
  } else if (startsWith(object$kind, "dnn")) {
    object$feature_columns
  }
  raw <- Filter(is_raw_number, deep)
  keys <- vapply(raw, function(column) column$key, "")
  data <- source_of(input)$data
  if (is.null(data)) {
    # The data is in files, or comes from a function.
    return(invisible())
  }
  spreads <- lapply(rlang::set_names(intersect(keys, column_names(data))), function(name) {
    values <- input_column(data, name)
    if (is.numeric(values) && !is.object(values)) stats::sd(utils::head(values, 1e5), na.rm = TRUE)
  })
  large <- names(Filter(function(spread) isTRUE(spread >= large_spread), spreads))
  if (length(large) > 0) {
    spread <- interpolate(c(
      "{backquoted(utils::head(large, 5))}{cli::qty(length(large))} spread{?s/} over thousands, ",
      "and networks learn best from numbers near 1."
    ))
    rlang::inform(c(
      "!" = spread,
      i = paste(
        "Standardize with feature_columns(y ~ ., data, standardize = TRUE), or `center` and `scale` of",
        "column_numeric()."
      )
    ))
  }
}

scaling_kinds <- c("linear_regressor", "dnn_regressor", "dnn_linear_combined_regressor")

# The model, which standardizes the response of a first training with a formula unless the user decides otherwise.
with_standardized_response <- function(object, input, is_new) {
  is_open <- object$kind %in% scaling_kinds && is.null(object$standardize_response)
  source <- if (inherits(input, "tfdistribute_train_spec")) input$input else input
  from_formula <- inherits(source, "tfdistribute_in_memory_input") &&
    isTRUE(attr(source, "formula"))
  if (is_open && from_formula && is_new) {
    object["standardize_response"] <- list(TRUE)
  }
  object
}

# Predictions of a new model are near 0, and optimizers take steps of the size of their rate.
far_response <- 10

note_far_response <- function(object, input, is_new) {
  data <- source_of(input)$data
  response <- source_of(input)$response
  is_open <- is_new && object$kind %in% scaling_kinds && !isTRUE(object$standardize_response)
  if (!is_open || is.null(data) || !isTRUE(response %in% column_names(data))) {
    return(invisible())
  }
  values <- input_column(data, response)
  center <- if (is.numeric(values)) mean(utils::head(unclass(values), 1e5))
  if (!isTRUE(abs(center) >= far_response)) {
    return(invisible())
  }
  rlang::inform(c(
    "!" = interpolate(c(
      "`{response}` has the mean {format_number(center)}, and predictions of a new model begin near 0."
    )),
    i = "Give the model standardize_response = TRUE, or scale the response in the data."
  ))
}

# A training continues from the newest checkpoint, but a user who runs a script or a pipeline again may expect a new
# model. Therefore a message names a checkpoint from before this session, once. The session that starts a job prints it
# for its tasks.
note_continuation <- function(object, checkpoint) {
  directory <- absolute_path(object$model_dir)
  is_known <- isTRUE(attr(object, "temporary")) || directory %in% the$trained_directories
  # A note of the training reports that trees are grown anew.
  if (is_known || is_trees(object) || nzchar(Sys.getenv(job_variable))) {
    return(invisible())
  }
  the$trained_directories <- c(the$trained_directories, directory)
  if (!is.null(checkpoint)) {
    cli::cli_inform(c(
      i = "Training continues from {.file {basename(checkpoint)}} in `model_dir` {.val {directory}}.",
      i = "To train from step 0, delete that directory or give another one."
    ))
  }
}
