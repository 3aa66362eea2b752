test_that("models of R give the variables of the same models in Python to the bit", {
  skip_if_no_tensorflow()
  models <- new.env()
  sys.source(test_path("equality-models.R"), models)
  models <- names(models$equality_models)
  cases <- data.frame(
    model = c(models, "dense_with_sgd", "keras_layers", "two_optimizers"),
    strategy = c(
      rep("mirrored over 2", length(models)),
      rep("mirrored over 3", 2),
      "central storage"
    )
  )
  values <- in_child_r(
    '
    source(file.path(tests, "equality-models.R"))
    in_python <- reticulate::import_from_path("support.equality_models", python_tests)
    strategies <- list(
      `mirrored over 2` = strategy_mirrored(2),
      `mirrored over 3` = strategy_mirrored(3),
      `central storage` = strategy_central_storage(2)
    )
    trained <- function(model_fn, strategy, steps_per_run) {
      config <- run_config(strategy, tf_random_seed = 3, steps_per_run = steps_per_run)
      model <- estimator(model_fn, config = config)
      train(model, function() in_python$batches(), steps = 3)
      variable_value(model)
    }
    result <- Map(
      function(name, strategy) {
        list(
          r = trained(equality_models[[name]], strategies[[strategy]], 3),
          python = trained(in_python$MODELS[[name]], strategies[[strategy]], 1)
        )
      },
      cases$model, cases$strategy
    )
    ',
    with = list(
      cases = cases,
      tests = normalizePath(test_path()),
      python_tests = file.path(source_root(), "tests", "python")
    ),
    timeout_s = 200
  )
  for (case in seq_len(nrow(cases))) {
    label <- paste(cases$model[[case]], "under", cases$strategy[[case]])
    expect_identical(values[[case]]$r$global_step, 3, label = label)
    expect_gt(length(values[[case]]$r), 2)
    expect_identical(values[[case]]$r, values[[case]]$python, label = label)
  }
})
