# Memory of training on data in R: 2 million rows of 20 doubles and a response (320 MB in R).
#
# Prints the peak over the memory before train(), as a multiple of one float32 copy of the data (1.0 is the copy and
# nothing else), and the size of model_dir.
library(tfdistribute)
options(tfdistribute.progress = FALSE)

rows <- 2e6
columns <- 20

megabytes <- function(field) {
  line <- grep(paste0("^", field, ":"), readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}

forget_peak <- function() writeLines("5", "/proc/self/clear_refs")

make_data <- function(rows) {
  data <- lapply(seq_len(columns), function(column) as.double(seq_len(rows) %% (column + 10)))
  names(data) <- paste0("x", seq_len(columns))
  data$y <- data$x1 - data$x2
  as.data.frame(data)
}

model <- linear_regressor(feature_columns(column_numeric(paste0("x", seq_len(columns)))))
steps <- function(data) train(model, input_fn(y ~ ., data, batch_size = 512), steps = 200)

# Let TensorFlow allocate its own memory before the measurement.
invisible(steps(make_data(20000)))
data <- make_data(rows)
invisible(gc())
before <- megabytes("VmRSS")
forget_peak()
history <- steps(data)
extra <- megabytes("VmHWM") - before
one_copy <- rows * (columns + 1) * 4 / 2^20
files <- list.files(model_dir(model), recursive = TRUE, full.names = TRUE)
result <- list(
  case = "memory",
  rows = rows,
  columns = columns,
  float32_copy_mb = round(one_copy),
  peak_beyond_r_mb = round(extra),
  ratio = round(extra / one_copy, 2),
  model_dir_mb = round(sum(file.size(files)) / 2^20, 2)
)
cat(
  "{",
  paste0(
    '"',
    names(result),
    '": ',
    ifelse(vapply(result, is.character, NA), paste0('"', result, '"'), result),
    collapse = ", "
  ),
  "}\n",
  sep = ""
)
cat(sprintf(
  "memory: %.2f float32 copies beyond R's (%d MB of %d MB), model_dir %.2f MB\n",
  result$ratio,
  as.integer(result$peak_beyond_r_mb),
  as.integer(result$float32_copy_mb),
  result$model_dir_mb
))
if (result$ratio > 1.6 || result$model_dir_mb > 50) {
  quit(status = 1)
}
