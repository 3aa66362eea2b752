# Methods for the generics of bundle and vetiver, which R registers when these packages are loaded. lintr recognizes
# only the generics of packages that are imported.
# nolint start: object_name_linter.

#' Bundle a model, or serve it with vetiver
#'
#' `bundle::bundle()` puts a trained model with its checkpoint into one R value that survives `saveRDS()` and other
#' processes, and `bundle::unbundle()` restores the model. It is [save_estimator()] in memory. With these methods,
#' `vetiver::vetiver_model()` accepts an estimator. vetiver pins the bundle, and its API predicts from rows with the
#' model's training features. For rows that the model cannot use, such as rows with a missing value, the API returns
#' status 400 and the reason.
#'
#' @param x,model A trained estimator, such as a [dnn_regressor()].
#' @param metadata A list that contains the metadata of the model in vetiver.
#' @param vetiver_model A vetiver model from `vetiver::vetiver_model()`.
#' @param ... For `vetiver_ptype()`: `prototype_data`, a data frame with the features, for a model whose training did
#'   not name its columns. Otherwise not used.
#' @returns `bundle()`: an object of class `bundle`. The other methods return the objects that vetiver's generics
#'   require.
#' @section Errors: The errors of [save_estimator()].
#' @section Code in bundles: A bundle is an R value, and `readRDS()` assumes that you trust its author. Therefore
#'   `unbundle()` also restores models with R functions.
#' @section Docker: `vetiver::vetiver_prepare_docker()` also writes `requirements.txt`, with the Python packages of
#'   [write_requirements()]. Its Dockerfile does not install them. Add these lines before `ENTRYPOINT`:
#'   ```
#'   COPY requirements.txt requirements.txt
#'   RUN apt-get update && apt-get install -y python3-venv
#'   RUN python3 -m venv /opt/python && /opt/python/bin/pip install -r requirements.txt
#'   ENV RETICULATE_PYTHON=/opt/python/bin/python
#'   ```
#' @references <https://rstudio.github.io/bundle/>, <https://rstudio.github.io/vetiver-r/>
#' @examples
#' \dontrun{
#' bundled <- bundle::bundle(model)
#' model <- bundle::unbundle(bundled)
#'
#' served <- vetiver::vetiver_model(model, "diamonds")
#' plumber::pr() |>
#'   vetiver::vetiver_api(served) |>
#'   plumber::pr_run()
#' }
#' @name bundle.tfdistribute_estimator
#' @exportS3Method bundle::bundle
bundle.tfdistribute_estimator <- function(x, ...) {
  # The structure that bundle::bundle_constr() gives in every version of that package.
  structure(
    list(
      object = model_bytes(x),
      situate = situate_model
    ),
    class = c(paste0("bundled_", class(x)[[1]]), "bundle")
  )
}

# A function of the namespace, because R saves it without the model of the call.
situate_model <- structure(
  function(object) restore_bytes(object),
  class = c("situater", "function")
)

model_bytes <- function(object) {
  path <- tempfile(fileext = ".tfd")
  on.exit(unlink(path))
  save_estimator(object, path)
  readBin(path, "raw", file.size(path))
}

restore_bytes <- function(bytes) {
  path <- tempfile(fileext = ".tfd")
  on.exit(unlink(path))
  writeBin(bytes, path)
  load_estimator(path, trusted = TRUE)
}

#' @rdname bundle.tfdistribute_estimator
#' @exportS3Method vetiver::vetiver_create_description
vetiver_create_description.tfdistribute_estimator <- function(model) {
  facts <- summary(model)
  paste("A", facts$kind, "trained for", several(facts$global_step, "step"), "by tfdistribute")
}

#' @rdname bundle.tfdistribute_estimator
#' @exportS3Method vetiver::vetiver_create_meta
vetiver_create_meta.tfdistribute_estimator <- function(model, metadata) {
  vetiver::vetiver_meta(metadata, required_pkgs = "tfdistribute")
}

#' @rdname bundle.tfdistribute_estimator
#' @exportS3Method vetiver::vetiver_python_requirements
vetiver_python_requirements.tfdistribute_estimator <- function(model) {
  write_requirements(model, tempfile("requirements-", fileext = ".txt"))
}

#' @rdname bundle.tfdistribute_estimator
#' @exportS3Method vetiver::vetiver_ptype
vetiver_ptype.tfdistribute_estimator <- function(model, ...) {
  given <- list(...)$prototype_data
  if (!is.null(given)) {
    return(tibble::as_tibble(given)[0, ])
  }
  known <- call_backend("trained_columns", model_dir = model$model_dir, verb = "vetiver_ptype")
  columns <- lapply(as.character(unlist(known$types)), empty_column)
  tibble::as_tibble(rlang::set_names(columns, as.character(unlist(known$features))))
}

#' @rdname bundle.tfdistribute_estimator
#' @exportS3Method vetiver::vetiver_prepare_model
vetiver_prepare_model.tfdistribute_estimator <- function(model) {
  bundle.tfdistribute_estimator(model)
}

#' @rdname bundle.tfdistribute_estimator
#' @exportS3Method vetiver::handler_predict
handler_predict.tfdistribute_estimator <- function(vetiver_model, ...) {
  force(vetiver_model)
  # vetiver called it ptype before version 0.2.
  prototype <- vetiver_model$prototype %||% vetiver_model$ptype
  function(req, res) {
    tryCatch(
      {
        rows <- rows_of_request(req$body, prototype)
        stats::predict(vetiver_model$model, newdata = rows, ...)
      },
      tfdistribute_input_error = function(error) {
        res$status <- 400L
        list(error = "400 - Bad request", message = error$problem)
      }
    )
  }
}

# The data frame of a request. Anything else is a mistake of the client.
rows_of_request <- function(body, prototype) {
  tryCatch(
    as.data.frame(vetiver::vetiver_type_convert(body, prototype)),
    error = function(error) {
      abort_tfdistribute("input", problem = "{root_message(error)}", parent = error)
    }
  )
}
# nolint end
