# The path on which train() reaches Python, as a reader of R/ follows it. Its stations are the files of the layer
# "perform", as in CONTRIBUTING.md. What lower layers answer is read there. A hop is a call into another file, in which
# each call of one function by another counts once, and consecutive hops into one file are one. A return is a hop into a
# file that the path has left before.

# Functions of the package note their calls, in order, while the test runs: "caller's file, file, function".
local_call_notes <- function(frame = parent.frame()) {
  namespace <- asNamespace("tfdistribute")
  methods <- namespace$.__S3MethodsTable__.
  notes <- rlang::new_environment(list(calls = character(), files = list()))
  note <- function(file, name) {
    called <- parent.frame()
    notes$files[[rlang::obj_address(called)]] <- file
    frames <- utils::head(sys.frames(), -2)
    callers <- notes$files[vapply(frames, rlang::obj_address, "")]
    caller <- c("", unlist(callers))
    notes$calls <- union(notes$calls, paste(caller[[length(caller)]], file, name))
  }
  replace <- function(name, value) {
    for (place in Filter(
      function(each) exists(name, each, inherits = FALSE),
      list(namespace, methods)
    )) {
      rlang::env_binding_unlock(place, name)
      place[[name]] <- value
    }
  }
  originals <- list()
  for (path in r_files()) {
    for (name in functions_defined_in(path)) {
      original <- namespace[[name]]
      if (is.function(original) && identical(environment(original), namespace)) {
        originals[[name]] <- noted <- original
        body(noted) <- as.call(list(
          as.name("{"),
          as.call(list(note, basename(path), name)),
          body(original)
        ))
        replace(name, noted)
      }
    }
  }
  withr::defer(
    for (name in names(originals)) {
      replace(name, originals[[name]])
    },
    envir = frame
  )
  notes
}

test_that("train() in one process goes down through few files, and calls nothing of jobs", {
  reached <- function(arguments) rlang::abort("Python trains now.", class = "reached")
  local_answers(trained_state = untrained, train = reached)
  model <- dnn_regressor(4, feature_columns(column_numeric("wt", "hp")))
  notes <- local_call_notes()
  expect_error(asNamespace("tfdistribute")$train(model, mpg ~ ., data = mtcars), class = "reached")
  calls <- do.call(rbind, strsplit(notes$calls, " ", fixed = TRUE))
  entered <- calls[calls[, 1] != calls[, 2], 2]
  expect_false(any(startsWith(entered, "launch") | startsWith(entered, "job")))
  performing <- entered[vapply(entered, layer_of, "") == "perform"]
  stations <- rle(performing)$values
  # There were 5 files, 6 hops and 2 returns.
  expect_identical(stations, c("train.R", "verb.R", "train-preparation.R", "progress.R"))
  # And 37 files of all layers.
  expect_lte(length(unique(entered)), 34)
  # The describing half has small files that many share.
  expect_lte(length(rle(entered)$values), 90)
})
