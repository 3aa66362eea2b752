# Strings that are not text are refused wherever they enter, before Python would read others in their place.

marked_as_bytes <- function() {
  text <- "bytes\xff"
  Encoding(text) <- "bytes"
  text
}

# Latin-1 that nobody declared, as read.csv() returns it without `fileEncoding`.
undeclared <- "M\xfcnchen"

test_that("columns of text that is not UTF-8 are refused with their names and rows", {
  local_no_python()
  data <- data.frame(city = c("Bonn", undeclared), y = 1:2)
  labels <- data.frame(city = 1:2, y = 1:2)
  labels$city <- structure(2:1, levels = c(marked_as_bytes(), "Bonn"), class = "factor")
  unused <- labels[1, ]
  matrix <- list(cities = matrix(c("Bonn", "Ulm", "Kiel", undeclared), 2), y = 1:2)
  named <- stats::setNames(data.frame(1:2, 1:2), c("y", undeclared))
  expect_snapshot(error = TRUE, {
    input_fn(y ~ city, data)
    input_fn(y ~ city, labels)
    input_fn(y ~ city, unused)
    input_fn(matrix, features = "cities", response = "y")
    input_fn(city ~ y, data)
    input_fn(named, features = "y")
    feature_columns(y ~ city, data)
  })
})

test_that("the remedies make text of them", {
  data <- data.frame(city = c("Bonn", undeclared), y = 1:2)
  data$label <- structure(1:2, levels = c("a", marked_as_bytes()), class = "factor")
  data$`city` <- iconv(data$`city`, "latin1", "UTF-8")
  levels(data$`label`) <- iconv(levels(data$`label`), "latin1", "UTF-8")
  input <- input_fn(y ~ city + label, data)
  expect_identical(levels(input$data$label), c("a", "bytes\u00ff"))
  expect_identical(input$data$city, c("Bonn", "M\u00fcnchen"))
})

test_that("text in declared Latin-1 is read as it is meant", {
  declared <- undeclared
  Encoding(declared) <- "latin1"
  expect_identical(encode_strings(declared)$labels[[1]], "M\u00fcnchen")
  expect_identical(as_utf8(declared, "x"), "M\u00fcnchen")
})

test_that("arguments of text that is not UTF-8 are refused by name", {
  local_no_python()
  column <- column_numeric("x")
  for (text in c(undeclared, marked_as_bytes())) {
    calls <- list(
      vocabulary_list = quote(column_categorical_with_vocabulary_list("x", c("a", text))),
      vocabulary_file = quote(column_categorical_with_vocabulary_file("x", vocabulary_file = text)),
      label_vocabulary = quote(linear_classifier(column, label_vocabulary = c("a", text))),
      model_dir = quote(linear_regressor(column, model_dir = text)),
      paths = quote(input_csv(text, response = "y")),
      na = quote(input_csv("a.csv", response = "y", na = text)),
      impute = quote(input_csv("a.csv", response = "y", impute = list(x = text))),
      impute = quote(input_fn(y ~ x, data.frame(x = c(NA, "a"), y = 1:2), impute = list(x = text))),
      "..." = quote(column_numeric(text))
    )
    for (argument in names(calls)) {
      error <- expect_error(eval(calls[[argument]]), class = "tfdistribute_argument_error")
      expect_identical(error$argument, argument)
      expect_match(error$problem, "is not valid UTF-8|is marked as bytes")
    }
  }
})

test_that("whatever is sent to Python is text", {
  expect_error(as_wire(list(a = undeclared)), class = "tfdistribute_argument_error")
  expect_error(
    as_wire(stats::setNames(list(1), marked_as_bytes())),
    class = "tfdistribute_argument_error"
  )
  level <- structure(1L, levels = undeclared, class = "factor")
  named <- stats::setNames(list(1), undeclared)
  for (value in list(marked_as_bytes(), list(1, list(level)), named)) {
    expect_error(value_for_python(value), class = "tfdistribute_argument_error")
  }
})

test_that("a function of R that returns or raises such text to Python does not end R", {
  skip_if_no_tensorflow()
  answers <- in_child_r(function() {
    text <- "bytes\xff"
    Encoding(text) <- "bytes"
    guard <- utils::getFromNamespace("guard_callback", "tfdistribute")
    call <- reticulate::py_eval("lambda function: str(function())")
    raises <- function() stop("M\xfcnchen", call. = FALSE)
    c(call(guard(function() text)$call), call(guard(raises)$call))
  })
  expect_match(answers[[1]], "is marked as bytes", fixed = TRUE)
  expect_match(answers[[2]], "'error': 'M<fc>nchen'", fixed = TRUE)
})

test_that("undeclared text is refused where R has no locale, too", {
  child <- local_child_r(
    function() {
      # A string in the code of this function would come with its encoding.
      text <- rawToChar(as.raw(c(0x4d, 0xc3, 0xbc)))
      tryCatch(
        input_fn(y ~ x, data.frame(x = text, y = 1)),
        tfdistribute_input_error = conditionMessage
      )
    },
    environment = c(LC_ALL = "C")
  )
  expect_match(result_of(child, 60), "row 1 that is not valid UTF-8: \"M<c3><bc>\"", fixed = TRUE)
})
