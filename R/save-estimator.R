#' Save a trained model in one file
#'
#' `save_estimator()` writes the description of a model, its newest checkpoint and all other files that prediction
#' requires to one file. `load_estimator()` restores the model from it, in any session and on any machine. The restored
#' model gives the same numbers with `predict()` and the same history with `summary()` and [training_history()], and
#' `train()` continues.
#'
#' `saveRDS()` saves only the description, which names the directory of its checkpoints.
#'
#' @param object A trained estimator, such as a [dnn_regressor()].
#' @param path Path of the file, a string, on this machine or on remote storage. Its name may have any ending, but
#'   `.tfd` is usual.
#' @param checkpoint_path Prefix of a checkpoint, as returned by [latest_checkpoint()]. NULL uses the newest.
#' @param overwrite Whether an existing file is replaced, TRUE or FALSE.
#' @param model_dir Directory of the restored model, on this machine or on remote storage, which must be empty or not
#'   exist. NULL uses a temporary directory, which is deleted when R ends.
#' @param trusted Whether the file may contain code, TRUE or FALSE. Use TRUE only for files from people whom you would
#'   allow to run programs on your machine.
#' @returns `save_estimator()` returns `path`, invisibly. `load_estimator()` returns the estimator. It has the saved
#'   class and fields, apart from three fields. `model_dir` is new, `warm_start_from` is omitted because a trained model
#'   no longer needs it, and the `cluster` of its configuration is omitted because it belongs to the machine that
#'   trained the model. Set `model$config$cluster` to train with several processes again. A message names packages that
#'   have another version than in the session that saved the model; see [write_requirements()].
#'
#' @section Contents of the file:
#' The file is a ZIP archive without pickles. Its first member, `tfdistribute.json`, contains the version of the format,
#' the versions of tfdistribute, R and all Python packages that wrote it, the description of the model as plain values,
#' and the names and sizes of all other members. These are the checkpoint, the names and types of the model's training
#' columns, its losses and evaluations, vocabulary files, and the file of a Keras model.
#'
#' `load_estimator()` verifies the archive before it writes anything. It rejects names that would leave the directory,
#' links, compressed members, members that are not listed or that the model does not need, other sizes, and members and
#' checkpoints that do not match their checksums. A model reads files only from the archive, so a path elsewhere is
#' rejected.
#' @section Code in files: A model of numbers, categories and named settings contains no code, and loading or using it
#'   runs no code. `load_estimator()` checks each field of the description, and rejects everything else unless
#'   `trusted = TRUE`:
#' * R functions: the model function of [estimator()] and [training_loop()], the function of a Keras model, and
#'   functions such as `normalizer_fn` and `activation_fn`. They are saved by R's own serialization, with the variables
#'   that they use, and loading them can run code immediately.
#' * Terms of a formula that call functions that "Formulas" in [input_fn()] does not list. The file contains the names
#'   of these functions, not their code.
#' * Keras models (`.keras`, `.h5`, SavedModels). Their layers can be code.
#' * Clusters, which contain hosts, programs, their options and lines of shell, and checkpoints outside of the archive.
#'   `save_estimator()` writes no cluster.
#'
#' The file does not contain packages that the functions use, so attach them before you use the model. Python objects
#' cannot be saved.
#' @section Errors:
#' * `tfdistribute_argument_error` if the file exists, cannot be read or cannot be written, or the model contains a
#'   Python object.
#' * `tfdistribute_model_directory_error` if the model has not been trained, or `model_dir` is not empty.
#' * `tfdistribute_model_error` if a file that the model needs does not exist, or if the file is not a model file, is
#'   damaged, was written by a newer version, or contains code and is not trusted.
#' * `tfdistribute_backend_error` if no installed package reads the scheme of `path` or `model_dir`.
#' @references Format of the archive: <https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT>
#' @seealso [export_savedmodel()] for TensorFlow Serving, [export_keras_model()], [bundle.tfdistribute_estimator()]
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(mpg ~ wt + hp, mtcars, standardize = TRUE))
#' train(model, mpg ~ wt + hp, data = mtcars, epochs = 10)
#' file <- save_estimator(model, tempfile(fileext = ".tfd"))
#' restored <- load_estimator(file)
#' identical(predict(restored, newdata = mtcars), predict(model, newdata = mtcars))
#' @export
save_estimator <- function(object, path, checkpoint_path = NULL, overwrite = FALSE, ...) {
  check_call(...)
  check_estimator(object)
  path <- path.expand(check_string(path))
  # A trained model continues from its own checkpoint, in any directory.
  kept <- object
  if (!is.null(object$config)) {
    kept["config"] <- list(without_places(object$config))
  }
  kept["warm_start_from"] <- if ("warm_start_from" %in% names(object)) list(NULL)
  encoded <- encode_description(kept)
  if (length(encoded$code) > 0) {
    functions <- tempfile("functions-", fileext = ".rds")
    on.exit(unlink(functions))
    write_code(encoded$code, kept, functions)
    encoded$files[code_file] <- functions
  }
  call_backend(
    "save_model",
    model_dir = object$model_dir,
    path = path,
    model = object$kind,
    description = encoded$description,
    files = as.list(encoded$files),
    writer = own_versions(),
    checkpoint_path = check_string(checkpoint_path, null = TRUE),
    overwrite = check_flag(overwrite)
  )
  invisible(path)
}

