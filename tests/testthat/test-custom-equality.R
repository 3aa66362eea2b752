test_that("models of R give the variables of the same models in Python to the bit", {
  skip_if_no_tensorflow()
  cases <- list(
    c("batch_norm_with_adam", "mirrored over 3"),
    c("two_optimizers", "central storage")
  )
  if (checks_all()) {
    others <- c(
      "batch_norm_with_adam",
      "dense_with_sgd",
      "keras_layers",
      "clipped_momentum",
      "all_reduce_in_model"
    )
    others <- c(others, "embedding_with_adagrad", "two_optimizers", "loss_scale")
    others <- lapply(others, c, "mirrored over 2")
    cases <- c(cases, others, list(c("keras_layers", "mirrored over 3")))
  }
  values <- in_child_r(
    function(cases, tests, python_tests) {
      source(file.path(tests, "equality-models.R"))
      in_python <- reticulate::import_from_path("support.equality_models", python_tests)
      strategies <- list(
        `mirrored over 2` = strategy_mirrored(2),
        `mirrored over 3` = strategy_mirrored(3),
        `central storage` = strategy_central_storage(2)
      )
      trained <- function(model_fn, strategy, steps_per_run) {
        config <- run_config(strategy, seed = 3, steps_per_run = steps_per_run)
        model <- estimator(model_fn, config = config)
        train(model, function() in_python$batches(), steps = 3)
        variable_value(model)
      }
      lapply(cases, function(case) {
        strategy <- strategies[[case[[2]]]]
        list(
          r = trained(equality_models[[case[[1]]]], strategy, 3),
          python = trained(in_python$MODELS[[case[[1]]]], strategy, 1)
        )
      })
    },
    list(cases, normalizePath(test_path()), file.path(source_root(), "tests", "python")),
    timeout_s = 200
  )
  for (index in seq_along(cases)) {
    label <- paste(cases[[index]], collapse = " under ")
    found <- values[[index]]
    expect_identical(found$r$global_step, 3, label = label)
    expect_gt(length(found$r), 2)
    expect_identical(found$r, found$python, label = label)
  }
})
