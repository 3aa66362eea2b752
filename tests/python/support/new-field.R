# What R's constructors make of a field that was added to the dataclasses of a copy of the package: reads the folder of
# the copy, and prints a JSON object with the error of a wrong value, and JSON of the description that is sent, for each
# call.
# `test_new_field.py` compares them with Python's.
folder <- commandArgs(trailingOnly = TRUE)[[1]]
options(cli.unicode = TRUE, crayon.enabled = FALSE, tfdistribute.progress = FALSE)
suppressMessages(pkgload::load_all(folder, helpers = FALSE))

word <- column_categorical_with_hash_bucket("word", hash_bucket_size = 10)
calls <- list(
  run_config = function(...) run_config(...),
  local_cluster = function(...) local_cluster(2, ...),
  ray_cluster = function(...) ray_cluster(workers = 2, ...),
  strategy_mirrored = function(...) strategy_mirrored(...),
  strategy_parameter_server = function(...) strategy_parameter_server(...),
  track_mlflow = function(...) track_mlflow(...),
  hook_early_stopping = function(...) hook_early_stopping(...),
  column_numeric = function(...) column_numeric("x", ...),
  column_indicator = function(...) column_indicator(word, ...),
  column_bucketized = function(...) column_bucketized(column_numeric("x"), c(0, 1), ...),
  linear_regressor = function(...) linear_regressor(word, model_dir = "m", ...),
  input_csv = function(...) input_csv("a.csv", ...),
  eval_spec = function(...) eval_spec(input_csv("a.csv"), ...)
)
# The JSON of what Python gets, without functions.
as_json <- function(value) {
  without <- reticulate::py_eval("lambda value: None")
  reticulate::import("json")$dumps(value, default = without)
}
found <- lapply(calls, function(call) {
  error <- tryCatch(call(settling_steps = 0), error = identity)
  list(
    error = if (inherits(error, "condition")) {
      error$problem %||% conditionMessage(error)
    } else {
      "none"
    },
    sent = as_json(asNamespace("tfdistribute")$as_wire(call(settling_steps = 3)))
  )
})
cat(jsonlite::toJSON(found, auto_unbox = TRUE), "\n")
