# R checks types and choices of fields, and Python checks everything else when a verb reads the description.

# The value of an argument, the constructor and its other arguments, for each field that R reads as Python does.
fields_of_constructors <- function() {
  patterns <- c(
    strategy = "strategy_%s",
    cluster = "%s_cluster",
    tracker = "track_%s",
    hook = "hook_%s"
  )
  found <- lapply(names(patterns), function(family) {
    lapply(names(schema[[family]]), function(kind) {
      list(name = sprintf(patterns[[family]], kind), fields = schema[[family]][[kind]])
    })
  })
  found <- c(
    unlist(found, recursive = FALSE),
    list(list(name = "run_config", fields = schema$run_config))
  )
  Filter(function(each) each$name %in% getNamespaceExports("tfdistribute"), found)
}

test_that("every constructor rejects other types and choices, and names the argument", {
  local_no_python()
  valid <- required_values()
  for (each in fields_of_constructors()) {
    own <- intersect(names(each$fields), names(formals(each$name)))
    checked <- Filter(function(name) !"any" %in% each$fields[[name]]$types, own)
    for (argument in checked) {
      wrong <- list(
        globalenv(),
        1i,
        if ("choice" %in% each$fields[[argument]]$types) "no such choice"
      )
      for (value in Filter(Negate(is.null), wrong)) {
        arguments <- valid_call(each$name, valid)
        arguments[[argument]] <- value
        error <- tryCatch(do.call(each$name, arguments), tfdistribute_error = identity)
        label <- paste0(each$name, "(", argument, ")")
        expect_s3_class(error, "tfdistribute_error")
        expect_identical(error$argument, argument, label = label)
      }
    }
  }
})

test_that("Python's errors name the argument and the remedy, before TensorFlow starts", {
  skip_if_no_tensorflow()
  found <- in_child_r(function() {
    columns <- column_numeric("wt")
    trains <- function(
      ...,
      model = linear_regressor(columns, model_dir = tempfile()),
      hooks = NULL
    ) {
      config <- if (...length() > 0) run_config(...)
      model["config"] <- list(config)
      train(model, mpg ~ wt, data = mtcars, steps = 1, hooks = hooks)
    }
    dnn <- function(...) dnn_regressor(8, ..., model_dir = tempfile())
    calls <- list(
      hosts = function() trains(cluster = ssh_cluster(c("a", "-oProxyCommand=touch x"))),
      host_addresses = function() {
        trains(cluster = ssh_cluster("a", host_addresses = c(b = "1.1.1.1")))
      },
      image = function() trains(cluster = kubernetes_cluster("--privileged", 2)),
      nodes = function() trains(cluster = slurm_cluster(nodes = 4, workers = 2)),
      workers = function() trains(cluster = ssh_cluster("a", workers = c(1, 2), ps = 1)),
      chief = function() trains(cluster = address_cluster(chief = "$(x)", worker = "b:1")),
      save_checkpoints_steps = function() {
        trains(save_checkpoints_steps = 10, save_checkpoints_secs = 60)
      },
      devices = function() trains(strategy_mirrored(c("CPU:0", "TPU:0"))),
      cross_device = function() trains(strategy_mirrored("CPU:0", cross_device = "nccl")),
      dropout = function() trains(model = dnn(columns, dropout = 1)),
      scale = function() trains(model = dnn(column_numeric("wt", scale = 0))),
      num_steps = function() trains(hooks = hook_stop_at_step(5, 10)),
      monitor = function() trains(hooks = hook_early_stopping("val_loss"))
    )
    errors <- lapply(calls, function(call) {
      error <- tryCatch(call(), error = identity)
      list(class(error)[[1]], error$argument, error$remedy, deparse(error$call[[1]]))
    })
    modules <- reticulate::py_eval("list(__import__('sys').modules)")
    list(errors = errors, starts = "tensorflow" %in% modules)
  })
  expect_false(found$starts)
  expect_identical(unlist(lapply(found$errors, `[[`, 2)), rlang::set_names(names(found$errors)))
  kinds <- vapply(found$errors, `[[`, "", 1)
  expect_identical(
    unname(kinds),
    paste0(
      "tfdistribute_",
      rep(
        c("cluster", "argument", "cluster", "run_config", "strategy", "argument"),
        c(3, 2, 1, 1, 2, 4)
      ),
      "_error"
    )
  )
  expect_identical(unique(vapply(found$errors, `[[`, "", 4)), "train")
  with_remedy <- vapply(found$errors, function(error) !is.null(error[[3]]), NA)
  expect_identical(names(found$errors)[!with_remedy], c("dropout", "scale"))
})
