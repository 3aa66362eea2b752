# Models in one R value, and served over HTTP.

# bundle and vetiver, or where they are not installed, their generics, and the classes and structures that these
# packages give their objects. vetiver_type_convert() checks the columns of a request, as there, and does not
# convert strings.
local_bundle <- function(frame = parent.frame()) {
  local_package(
    "bundle",
    c(
      "bundle <- function(x, ...) UseMethod('bundle')",
      "unbundle <- function(x) x$situate(x$object)"
    ),
    frame = frame
  )
}

local_vetiver <- function(frame = parent.frame()) {
  local_package(
    "vetiver",
    c(
      "vetiver_create_description <- function(model) UseMethod('vetiver_create_description')",
      "vetiver_create_meta <- function(model, metadata) UseMethod('vetiver_create_meta')",
      "vetiver_python_requirements <- function(model) UseMethod('vetiver_python_requirements')",
      "vetiver_ptype <- function(model, ...) UseMethod('vetiver_ptype')",
      "vetiver_prepare_model <- function(model) UseMethod('vetiver_prepare_model')",
      "handler_predict <- function(vetiver_model, ...) UseMethod('handler_predict', vetiver_model$model)",
      "vetiver_meta <- function(user, required_pkgs) list(user = user, required_pkgs = required_pkgs)",
      "vetiver_type_convert <- function(new_data, ptype) {",
      "  if (!is.data.frame(new_data)) stop('`data` must be a data frame or a matrix.')",
      "  missing <- setdiff(names(ptype), names(new_data))",
      "  if (length(missing) > 0) stop('The required column ', missing[[1]], ' is missing.')",
      "  new_data",
      "}",
      "vetiver_model <- function(model, model_name) {",
      "  structure(",
      "    list(",
      "      model = vetiver_prepare_model(model), model_name = model_name,",
      "      description = vetiver_create_description(model),",
      "      metadata = vetiver_create_meta(model, list()), prototype = vetiver_ptype(model)",
      "    ),",
      "    class = 'vetiver_model'",
      "  )",
      "}",
      "vetiver_api <- function(pr, vetiver_model) {",
      "  vetiver_model$model <- bundle::unbundle(vetiver_model$model)",
      "  plumber::pr_post(pr, '/predict', handler_predict(vetiver_model))",
      "}"
    ),
    frame = frame
  )
}

test_that("a bundle is a plain value that holds the trained model", {
  skip_if_no_tensorflow()
  local_bundle()
  model <- linear_regressor(column_numeric("wt"))
  train(model, mpg ~ wt, data = mtcars, epochs = 3)
  bundled <- bundle::bundle(model)
  expect_s3_class(
    bundled,
    c("bundled_tfdistribute_linear_regressor_estimator", "bundle"),
    exact = TRUE
  )
  expect_named(bundled, c("object", "situate"))
  file <- withr::local_tempfile()
  saveRDS(bundled, file)
  # The checkpoint, and not the session in which it was bundled.
  expect_lt(file.size(file), 2 * length(bundled$object))
  expected <- predict(model, newdata = mtcars)
  unlink(model$model_dir, recursive = TRUE)
  restored <- bundle::unbundle(readRDS(file))
  expect_identical(predict(restored, newdata = mtcars), expected)
  local_vetiver()
  lines <- readLines(vetiver::vetiver_python_requirements(restored))
  expect_identical(lines, session_requirements())
  # A file of an earlier version lists no packages.
  attr(restored, "requirements") <- character()
  expect_identical(readLines(write_requirements(restored, file)), lines)
  expect_true(all(grepl("^[a-z0-9-]+==[0-9][^ ]*$", lines)))
  expect_identical(sum(grepl("^(tensorflow|tensorflow-cpu|numpy|google-crc32c)==", lines)), 3L)
})

answers_at <- function(port) {
  connect <- function() close(socketConnection("127.0.0.1", port, timeout = 1))
  tryCatch(is.null(suppressWarnings(connect())), error = function(error) FALSE)
}

