#' Save a trained model in one file
#'
#' `save_model()` writes the description of a model, its newest checkpoint and whatever else prediction needs to one
#' file. `load_model()` restores the model from it, in any session and on any machine: `predict()` returns the same
#' numbers, `summary()` and [training_history()] the same history, and `train()` continues.
#'
#' `saveRDS()` saves only the description, which names the directory of its checkpoints.
#'
#' @param object A trained estimator, such as [dnn_regressor()] makes.
#' @param path The file, a string, on this machine or on remote storage. Its name may have any ending; `.tfd` is usual.
#' @param checkpoint_path Prefix of a checkpoint, as [latest_checkpoint()] returns it; NULL for the newest.
#' @param overwrite TRUE to replace an existing file.
#' @param model_dir Directory of the restored model, on this machine or on remote storage: one that does not exist, or
#'   is empty. NULL for a temporary one, which is deleted when R ends.
#' @param trusted TRUE to load a file that holds code. Give it only for files of people whom you would let run
#'   programs on your machine.
#' @param ... Must be empty.
#' @returns `save_model()`: invisibly, `path`. `load_model()`: the estimator. Its class and fields are those that were
#'   saved, apart from `model_dir`, from `warm_start_from`, which a trained model no longer needs, and from the
#'   `cluster` of its configuration, which belongs to the machine that trained it. Set `model$config$cluster` to train
#'   with several processes again.
#'
#' @section What the file holds:
#' A ZIP archive, without pickles. Its first member, `tfdistribute.json`, holds the version of the format, the
#' versions of tfdistribute, R and TensorFlow that wrote it, the description of the model as plain values, and the
#' names and sizes of all other members: the checkpoint, the names and types of the columns that it was trained on,
#' its losses and evaluations, vocabulary files, and the file of a Keras model.
#'
#' `load_model()` verifies the archive before it writes anything. It refuses names that would leave the directory,
#' links, compressed members, members that the list does not name or the model does not need, other sizes, and members
#' and checkpoints that do not match their checksums. A model reads files only from the archive: a path elsewhere is
#' refused.
#' @section Code in files:
#' A model of numbers, categories and named settings holds no code, and loading or using it runs none. `load_model()`
#' decides this from each field of the description, and refuses everything else unless `trusted = TRUE`:
#' * R functions: the model function of [estimator()] and [training_loop()], the function of a Keras model, and
#'   `normalizer_fn`, `activation_fn` and the like. They are saved by R's own serialisation, with the variables that
#'   they use, and loading them can run code at once.
#' * Models of Keras (`.keras`, `.h5`, SavedModels). Their layers can be code.
#' * Clusters, which name hosts, programs, their options and lines of shell, and checkpoints outside of the archive.
#'   `save_model()` writes no cluster.
#'
#' Packages that the functions use are not in the file: attach them before you use the model. Python objects cannot be
#' saved.
#' @section Errors:
#' * `tfdistribute_argument_error`: the file exists, cannot be read or cannot be written; or the model holds a Python
#'   object.
#' * `tfdistribute_model_directory_error`: the model has not been trained, or `model_dir` is not empty.
#' * `tfdistribute_model_error`: a file that the model needs does not exist; or the file is not a model file, is
#'   damaged, was written by a newer version, or holds code and is not trusted.
#' * `tfdistribute_backend_error`: nothing installed reads the scheme of `path` or `model_dir`.
#' @references Format of the archive: <https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT>
#' @seealso [export_savedmodel()] for TensorFlow Serving, [export_keras_model()], [bundle.tfdistribute_estimator()]
#' @examplesIf tfdistribute_available()
#' model <- linear_regressor(feature_columns(mpg ~ wt + hp, mtcars, standardize = TRUE))
#' train(model, mpg ~ wt + hp, data = mtcars, epochs = 10)
#' file <- save_model(model, tempfile(fileext = ".tfd"))
#' restored <- load_model(file)
#' identical(predict(restored, newdata = mtcars), predict(model, newdata = mtcars))
#' @export
save_model <- function(object, path, checkpoint_path = NULL, overwrite = FALSE, ...) {
  check_call()
  check_estimator(object)
  path <- path.expand(check_string(path))
  # A trained model continues from its own checkpoint, in whatever directory that will be.
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

#' @rdname save_model
#' @export
load_model <- function(path, model_dir = NULL, trusted = FALSE, ...) {
  check_call()
  wanted <- check_directory(absolute_path(check_string(model_dir, null = TRUE)), "model_dir")
  path <- path.expand(check_string(path))
  trusted <- check_flag(trusted)
  is_remote <- !is.null(wanted) && is_remote_path(wanted)
  # Nothing of a file that does not hold a model is written to remote storage.
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
  if (is_remote) {
    call_backend("load_model", path = path, model_dir = wanted, trusted = trusted)
    model <- decode_description(answer$description, wanted, files, code)
  }
  attr(model, "temporary") <- is.null(wanted)
  is_restored <- TRUE
  model
}

code_file <- "functions.rds"

own_versions <- function() {
  list(
    tfdistribute = as.character(utils::packageVersion("tfdistribute")),
    R = as.character(getRversion())
  )
}

# Where a model trains belongs to a machine, and can run programs there.
without_places <- function(config) {
  config[c("model_dir", "cluster")] <- list(NULL)
  config
}

decode_description <- function(description, directory, files, code) {
  model <- decode_value(description, list(directory = directory, files = files, code = code))
  stopifnot(
    "its description is not that of an estimator." = inherits(model, "tfdistribute_estimator")
  )
  model["model_dir"] <- directory
  model
}

abort_no_description <- function(path, error) {
  abort_tfdistribute(
    "model",
    problem = "`path` \"{path}\" does not describe a model: {conditionMessage(error)}",
    remedy = "Give a file that save_model() wrote.",
    argument = "path",
    value = path,
    parent = error
  )
}