#' @rdname save_estimator
#' @export
load_estimator <- function(path, model_dir = NULL, trusted = FALSE, ...) {
  check_call(...)
  wanted <- absolute_path(check_string(model_dir, null = TRUE))
  path <- path.expand(check_string(path))
  trusted <- check_flag(trusted)
  is_remote <- !is.null(wanted) && is_remote_path(wanted)
  # If a file does not contain a model, no part of it is written to remote storage.
  directory <- if (is.null(wanted) || is_remote) tempfile("tfdistribute-model-") else wanted
  answer <- call_backend("load_model", path = path, model_dir = directory, trusted = trusted)
  is_restored <- FALSE
  on.exit(if (!is_restored || is_remote) unlink(directory, recursive = TRUE))
  files <- as.character(unlist(answer$files))
  model <- tryCatch(
    {
      code <- if (trusted && code_file %in% files) read_code(file.path(directory, code_file))
      decode_description(answer$description, directory, files, code)
    },
    error = function(error) abort_no_description(path, error)
  )
  call_backend(
    "check_model",
    estimator = model,
    path = path,
    files = as.list(files),
    trusted = trusted
  )
  trust_terms(path, directory, wanted %||% directory, trusted)
  if (is_remote) {
    call_backend("load_model", path = path, model_dir = wanted, trusted = trusted)
    model <- decode_description(answer$description, wanted, files, code)
  }
  attr(model, "temporary") <- is.null(wanted)
  attr(model, "requirements") <- as.character(unlist(answer$versions$packages))
  note_other_versions(attr(model, "requirements"))
  is_restored <- TRUE
  model
}

code_file <- "functions.rds"

# Terms of a formula may call functions that are not listed only in a trusted file. The session finds these functions
# among its own. `directory` holds the model, which will be used in `model_dir`.
trust_terms <- function(path, directory, model_dir, trusted) {
  terms <- call_backend("trained_state", model_dir = directory)$terms
  unlisted <- tryCatch(
    lapply(terms, function(text) unlisted_functions(str2lang(text))),
    error = function(error) abort_no_description(path, error)
  )
  called <- unlist(unlisted, use.names = FALSE)
  if (length(called) > 0 && !trusted) {
    abort_tfdistribute(
      "model",
      problem = "`path` \"{path}\" has the term `{names(Filter(length, unlisted))[[1]]}`, which calls {called[[1]]}().",
      remedy = "If you trust who made the file, use trusted = TRUE, and define or attach {called[[1]]}().",
      value = called[[1]]
    )
  }
  if (length(called) > 0) {
    the$term_scopes[[absolute_path(model_dir)]] <- list(functions = called, env = globalenv())
  }
}

own_versions <- function() {
  list(
    tfdistribute = as.character(utils::packageVersion("tfdistribute")),
    R = as.character(getRversion())
  )
}

# The devices and processes of a model belong to a machine, and can run programs there.
without_places <- function(config) {
  config[c("model_dir", "cluster")] <- list(NULL)
  config
}

decode_description <- function(description, directory, files, code) {
  model <- decode_value(description, list(directory = directory, files = files, code = code))
  stopifnot(
    "its description is not of an estimator." = inherits(model, "tfdistribute_estimator")
  )
  model["model_dir"] <- directory
  model
}

abort_no_description <- function(path, error) {
  abort_tfdistribute(
    "model",
    problem = "`path` \"{path}\" does not describe a model: {conditionMessage(error)}",
    remedy = "Give a file that save_estimator() wrote.",
    value = path,
    parent = error
  )
}
