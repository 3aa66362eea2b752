#' Distributed training of TensorFlow models
#'
#' Describe a training with plain R values: a model ([dnn_regressor()], [keras_model_to_estimator()], [estimator()]),
#' its feature columns ([feature_columns()]), an input ([input_fn()]), a strategy ([strategy_mirrored()]) and a run
#' configuration ([run_config()]). Then call a verb: [train()], [evaluate()], `predict()`, [train_and_evaluate()] or
#' [export_savedmodel()].
#'
#' Python starts when a verb needs it. [install_tfdistribute()] makes the Python environment, and
#' [tfdistribute_sitrep()] reports what is missing.
#'
#' @section Versions of TensorFlow:
#' Underneath, models train as Estimators, which TensorFlow removed in version 2.16. With a newer version, tfdistribute
#' puts back what the Python package tensorflow-estimator needs. When you install a newer TensorFlow,
#' * scripts stay as they are, and losses are the same to six digits,
#' * training continues from the checkpoints in `model_dir`, also from those that TensorFlow 2.15 has written,
#' * models that [export_savedmodel()] and [export_keras_model()] have written are served and loaded without this
#'   package and without Estimators.
#'
#' [tfdistribute_sitrep()] says whether the installed versions fit together; [install_tfdistribute()] lists the
#' supported ones.
#'
#' @section Options:
#' * `tfdistribute.tensorflow`: the version of TensorFlow that reticulate provides; see [install_tfdistribute()].
#' * `tfdistribute.passes`: passes over the training step to leave out, such as `"-loop"`; see the next section.
#' * `tfdistribute.progress`: FALSE hides the progress display.
#' * `tfdistribute.idle_s`: seconds for which idle processes wait for the next training; see [local_cluster()].
#'
#' @section When a number looks wrong:
#' tfdistribute changes how TensorFlow computes a training step in several passes, none of which changes the weights. So
#' before you report a bug, train twice with the same `seed`, as usual and with
#' `options(tfdistribute.passes = "-all")`. If the numbers differ in more than the last digits, leave out one pass at a
#' time to find the one that is wrong, and name it in your report:
#'
#' ```r
#' options(tfdistribute.passes = "-loop")   # or -category_codes, -shared_random, -all_reduce, ...
#' ```
#'
#' * `category_codes`: rows in memory are hashed, crossed and looked up once. Without it, each step does so.
#' * `resident_rows`: steps gather rows in memory. Without it, a tf.data pipeline feeds them.
#' * `accumulate`: `micro_batches` are computed one after another. Without it, the batch is computed at once.
#' * `place_gradients`: gradients are computed on the devices of their operations. Without it, TensorFlow chooses.
#' * `all_reduce`: workers add gradients in shared memory, or send them compressed. Without it, TensorFlow adds them.
#' * `shared_random`: random numbers continue from step to step in a loop. Without it, models with dropout take one step
#'   per run.
#' * `loop`: many steps run in one call of TensorFlow (`steps_per_run`).
#'
#' Outside R, the environment variable `TFDISTRIBUTE_PASSES` has the same form, such as `-loop,-resident_rows`. All
#' tasks of a cluster must leave out the same passes; those of a job get the options of the session.
#'
#' @keywords internal
#' @importFrom rlang %||%
"_PACKAGE"

#' Functions with the same names in other packages
#'
#' R finds a function in the package that was attached last. Where names clash, say which one you mean, with `::` or
#' with the package conflicted:
#'
#' ```r
#' future::plan(future::multisession, workers = 2)   # one call
#' conflicted::conflicts_prefer(tfdistribute::plan)  # every call from here on
#' ```
#'
#' Functions of this package that other packages have, too:
#'
#' | Name | Also in | What happens |
#' |---|---|---|
#' | `plan()`, `cluster()` | future | use `::` |
#' | `cluster()` | survival | use `::` |
#' | `train()` | caret | use `::` |
#' | `train()`, `evaluate()` | tensorflow, generics, keras, keras3 | either order works with this package's models |
#' | `train_and_evaluate()` | tensorflow | either order works with this package's models |
#' | `export_savedmodel()` | tensorflow, keras, keras3 | either order works with this package's models |
#' | `shape()`, `tf`, `tensorboard()` | tensorflow, tfdatasets, keras, keras3 | use `::` |
#' | `tf_config()`, `install_tensorflow()` | tensorflow, tfdatasets | use `::` |
#' | `save_model()`, `load_model()` | keras3 | use `::` |
#' | `use_python()`, `use_virtualenv()` | reticulate, tensorflow, keras, keras3 | use `::` |
#' | `use_condaenv()`, `array_reshape()` | reticulate, tensorflow, keras, keras3 | use `::` |
#' | `evaluate()` | evaluate | use `::` |
#' | `view()` | tibble | shows data frames, too; if tibble is attached later, use `::` |
#' | `flags()`, `run_dir()` | tfruns, tensorflow, keras, keras3 | either order works |
#' | `flag_boolean()`, `flag_integer()` | tfruns, tensorflow, keras, keras3 | either order works |
#' | `flag_numeric()`, `flag_string()` | tfruns, tensorflow, keras, keras3 | either order works |
#' | `starts_with()` and other helpers, `%>%`, `glimpse()` | tidyselect, dplyr, magrittr | the same functions |
#' | `matches()` | testthat | use `::` |
#'
#' tfestimators has almost all names of this package; see `vignette("coming-from-tfestimators")`. `predict()`, `plot()`,
#' `summary()` and `coef()` are R's own generic functions and never clash.
#'
#' @references <https://conflicted.r-lib.org>
#' @examples
#' tfdistribute::cluster(worker = c("192.0.2.1:2222", "192.0.2.2:2222"))
#' @name name_clashes
NULL
