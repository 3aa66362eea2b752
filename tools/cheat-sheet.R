# Write man/figures/cheat-sheet.svg, one A4 page: Rscript tools/cheat-sheet.R

box <- function(title, rows) list(title = title, rows = rows)

# Each box has a title and rows of code and its meaning.
boxes <- list(
  list(
    box(
      "1  Describe the data",
      c(
        "input_fn(y ~ x, data, batch_size = 256)" = "data frames, matrices and lists",
        "input_csv()  input_parquet()" = "files larger than memory",
        "input_arrow()  input_tfrecord()" = "files of write_arrow(), write_tfrecord()",
        "input_generator()  input_dataset()" = "functions in R, and tf.data",
        "input_fn(transform = , weights = , impute = )" = "changes to the examples",
        "check_sharding(input, workers = 2)" = "which rows each worker reads"
      )
    ),
    box(
      "2  Describe the features",
      c(
        "feature_columns(y ~ ., data, standardize = TRUE)" = "from the types of the columns",
        "column_numeric()  column_bucketized()" = "numbers",
        "column_categorical_with_vocabulary_list()" = "labels, also _hash_bucket(), _identity()",
        "column_indicator()  column_embedding()" = "labels for deep models",
        "column_crossed()" = "combinations of labels"
      )
    ),
    box(
      "3  Describe the model",
      c(
        "linear_regressor()  linear_classifier()" = "wide",
        "dnn_regressor()  dnn_classifier()" = "deep",
        "dnn_linear_combined_regressor()" = "wide and deep",
        "estimator(model_fn)" = "a model function in R",
        "keras_model_to_estimator(model)" = "Keras 2 and Keras 3",
        "training_loop()" = "your own training steps"
      )
    )
  ),
  list(
    box(
      "4  Choose where it trains",
      c(
        "run_config(strategy, cluster = )" = "for the model's `config`",
        "strategy_mirrored()  strategy_central_storage()" = "several devices of this machine",
        "strategy_model_parallel()  pipeline()" = "one model on several devices",
        "strategy_multi_worker()" = "a copy in each process, synchronous",
        "strategy_parameter_server()" = "asynchronous processes",
        "local_cluster(workers = 2)" = "processes on this machine",
        "ssh_cluster(hosts)  slurm_cluster(nodes)" = "processes on other hosts",
        "ray_cluster()  spark_cluster()  mirai_cluster()" = "processes of Ray, Spark and mirai",
        "address_cluster()  cluster_from_environment()" = "processes that you start",
        "plan_training(model, input)  check_cluster()" = "check before it starts"
      )
    ),
    box(
      "5  Perform",
      c(
        "train(model, y ~ x, data = data, epochs = 5)" = "continues from the last checkpoint",
        "evaluate(model, test)" = "metrics",
        "predict(model, newdata = new)" = "predictions",
        "train_and_evaluate(model, train_spec(), eval_spec())" = "evaluates checkpoints during training",
        "hook_early_stopping(patience_steps = 200)" = "hooks = , in each verb",
        "check_distribution(model, input)" = "the same weights as one process?"
      )
    ),
    box(
      "Everywhere",
      c(
        "batch_size" = "the global batch, over all devices and workers",
        "model_dir" = "checkpoints, losses and logs, also gs:// and s3://",
        "Ctrl-C, Esc" = "finishes the step and writes a checkpoint"
      )
    )
  ),
  list(
    box(
      "6  Watch",
      c(
        "train(..., view = TRUE)  view_training(history)" = "losses and metrics in the Viewer",
        "train(..., wait = FALSE)" = "returns a job immediately",
        "launch(model, train_spec(), wait = FALSE)" = "the same for a cluster",
        "job_state()  job_history()  job_logs()" = "the progress of a job",
        "job_wait(job)  job_stop(job)" = "wait for it, or end it",
        "tensorboard(model)" = "TensorBoard in the Viewer",
        "training_history(model)  plot(history)" = "losses of all trainings"
      )
    ),
    box(
      "7  Inspect, save, serve",
      c(
        "summary(model)  coef(model)" = "size, metrics, weights of linear models",
        "variable_names()  variable_value()" = "any weight",
        "save_estimator(model, \"m.tfd\")  load_estimator()" = "a model in one file",
        "export_savedmodel()  export_keras_model()" = "for use without this package",
        "tidy()  glance()  augment()  autoplot()" = "broom and ggplot2",
        "set_engine(\"tfdistribute\")" = "parsnip and tune"
      )
    ),
    box(
      "When something is wrong",
      c(
        "tfdistribute_sitrep()" = "installed versions, and fixes for problems",
        "install_tfdistribute()" = "a Python environment with TensorFlow",
        "conditionMessage(error)" = "line 1: problem, line 2: remedy",
        "tryCatch(tfdistribute_input_error = )" = "every error has a class"
      )
    )
  )
)

