# Answers of an exported model to the rows of a CSV file, in a process that knows nothing of this package.
answers_in_python <- function(path, data, messages) {
  file <- withr::local_tempfile(fileext = ".csv")
  script <- withr::local_tempfile(fileext = ".py")
  # Not standard output, where libraries may print.
  answers <- withr::local_tempfile(fileext = ".csv")
  utils::write.csv(data, file, row.names = FALSE)
  writeLines(
    '
import csv, sys
import tensorflow as tf

path, file, messages, answers = sys.argv[1:]
rows = list(csv.DictReader(open(file)))
predict = tf.saved_model.load(path).signatures["predict"]
if messages == "TRUE":
    examples = []
    for row in rows:
        example = tf.train.Example()
        example.features.feature["wt"].float_list.value.append(float(row["wt"]))
        example.features.feature["cyl"].int64_list.value.append(int(row["cyl"]))
        example.features.feature["make"].bytes_list.value.append(row["make"].encode())
        examples.append(example.SerializeToString())
    answer = predict(examples=tf.constant(examples))
else:
    answer = predict(
        wt=tf.constant([float(row["wt"]) for row in rows]),
        cyl=tf.constant([int(row["cyl"]) for row in rows]),
        make=tf.constant([row["make"] for row in rows]),
    )
csv.writer(open(answers, "w")).writerows(answer["probabilities"].numpy().tolist())
',
    script
  )
  python <- Sys.getenv("RETICULATE_PYTHON", Sys.which("python3"))
  processx::run(python, c(script, path, file, messages, answers), timeout = 120)
  unname(as.matrix(utils::read.csv(answers, header = FALSE)))
}

test_that("an exported model answers pure Python with predict()'s numbers", {
  skip_if_no_tensorflow()
  data <- data.frame(
    wt = mtcars$wt,
    cyl = as.integer(mtcars$cyl),
    make = sub(" .*$", "", rownames(mtcars)),
    gear = factor(mtcars$gear)
  )
  make <- column_categorical_with_vocabulary_list("make", vocabulary_list = unique(data$make))
  model <- dnn_linear_combined_classifier(
    linear_feature_columns = feature_columns(make, column_crossed(c("make", "cyl"), 30)),
    dnn_feature_columns = feature_columns(column_numeric("wt"), column_indicator(make)),
    dnn_hidden_units = 4,
    n_classes = 3,
    model_dir = withr::local_tempdir()
  )
  train(model, input_fn(gear ~ ., data, batch_size = 16, epochs = 3))
  request <- input_fn(~ wt + cyl + make, data)
  expected <- unname(do.call(rbind, predict(model, request)$probabilities))
  base <- withr::local_tempdir()
  path <- export_savedmodel(model, file.path(base, "messages"))
  expect_equal(answers_in_python(path, data, TRUE), expected, tolerance = 1e-6)
  path <- export_savedmodel(model, file.path(base, "tensors"), versioned = TRUE, input = request)
  expect_identical(dirname(path), file.path(base, "tensors"))
  expect_equal(answers_in_python(path, data, FALSE), expected, tolerance = 1e-6)
})

test_that("an R function says what a request holds, and its error arrives", {
  skip_if_no_tensorflow()
  columns <- feature_columns(column_numeric("wt"))
  model <- linear_regressor(columns, model_dir = withr::local_tempdir())
  train(model, input_fn(mpg ~ wt, mtcars))
  receiver <- function() {
    pounds <- tf$compat$v1$placeholder(tf$float32, shape(NULL))
    tf$estimator$export$ServingInputReceiver(list(wt = pounds / 1000), list(pounds = pounds))
  }
  if (utils::packageVersion("reticulate") < "1.32") {
    body(receiver)[[3]][[2]][[2]] <- quote(tf$divide(pounds, 1000))
  }
  path <- export_savedmodel(model, withr::local_tempfile(), receiver)
  answer <- tf$saved_model$load(path)$signatures$get("predict")
  pounds <- tf$constant(as.array(1000 * mtcars$wt), tf$float32)
  expect_equal(
    as.vector(answer(pounds = pounds)$predictions$numpy()),
    predict(model, input_fn(~wt, mtcars))$predictions,
    tolerance = 1e-6
  )
  target <- withr::local_tempfile()
  failed <- expect_error(
    export_savedmodel(model, target, function() rlang::abort("No such thing.")),
    class = "tfdistribute_callback_error"
  )
  expect_match(conditionMessage(failed$parent), "No such thing")
  expect_false(file.exists(target))
})

test_that("arguments of export_savedmodel() are checked before Python is asked", {
  model <- linear_regressor(feature_columns(column_numeric("wt")))
  expect_snapshot(error = TRUE, {
    export_savedmodel(model, 3)
    export_savedmodel(model, "x", assets_extra = "a.txt")
    export_savedmodel(model, "x", input = mtcars)
    export_savedmodel(model, "x", function() NULL, input = input_fn(mpg ~ wt, mtcars))
    export_savedmodel(model, "x", overwrite = NA)
  })
})
