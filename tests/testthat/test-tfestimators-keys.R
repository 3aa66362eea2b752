test_that("keys are TensorFlow's own", {
  skip_if_no_tensorflow()
  metric <- reticulate::import(
    "tensorflow_estimator.python.estimator.canned.metric_keys"
  )$MetricKeys
  prediction <- reticulate::import(
    "tensorflow_estimator.python.estimator.canned.prediction_keys"
  )$PredictionKeys
  mode <- reticulate::import("tensorflow_estimator")$estimator$ModeKeys
  same <- function(keys, python) {
    for (name in names(keys)) {
      expect_identical(keys[[name]], python[[name]])
    }
  }
  same(unclass(metric_keys()), metric)
  same(unclass(prediction_keys()), prediction)
  same(unclass(mode_keys()), mode)
  same(unclass(graph_keys()), tf$compat$v1$GraphKeys)
  task <- reticulate::import("tensorflow_estimator.python.estimator.run_config")$TaskType
  same(unclass(task_type()), task)
})

test_that("keys print as a table", {
  expect_snapshot(mode_keys())
})
