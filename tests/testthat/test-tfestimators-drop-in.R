source(test_path("tfestimators-exports.R"), local = TRUE)

# The functions that the vignette's table under this heading names.
functions_in_table <- function(heading) {
  vignette <- readLines(file.path(source_root(), "vignettes", "coming-from-tfestimators.Rmd"))
  from <- match(paste("##", heading), vignette)
  rest <- vignette[-seq_len(from)]
  section <- rest[seq_len(min(grep("^## ", rest), length(rest) + 1) - 1)]
  rows <- grep("^\\| `[^`]+\\(\\)` \\|", section, value = TRUE)
  sub("^\\| `([^`]+)\\(\\)`.*$", "\\1", rows)
}

# This package's function for one of tfestimators', NULL where there is none; a method stands as "S3:generic.class".
own_function <- function(name) {
  if (startsWith(name, "S3:")) {
    own <- sub("tf_estimator", "tfdistribute_estimator", sub("^S3:", "", name))
    own <- sub("tfdistribute_estimator_history", "tfdistribute_history", own)
    return(get0(own, envir = asNamespace("tfdistribute"), inherits = FALSE))
  }
  exported <- name %in% getNamespaceExports("tfdistribute")
  if (exported) getExportedValue("tfdistribute", name)
}

# Positions before `...` are the same, and what is new comes after them.
has_arguments <- function(own, wanted) {
  have <- as.character(names(formals(args(own))))
  named <- setdiff(wanted, "...")
  identical(utils::head(setdiff(have, "..."), length(named)), named) &&
    ("..." %in% have || !"..." %in% wanted)
}

test_that("every function of tfestimators exists here or is in the vignette's table", {
  absent <- functions_in_table("What is not supported")
  for (name in names(tfestimators_exports)) {
    own <- own_function(name)
    expect(
      !is.null(own) || name %in% absent,
      paste0(name, "() is neither here nor in the vignette \"Coming from tfestimators\".")
    )
    if (is.function(own) && name != "tf") {
      expect(
        has_arguments(own, tfestimators_exports[[name]]),
        paste0(name, "() has other arguments than in tfestimators.")
      )
    }
  }
})

test_that("every function in the vignette's table is refused with a remedy", {
  absent <- functions_in_table("What is not supported")
  expect_gt(length(absent), 0)
  expect_identical(setdiff(absent, names(tfestimators_exports)), character())
  for (name in absent) {
    refused <- expect_error(
      getExportedValue("tfdistribute", name)(feature_columns(column_numeric("x")), 10),
      class = "tfdistribute_unsupported_error"
    )
    expect_true(nzchar(refused$remedy))
  }
})

test_that("a script of tfestimators runs as it is", {
  skip_if_no_tensorflow()
  cols <- feature_columns(column_numeric("disp", "cyl"))
  model <- linear_regressor(feature_columns = cols, model_dir = withr::local_tempdir())
  cars <- function(data, num_epochs = 1) {
    input_fn(
      data,
      features = c("disp", "cyl"),
      response = "mpg",
      batch_size = 32,
      num_epochs = num_epochs
    )
  }
  model %>% train(cars(mtcars[1:25, ], num_epochs = 4))
  metrics <- model %>% evaluate(cars(mtcars[26:32, ]))
  predicted <- model %>% predict(cars(mtcars[26:32, ]))
  expect_identical(nrow(predicted), 7L)
  loss <- mean((predicted$predictions - mtcars$mpg[26:32])^2)
  expect_equal(metrics$loss, loss, tolerance = 1e-5)
})