width <- 1122
height <- 794
margin <- 26
gap <- 16
row_height <- 30.5
title_height <- 24

escaped <- function(text) {
  text <- gsub("&", "&amp;", text, fixed = TRUE)
  gsub(">", "&gt;", gsub("<", "&lt;", text, fixed = TRUE), fixed = TRUE)
}

text_at <- function(x, y, class, text) {
  sprintf(
    '<text x="%g" y="%g" class="%s" xml:space="preserve">%s</text>',
    x,
    y,
    class,
    escaped(text)
  )
}

box_height <- function(box) title_height + row_height * length(box$rows) + 10

draw_box <- function(box, x, y, wide) {
  rows <- seq_along(box$rows)
  at <- y + title_height + row_height * (rows - 1) + 14
  c(
    sprintf(
      '<rect x="%g" y="%g" width="%g" height="%g" class="box"/>',
      x,
      y,
      wide,
      box_height(box)
    ),
    sprintf('<rect x="%g" y="%g" width="%g" height="%g" class="head"/>', x, y, wide, title_height),
    text_at(x + 10, y + 16.5, "title", box$title),
    text_at(x + 10, at, "code", names(box$rows)),
    text_at(x + 10, at + 12, "what", unname(box$rows))
  )
}

draw_column <- function(column, x, wide, top) {
  heights <- vapply(column, box_height, 0)
  # The boxes of a column fill its height.
  space <- (height - margin - 16 - top - sum(heights)) / max(1, length(column) - 1)
  tops <- top + cumsum(c(0, utils::head(heights + space, -1)))
  unlist(Map(draw_box, column, x, tops, wide))
}

wide <- (width - 2 * margin - gap * (length(boxes) - 1)) / length(boxes)
lefts <- margin + (seq_along(boxes) - 1) * (wide + gap)
style <- c(
  "<style>",
  "text { font-family: 'DejaVu Sans', Verdana, sans-serif; fill: #1d1d1f }",
  ".code { font-family: 'DejaVu Sans Mono', Consolas, monospace; font-size: 10.3px }",
  ".what { font-size: 9.6px; fill: #5c5c62 } .title { font-size: 12px; font-weight: bold; fill: #fff }",
  ".name { font-size: 22px; font-weight: bold } .lead { font-size: 11px; fill: #5c5c62 }",
  ".box { fill: #f6f8fa; stroke: #d0d7de } .head { fill: #0072b2 } .paper { fill: #fff }",
  "</style>"
)
lead <- "Describe, then perform: everything that you build is a plain R value, and a verb trains it where you say."
svg <- c(
  sprintf(
    '<svg xmlns="http://www.w3.org/2000/svg" width="297mm" height="210mm" viewBox="0 0 %d %d">',
    width,
    height
  ),
  "<title>tfdistribute: cheat sheet</title>",
  style,
  sprintf('<rect class="paper" width="%d" height="%d"/>', width, height),
  text_at(margin, 40, "name", "tfdistribute"),
  text_at(margin + 170, 38, "lead", lead),
  unlist(Map(draw_column, boxes, lefts, wide, 54)),
  text_at(
    margin,
    height - 12,
    "what",
    "Made by tools/cheat-sheet.R. Every function has a help page: ?train"
  ),
  "</svg>"
)
dir.create("man/figures", showWarnings = FALSE)
writeLines(svg, "man/figures/cheat-sheet.svg")