# The answer of a server on this machine: `status`, and the `body` as R values.
post_rows <- function(port, path, body, timeout_s = 60) {
  server <- socketConnection("127.0.0.1", port, open = "r+b", blocking = TRUE, timeout = timeout_s)
  on.exit(close(server))
  request <- c(
    paste("POST", path, "HTTP/1.1"),
    "Host: 127.0.0.1",
    "Content-Type: application/json",
    paste("Content-Length:", nchar(body, "bytes")),
    "Connection: close",
    "",
    body
  )
  writeLines(request, server, sep = "\r\n")
  answer <- readLines(server, warn = FALSE)
  list(
    status = as.integer(strsplit(answer[[1]], " ", fixed = TRUE)[[1]][[2]]),
    body = jsonlite::fromJSON(utils::tail(answer, 1))
  )
}

test_that("a model that plumber serves answers bad rows with an error and goes on", {
  skip_if_no_tensorflow()
  skip_if_not_installed("plumber")
  local_bundle()
  local_vetiver()
  cars <- cars_and_words()
  model <- linear_regressor(feature_columns(mpg ~ wt + maker, cars))
  train(model, mpg ~ wt + maker, data = cars, batch_size = 32, epochs = 3)
  trees <- boosted_trees_regressor(n_trees = 9, min_node_weight = 1)
  train(trees, mpg ~ wt + maker, data = cars)
  served <- vetiver::vetiver_model(model, "cars")
  expect_identical(served$description, "A linear_regressor trained for 3 steps by tfdistribute")
  expect_identical(served$metadata$required_pkgs, "tfdistribute")
  expect_identical(served$prototype, tibble::tibble(wt = double(), maker = character()))
  port <- call_backend("free_ports", count = 1L)[[1]]
  server <- local_child_r(
    function(served, of_trees, fitted, port) {
      # parsnip's predict() evaluates its call by rlang::eval_tidy().
      predict_fitted <- function(req) rlang::eval_tidy(quote(predict(fitted, req$body)))
      vetiver::vetiver_api(plumber::pr(), served) |>
        plumber::pr_mount("/trees", vetiver::vetiver_api(plumber::pr(), of_trees)) |>
        plumber::pr_post("/fitted", predict_fitted) |>
        plumber::pr_set_debug(TRUE) |>
        plumber::pr_run("127.0.0.1", port, docs = FALSE, quiet = TRUE)
    },
    list(
      served,
      vetiver::vetiver_model(trees, "trees"),
      tfdistribute_fit(cars[c("wt", "maker")], cars$mpg, epochs = 2),
      port
    )
  )
  expect_true(wait_until(function() answers_at(port), 60))
  rows <- "[{\"maker\": \"b\", \"wt\": 2.5}, {\"maker\": \"a\", \"wt\": 3}]"
  bad_rows <- c(
    "`wt` 1" = "[{\"maker\": \"b\", \"wt\": null}, {\"maker\": \"a\", \"wt\": 3}]",
    "`maker` 1" = "[{\"maker\": null, \"wt\": 2.5}]",
    "wt" = "[{\"maker\": \"b\"}]",
    "data frame" = "[]"
  )
  for (mentioned in names(bad_rows)) {
    answer <- post_rows(port, "/predict", bad_rows[[mentioned]])
    expect_identical(answer$status, 400L)
    expect_match(answer$body$message, mentioned, fixed = TRUE)
    answer <- post_rows(port, "/fitted", bad_rows[[mentioned]])
    expect_identical(answer$status, 500L)
    expect_match(answer$body$message, mentioned, fixed = TRUE)
  }
  expect_identical(post_rows(port, "/predict", "no JSON")$status, 500L)
  answer <- post_rows(port, "/predict", rows)
  expect_identical(answer$status, 200L)
  expected <- predict(model, newdata = data.frame(wt = c(2.5, 3), maker = c("b", "a")))
  expect_equal(answer$body$predictions, expected$predictions, tolerance = 1e-3)
  # Trees read missing values.
  rows <- "[{\"maker\": \"b\", \"wt\": 2.5}, {\"maker\": \"a\", \"wt\": null}]"
  answer <- post_rows(port, "/trees/predict", rows)
  expect_identical(answer$status, 200L)
  expected <- predict(trees, newdata = data.frame(wt = c(2.5, NA), maker = c("b", "a")))
  expect_equal(answer$body$predictions, expected$predictions, tolerance = 1e-3)
  expect_identical(post_rows(port, "/trees/predict", "[{\"wt\": 1}]")$status, 400L)
})

