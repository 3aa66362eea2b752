#' Distributed training of TensorFlow models
#'
#' Describe a training with plain R values: a model ([dnn_regressor()], [keras_model_to_estimator()], [estimator()]),
#' its feature columns ([feature_columns()]), an input ([input_fn()]), a strategy ([strategy_mirrored()]) and a run
#' configuration ([run_config()]). Then call a verb: [train()], [evaluate()], `predict()`, [train_and_evaluate()] or
#' [export_savedmodel()].
#'
#' Python starts when a verb needs it. [install_tfdistribute()] creates the Python environment, and
#' [tfdistribute_sitrep()] reports missing packages.
#'
#' @section Versions of TensorFlow:
#' Internally, models train as Estimators, which TensorFlow removed in version 2.16. For a newer version, tfdistribute
#' restores the parts that the Python package tensorflow-estimator needs. If you install a newer TensorFlow, the
#' following remain:
#' * Scripts do not change, and losses are the same to six digits.
#' * Training continues from the checkpoints in `model_dir`, even if TensorFlow 2.15 wrote them.
#' * Models from [export_savedmodel()] and [export_keras_model()] are served and loaded without this package and without
#'   Estimators.
#'
#' [tfdistribute_sitrep()] reports incompatible versions, and [install_tfdistribute()] lists the supported versions.
#'
#' @section Options:
#' * `tfdistribute.tensorflow`: the version of TensorFlow that reticulate provides. See [install_tfdistribute()].
#' * `tfdistribute.passes`: passes over the training step to omit, such as `"-loop"`. See the next section.
#' * `tfdistribute.progress`: FALSE hides the progress display.
#'
#' @section Reporting a wrong number:
#' tfdistribute changes how TensorFlow computes a training step in several passes. Only `compile` changes the weights,
#' in the last digits. Before you report a bug, train twice with the same `seed`, as usual and with
#' `options(tfdistribute.passes = "-all")`. If the numbers differ in more than the last digits, omit one pass at a time
#' to find the wrong pass, and name it in your report:
#'
#' ```r
#' options(tfdistribute.passes = "-loop")   # or -category_codes, -shared_random, -all_reduce, ...
#' ```
#'
#' * `category_codes`: rows in memory are hashed, crossed and looked up once. Without it, each step repeats this.
#' * `resident_rows`: steps gather rows in memory. Without it, a tf.data pipeline provides them.
#' * `accumulate`: `micro_batches` are computed one after another. Without it, the batch is computed as a whole.
#' * `place_gradients`: gradients are computed on the devices of their operations. Without it, TensorFlow chooses.
#' * `all_reduce`: workers sum gradients in shared memory, or send them compressed. Without it, TensorFlow sums them.
#' * `shared_random`: random numbers continue from step to step in a loop. Without it, models with dropout run one step
#'   per call.
#' * `loop`: many steps run in one call of TensorFlow (`steps_per_run`).
#' * `compile`: XLA compiles the loop (`compile`). This pass changes the last digits.
#'
#' Outside R, the environment variable `TFDISTRIBUTE_PASSES` has the same form, such as `-loop,-resident_rows`. All
#' tasks of a cluster must omit the same passes. The tasks of a job get the options of the session.
#'
#' @keywords internal
#' @importFrom rlang %||% .data
"_PACKAGE"

#' Functions with the same names in other packages
#'
#' R finds a function in the package that was attached last. If names clash, specify the package with `::` or with the
#' package conflicted:
#'
#' ```r
#' caret::train(mpg ~ wt, data = mtcars)              # one call
#' conflicted::conflicts_prefer(tfdistribute::train)  # every call from here on
#' ```
#'
#' These functions of this package also exist in other packages:
#'
#' | Name | Also in | What happens |
#' |---|---|---|
#' | `train()` | caret | use `::` |
#' | `train()`, `evaluate()` | tensorflow, generics, keras, keras3 | either order works |
#' | `train_and_evaluate()` | tensorflow | either order works |
#' | `export_savedmodel()` | tensorflow, keras, keras3 | either order works |
#' | `shape()`, `tf`, `tensorboard()` | tensorflow, tfdatasets, keras, keras3 | use `::` |
#' | `tf_config()`, `install_tensorflow()` | tensorflow, tfdatasets | use `::` |
#' | `array_reshape()` | reticulate, tensorflow, keras, keras3 | use `::` |
#' | `evaluate()` | evaluate | use `::` |
#' | `flags()`, `run_dir()` | tfruns, tensorflow, keras, keras3 | either order works |
#' | `flag_boolean()`, `flag_integer()` | tfruns, tensorflow, keras, keras3 | either order works |
#' | `flag_numeric()`, `flag_string()` | tfruns, tensorflow, keras, keras3 | either order works |
#' | `starts_with()` and other helpers, `%>%`, `glimpse()` | tidyselect, dplyr, magrittr | the same functions |
#' | `use_python()`, `use_virtualenv()`, `use_condaenv()` | reticulate, tensorflow, keras3 | the same functions |
#' | `matches()` | testthat | use `::` |
#' | `importance()`, `calibration()` | randomForest, ranger, caret, rsample | use `::` |
#'
#' tfestimators has almost all names of this package. See `vignette("coming-from-tfestimators")`. `predict()`, `plot()`,
#' `summary()` and `coef()` are R's own generic functions and never clash.
#'
#' @references <https://conflicted.r-lib.org>
#' @examples
#' tfdistribute::address_cluster(worker = c("192.0.2.1:2222", "192.0.2.2:2222"))
#' @name name_clashes
NULL
