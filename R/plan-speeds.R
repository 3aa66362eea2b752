# Speeds of a training by its number of workers, as a plan shows them.

# The speeds, predicted from the costs of steps of one and of two workers, and the network between the hosts.
measure_speeds <- function(object, train_spec, cluster, batch_size) {
  is_started <- isTRUE(cluster$kind %in% c("local", "ssh", "ray", "spark"))
  if (is.null(batch_size) || !is_started) {
    abort_tfdistribute(
      "unsupported",
      problem = c(
        "`measure` is TRUE, but ",
        if (is_started) {
          "the batch size is not known."
        } else {
          "this package does not start the workers."
        }
      ),
      remedy = if (is_started) {
        "Give a `train_spec` with an input_fn() that has a `batch_size`."
      } else {
        "Use a local_cluster() or an ssh_cluster()."
      }
    )
  }
  config <- object$config %||% run_config()
  is_in_step <- identical(config$strategy$kind, "multi_worker")
  # A single worker is measured under the same strategy.
  strategy <- if (is_in_step) config$strategy else strategy_multi_worker()
  config[c("track", "model_dir")] <- list(NULL)
  input <- if (inherits(train_spec, "tfdistribute_train_spec")) train_spec$input else train_spec
  # All hosts share the directory of the model.
  folder <- paste0(absolute_path(object$model_dir), "-plan-", Sys.getpid())
  parents <- missing_directories(dirname(folder))
  on.exit({
    unlink(folder, recursive = TRUE)
    suppressWarnings(file.remove(parents))
  })
  rlang::local_options(tfdistribute.progress = FALSE)
  train_once <- function(name, workers, batch_size, steps = NULL) {
    cluster[c("workers", "ps", "evaluator")] <- list(workers, 0L, FALSE)
    object["config"] <- list(config)
    object["model_dir"] <- file.path(folder, name)
    train(
      object,
      repeat_batches(as_input(input), batch_size),
      steps,
      # Workers must stop at the same step.
      hooks = new_description("hook", "step_cost", seconds = if (workers == 1) 3),
      view = FALSE,
      cluster = cluster,
      strategy = strategy
    )
  }
  sizes <- c(batch_size, max(1L, batch_size %/% 8L), 2L * max(1L, batch_size %/% 2L))
  alone <- train_once("whole", 1L, sizes[[1]])
  train_once("part", 1L, sizes[[2]])
  steps <- round(3 * alone$examples_per_second / batch_size)
  train_once("pair", 2L, sizes[[3]], min(max(steps, 20L), 1000L))
  folders <- file.path(folder, c("whole", "part", "pair"))
  answer <- call_backend(
    "plan_speeds",
    cluster = cluster,
    batch_sizes = sizes,
    model_dirs = folders,
    environment = if (is_on_hosts(cluster)) task_environment(cluster) else list()
  )
  speeds <- table_of(
    answer$speeds,
    workers = NA_integer_,
    examples_per_second = NA_real_,
    step_s = NA_real_,
    computation_s = NA_real_,
    limit = ""
  )
  structure(speeds, measured = answer[c("best", "step", "cores", "network")])
}

# The path and those of its parents that do not exist, the innermost first.
missing_directories <- function(path) {
  if (dir.exists(path) || dirname(path) == path) {
    return(character())
  }
  c(path, missing_directories(dirname(path)))
}

# An input that repeats its rows without end, in batches of another size.
repeat_batches <- function(input, batch_size) {
  if (inherits(input, "tfdistribute_transformed_input")) {
    input["source"] <- list(repeat_batches(input$source, batch_size))
  } else {
    input["batch_size"] <- batch_size
    input["epochs"] <- list(NULL)
  }
  input
}

format_speeds <- function(speeds) {
  measured <- attr(speeds, "measured")
  network <- measured$network
  shown <- data.frame(
    workers = format_count(speeds$workers),
    examples = format_count(speeds$examples_per_second),
    times = format(round(speeds$examples_per_second / speeds$examples_per_second[[1]], 2)),
    step = paste(format_number(1000 * speeds$step_s), "ms"),
    limit = speeds$limit
  )
  names(shown)[2:3] <- c("examples/s", "of one")
  beyond <- speeds[speeds$workers == 2 * measured$best, ]
  c(
    interpolate(c(
      "Speed with a batch of {format_count(measured$step$examples)}, predicted from a step of one worker ",
      "({format_number(1000 * measured$step$step_s)} ms, {several(measured$cores, 'core')}, ",
      "{format_number(measured$step$gradient_bytes / 1e6)} MB of gradients)"
    )),
    if (!is.null(network)) {
      interpolate(c(
        "and the network ({format_number(1000 * network$round_trip_s)} ms, ",
        "{format_number(8e-9 * network$bytes_per_s)} Gbit/s)"
      ))
    },
    paste0("  ", utils::capture.output(print(shown, row.names = FALSE))),
    if (nrow(beyond) > 0) {
      interpolate(c(
        "i More than {measured$best} worker{?s} do not pay: {beyond$workers} take ",
        "{format_number(1000 * beyond$step_s)} ms for a step, limited by {beyond$limit}."
      ))
    }
  )
}
