# Rows of the table of differences in the vignette, by their first cell: a check, or the sentence of the test that
# proves the row.
proved <- function(row, by) rlang::set_names(list(by), row)

rows <- c(
  proved(
    "An estimator contains a Python object.",
    "estimators are plain values that can be saved"
  ),
  proved(
    "`run_config()` takes no arguments.",
    "the settings are TensorFlow's, in the defaults too"
  ),
  proved(
    "`batch_size` is the batch of each device.",
    "data in R is read once by any number of workers"
  ),
  proved(
    "Some arguments have several names, such as `num_epochs` and `every_n_iter`.",
    "arguments also have their names in tfestimators, but not both at once"
  ),
  proved(
    "`queue_capacity` and `num_threads` set up a queue.",
    "the queues of tfestimators are accepted and ignored"
  ),
  proved(
    "`input_fn()` returns a function of the estimator: `input_fn(data, ...)(model)()` gives tensors.",
    function() {
      expect_false(is.function(input_fn(mpg ~ wt, mtcars)))
    }
  ),
  proved(
    "An input function of one argument is called with the estimator.",
    function() {
      model <- linear_regressor(feature_columns(column_numeric("wt")), model_dir = "m")
      refused <- expect_error(
        train(model, function(estimator) NULL),
        class = "tfdistribute_input_error"
      )
      expect_match(refused$remedy, "tf.data.Dataset", fixed = TRUE)
    }
  ),
  proved(
    "tfdatasets makes `input_fn(dataset, features, response)`.",
    "a dataset of tfdatasets is described by its columns, and read by every process"
  ),
  proved(
    "`input_fn()` ignores unknown arguments, and `epochs`.",
    function() {
      expect_error(input_fn(mpg ~ wt, mtcars, batchsize = 3), class = "tfdistribute_argument_error")
      expect_identical(input_fn(mpg ~ wt, mtcars, epochs = 3)$epochs, 3L)
    }
  ),
  proved(
    "A missing value becomes a number: NA integers are -2147483648.",
    "missing values are refused by column and number"
  ),
  proved(
    "A factor becomes its codes, from 0, with a message.",
    "identity columns and numeric columns read the codes of a factor"
  ),
  proved(
    "The codes of a factor come from the data at hand.",
    "a factor has the codes of the training in all data, which are listed once"
  ),
  proved(
    "A value that a vocabulary does not list is ignored.",
    "columns with a place for other values take them, and empty strings are missing values"
  ),
  proved(
    "Nested lists become whole numbers of 64 bits.",
    "arrays of NumPy, and nested lists, are columns"
  ),
  proved(
    "Doubles reach a model function as float64.",
    function() {
      dtypes <- list()
      net <- function(features, labels, mode) {
        dtypes <<- list(features$wt$dtype$name, labels$dtype$name)
        p <- tf$squeeze(tf$compat$v1$layers$dense(as.matrix(features), 1L), 1L)
        list(predictions = p, loss = tf$reduce_mean((p - labels)^2), optimizer = "sgd")
      }
      train(estimator(net), mpg ~ wt + hp, data = mtcars, steps = 1)
      expect_identical(dtypes, list("float32", "float32"))
    }
  ),
  proved(
    "`features` of a model function is a matrix.",
    "features of numbers are a list, and one matrix"
  ),
  proved(
    "A column is a Python object of a class such as `NumericColumn`.",
    "feature columns of TensorFlow, which tfestimators makes, are descriptions here"
  ),
  proved(
    "`c()` makes a list of columns, strings among them.",
    "c() keeps columns whole, sets and strings among them"
  ),
  proved(
    "`eval_spec(steps = 100)` stops after 100 batches.",
    function() {
      expect_null(eval_spec(input_fn(mpg ~ wt, mtcars))$steps)
    }
  ),
  proved(
    "`predict()` asks for the six keys of canned models.",
    "tfestimators' columns come first, and no output of a model is lost"
  ),
  proved(
    "`as_iterable = TRUE` gives a Python iterator.",
    "predictions come one for each row, in the order of the input"
  ),
  proved(
    "`as.data.frame(history)` has the metrics `mean_losses` and `total_losses`.",
    "estimators, histories and variables have the shapes of tfestimators"
  ),
  proved(
    "An error in an R hook is swallowed.",
    "an R error in a hook stops training and stays the parent"
  ),
  proved(
    "An R `model_fn`, `activation_fn` or `optimizer` under a strategy aborts R.",
    "functions of R in ready-made models do what the names do, on one device and two"
  ),
  proved(
    "Optimizers are names or TensorFlow 1 objects.",
    "functions and Python objects are handed on"
  ),
  proved(
    "`tf$layers`, `tf$train$AdamOptimizer` and other names of TensorFlow 1.",
    "names of TensorFlow 1 are refused with what replaces them"
  ),
  proved(
    "A failed export leaves partial files behind.",
    "test_a_failed_export_leaves_what_was_there_and_nothing_new"
  ),
  proved(
    "Ctrl-C loses what was trained since the last checkpoint.",
    "Ctrl-C finishes the step, and the next training continues from there"
  ),
  proved(
    "Event files are moved to `logs` within `model_dir`.",
    "TensorBoard shows a model_dir on this machine only, until it is stopped"
  ),
  proved(
    "The package tfruns is required.",
    "losses and metrics are written to the active run"
  )
)

differences <- function() {
  lines <- readLines(file.path(source_root(), "vignettes", "coming-from-tfestimators.Rmd"))
  section <- lines[seq(match("## What changed", lines), match("## What is not supported", lines))]
  table <- grep("^\\| ", section, value = TRUE)[-1]
  sub("^\\| (.*?) \\| .*$", "\\1", table, perl = TRUE)
}

test_that("every difference from tfestimators in the vignette is proved by a test", {
  expect_identical(differences(), names(rows))
  tests <- list.files(
    file.path(source_root(), "tests"),
    pattern = "^test.*[.](R|py)$",
    recursive = TRUE,
    full.names = TRUE
  )
  sources <- unlist(lapply(tests, readLines, warn = FALSE))
  for (name in names(rows)) {
    row <- rows[[name]]
    if (is.function(row)) {
      row()
    } else {
      titled <- grepl(paste0("test_that(\"", row, "\""), sources, fixed = TRUE)
      expect(any(titled) || any(startsWith(sources, paste0("def ", row))), paste("No test:", row))
    }
  }
})
