# Share of training steps spent waiting for input, from R: the diamonds data, and 5 million rows of 20 numbers in
# memory, in Arrow files and in Parquet.
#
#   tools/env Rscript bench/input.R [--quick]
#
# train() trains a small deep model (hidden layers of 64 and 32, batch of 512) in two ways that take turns: on the
# input, and on its first batch, held in memory and repeated. Both run the same graph on batches of the same form; only
# reading, shuffling and transfer differ. The share is 1 - speed / speed with the batch held, the median over pairs of
# runs. It includes CPU time that the input takes from the step, so on two cores it is more than the wait. On a busy
# machine, compare the CPU time of the input per step (`input_us`) with that of the step instead. Steps are timed by
# the history, without the first tenth.
library(tfdistribute)
options(tfdistribute.progress = FALSE)

quick <- "--quick" %in% commandArgs(TRUE)
rows <- if (quick) 500000 else 5000000
runs <- if (quick) 3 else 7
steps <- if (quick) 800 else 3000
width <- 20
batch_size <- 512

# Any verb starts the package's Python.
invisible(utils::capture.output(tfdistribute_sitrep()))
python <- reticulate::py_run_string(
  "
from tfdistribute.inputs import Input

KINDS = tuple(Input.kinds.values())
MADE_BY = {kind: kind.input_fn for kind in KINDS}

def held(make):
    def input_fn(self, purpose, seed=None, packed=False):
        function = make(self, purpose, seed, packed)

        def repeated(input_context=None):
            return function(input_context).take(1).cache().repeat()

        return repeated

    return input_fn

def hold_the_first_batch(hold):
    for kind in KINDS:
        kind.input_fn = held(MADE_BY[kind]) if hold else MADE_BY[kind]

def write_parquet(columns, path):
    import pyarrow, pyarrow.parquet
    table = pyarrow.table({name: values.astype('float32') for name, values in columns.items()})
    pyarrow.parquet.write_table(table, path)
"
)

trained <- function(columns, input, hold) {
  python$hold_the_first_batch(hold)
  on.exit(python$hold_the_first_batch(FALSE))
  model <- dnn_regressor(hidden_units = c(64, 32), feature_columns = columns)
  on.exit(unlink(model_dir(model), recursive = TRUE), add = TRUE)
  before <- sum(proc.time()[1:2])
  losses <- train(model, input, steps = steps)$losses
  cpu_us <- 1e6 * (sum(proc.time()[1:2]) - before) / steps
  losses <- losses[losses$step > steps / 10, ]
  seconds <- max(losses$seconds) - min(losses$seconds)
  c(speed = batch_size * (max(losses$step) - min(losses$step)) / seconds, cpu_us = cpu_us)
}

measure <- function(name, columns, input) {
  # Exclude what happens once per process.
  invisible(trained(columns, input, hold = TRUE))
  speeds <- vapply(
    seq_len(runs),
    function(run) {
      read <- trained(columns, input, hold = FALSE)
      held <- trained(columns, input, hold = TRUE)
      # The time before the first step is the same on both sides.
      c(
        read = read[["speed"]],
        held = held[["speed"]],
        input_us = read[["cpu_us"]] - held[["cpu_us"]]
      )
    },
    double(3)
  )
  found <- list(
    case = name,
    rows_per_s = stats::median(speeds["read", ]),
    held_rows_per_s = stats::median(speeds["held", ]),
    waiting = stats::median(1 - speeds["read", ] / speeds["held", ]),
    input_us = stats::median(speeds["input_us", ])
  )
  found$step_us <- 1e6 * batch_size / found$held_rows_per_s
  cat(sprintf(
    '{"case": "%s", "runs": %d, "rows_per_s": %.0f, "held_rows_per_s": %.0f, "waiting": %.3f, "input_us": %.0f}\n',
    found$case,
    runs,
    found$rows_per_s,
    found$held_rows_per_s,
    found$waiting,
    found$input_us
  ))
  found
}

diamonds <- as.data.frame(ggplot2::diamonds)
diamonds$price <- diamonds$price / 1000
qualities <- c("cut", "color", "clarity")
diamonds_columns <- feature_columns(
  column_numeric("carat", "depth", "table", "x", "y", "z"),
  lapply(qualities, function(name) {
    column_indicator(column_categorical_with_vocabulary_list(
      name,
      vocabulary_list = levels(diamonds[[name]])
    ))
  })
)
endless <- list(batch_size = batch_size, epochs = NULL)
results <- list(measure(
  "diamonds in memory",
  diamonds_columns,
  do.call(input_fn, c(list(price ~ ., diamonds), endless))
))

set.seed(1)
table <- as.data.frame(replicate(width, stats::runif(rows), simplify = FALSE))
names(table) <- paste0("x", seq_len(width))
table$y <- table$x1 + table$x2
columns <- feature_columns(column_numeric(paste0("x", seq_len(width))))
results <- c(
  results,
  list(measure("table in memory", columns, do.call(input_fn, c(list(y ~ ., table), endless))))
)

folder <- tempfile("bench-input")
dir.create(folder)
arrow <- file.path(folder, "arrow")
invisible(write_arrow(table, arrow, shards = 4))
parquet <- file.path(folder, "table.parquet")
python$write_parquet(lapply(table, reticulate::np_array), parquet)
rm(table)
invisible(gc())
results <- c(
  results,
  list(
    measure("table in Arrow", columns, do.call(input_arrow, c(list(arrow, "y"), endless))),
    measure("table in Parquet", columns, do.call(input_parquet, c(list(parquet, "y"), endless)))
  )
)
unlink(folder, recursive = TRUE)

cat(sprintf(
  "\n%-24s%12s%14s%10s%10s%18s\n",
  "input",
  "rows/s",
  "batch held",
  "waiting",
  "step us",
  "input's CPU us"
))
for (found in results) {
  cat(sprintf(
    "%-24s%12s%14s%9.1f%%%10.0f%18.0f\n",
    found$case,
    format(round(found$rows_per_s), big.mark = ","),
    format(round(found$held_rows_per_s), big.mark = ","),
    100 * found$waiting,
    found$step_us,
    found$input_us
  ))
}