# The address of a server that answers vetiver's question which Debian packages R packages need.
local_package_manager <- function(frame = parent.frame()) {
  port <- call_backend("free_ports", count = 1L)[[1]]
  answer <- function(port) {
    plumber::pr() |>
      plumber::pr_get("/__api__/repos/1/sysreqs", function() list(requirements = list())) |>
      plumber::pr_run("127.0.0.1", port, docs = FALSE, quiet = TRUE)
  }
  local_child_r(answer, list(port), frame = frame)
  expect_true(wait_until(function() answers_at(port), 60))
  paste0("http://127.0.0.1:", port)
}

test_that("the files of vetiver_prepare_docker() serve the model with its requirements", {
  skip_if_no_tensorflow()
  skip_if_not_installed("plumber")
  skip_if_no_real("vetiver")
  address <- local_package_manager()
  cars <- cars_and_words()
  model <- linear_regressor(feature_columns(mpg ~ wt + maker, cars))
  train(model, mpg ~ wt + maker, data = cars, batch_size = 32, epochs = 3)
  folder <- withr::local_tempdir()
  # vetiver needs pins, which DESCRIPTION does not name.
  board_folder <- getExportedValue("pins", "board_folder")
  board <- board_folder(file.path(folder, "board"), versioned = TRUE)
  suppressMessages(vetiver::vetiver_pin_write(board, vetiver::vetiver_model(model, "cars")))
  # renv, which vetiver contains, would start a process that watches it.
  prepare <- function(board, folder) vetiver::vetiver_prepare_docker(board, "cars", path = folder)
  environment <- c(RSPM_ROOT = address, RENV_WATCHDOG_ENABLED = "FALSE")
  result_of(local_child_r(prepare, list(board, folder), environment), 120)
  expect_identical(readLines(file.path(folder, "requirements.txt")), session_requirements())
  expect_match(readLines(file.path(folder, "Dockerfile")), "COPY plumber.R", all = FALSE)
  locked <- jsonlite::fromJSON(file.path(folder, "vetiver_renv.lock"))$Packages
  expect_true(all(c("tfdistribute", "vetiver", "reticulate") %in% names(locked)))
  port <- call_backend("free_ports", count = 1L)[[1]]
  server <- local_child_r(
    function(file, port) {
      plumber::pr_run(plumber::plumb(file), "127.0.0.1", port, docs = FALSE, quiet = TRUE)
    },
    list(file.path(folder, "plumber.R"), port)
  )
  expect_true(wait_until(function() answers_at(port), 60))
  answer <- post_rows(port, "/predict", "[{\"maker\": \"b\", \"wt\": 2.5}]")
  expected <- predict(model, newdata = data.frame(wt = 2.5, maker = "b"))$predictions
  expect_equal(answer$body$predictions, as.vector(expected), tolerance = 1e-4)
})

test_that("loading a model names the packages that have other versions", {
  here <- c("numpy==2.0", "keras==3.0")
  expect_no_message(note_other_versions("numpy==2.0", here))
  message <- rlang::catch_cnd(
    note_other_versions(c("keras==3.0", "numpy==1.0", "six==1.0"), here),
    "message"
  )
  expect_match(
    gsub("\\s+", " ", conditionMessage(message)),
    "with numpy==1.0 (here numpy==2.0), six==1.0 (missing here).",
    fixed = TRUE
  )
})
