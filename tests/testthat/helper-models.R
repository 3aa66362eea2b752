# Data, columns and models that many tests train.

cars_input <- function(formula = mpg ~ wt, data = mtcars, ..., batch_size = 16) {
  input_fn(formula, data, batch_size = batch_size, ...)
}

numbers <- function() feature_columns(column_numeric("wt", "hp"))

wt_regressor <- function(..., frame = parent.frame()) {
  linear_regressor(
    feature_columns(column_numeric("wt")),
    model_dir = withr::local_tempdir(.local_envir = frame),
    ...
  )
}

cars_and_words <- function() {
  cars <- mtcars[c("mpg", "wt", "hp")]
  cars$word <- rep(c("one", "two", "three", "other"), 8)
  cars$maker <- factor(rep(c("a", "b"), 16))
  cars
}
