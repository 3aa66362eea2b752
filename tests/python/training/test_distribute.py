"""Foreign Estimators with this package's verbs and configurations."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoints import assert_alike, summary_steps, variables
from support.inputs import in_memory
from support.sampling import sampled

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.errors import ArgumentError, RunConfigError, UnsupportedError
from tfdistribute.inputs import Input
from tfdistribute.models import Wrapped
from tfdistribute.run_config import RunSettings
from tfdistribute.training import concatenate, predict
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.export import export_savedmodel
from tfdistribute.training.specs import EvalSpec, TrainSpec
from tfdistribute.training.train import distribute, train
from tfdistribute.training.train_and_evaluate import train_and_evaluate

ROWS, STEPS = 32, 4
random = np.random.default_rng(5)
X = random.normal(size=ROWS).astype("float32")
Y = (2 * X + 0.3 * random.normal(size=ROWS) + 1).astype("float32")
CLASS = (Y > 1).astype("int32")

MIRRORED = {"kind": "mirrored", "devices": 2}
CENTRAL = {"kind": "central_storage", "devices": 2}


def source(label: Any = Y, epochs: int | None = None) -> Input:
    fields = {"batch_size": 8, "shuffle": False, "epochs": epochs}
    return in_memory({"x": X, "y": label}, **fields)


def settings(strategy: Any = None, **fields: Any) -> RunSettings:
    return read(RunSettings, {"strategy": strategy, "seed": 2, **fields})


def canned(tf: Any, folder: Path) -> Any:
    # A single object, which TensorFlow can use only once.
    optimizer = tf.keras.optimizers.legacy.SGD(0.1)
    columns = [tf.feature_column.numeric_column("x")]
    return tf.estimator.DNNRegressor([4], columns, str(folder), optimizer=optimizer)


def custom(tf: Any, folder: Path) -> Any:
    def model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any]) -> Any:
        initializer = tf.keras.initializers.GlorotUniform(seed=1)
        layer = tf.keras.layers.Dense(1, kernel_initializer=initializer)
        outputs = layer(features["x"][:, None])[:, 0]
        predictions = {"estimate": outputs}
        if mode == "infer":
            return tf.estimator.EstimatorSpec(mode, predictions)
        loss = tf.reduce_mean((outputs - labels) ** 2)
        optimizer = tf.keras.optimizers.legacy.SGD(params["rate"])
        optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
        train_op = optimizer.get_updates(loss, layer.trainable_variables)[0]
        return tf.estimator.EstimatorSpec(mode, predictions, loss, train_op)

    return tf.estimator.Estimator(model_fn, str(folder), params={"rate": 0.1})


def v1_regressor(tf: Any, folder: Path) -> Any:
    columns = [tf.feature_column.numeric_column("x")]
    return tf.compat.v1.estimator.LinearRegressor(columns, str(folder))


def v1_classifier(tf: Any, folder: Path) -> Any:
    columns = [tf.feature_column.numeric_column("x")]
    return tf.compat.v1.estimator.LinearClassifier(columns, str(folder))


MAKERS: dict[str, Callable[..., Any]] = {
    "canned": canned,
    "custom": custom,
    "v1 regressor": v1_regressor,
    "v1 classifier": v1_classifier,
}


def label_of(name: str) -> Any:
    return CLASS if name.endswith("classifier") else Y


def as_model(estimator: Any, **fields: Any) -> Wrapped:
    return Wrapped(estimator.model_dir, estimator, **fields)


# The second says whether functions of R are called: then replicas run on the calling thread.
HOW = {"mirrored on threads": (MIRRORED, False), "central storage on one thread": (CENTRAL, True)}


@sampled(
    ("name", "how"),
    [(name, how) for name in MAKERS for how in HOW],
    check=[
        ("canned", "mirrored on threads"),
        ("custom", "central storage on one thread"),
        ("v1 classifier", "central storage on one thread"),
    ],
)
def test_a_copy_learns_on_two_devices_what_the_original_learns_on_one(
    tensorflow: Any, tmp_path: Path, name: str, how: str
) -> None:
    strategy, calls_r = HOW[how]
    input_fn = source(label_of(name)).input_fn("train", 1)
    originals = [MAKERS[name](tensorflow, tmp_path / folder) for folder in ("one", "two")]
    alone = distribute(originals[0], settings())
    together = distribute(originals[1], settings(strategy), calls_r=calls_r)
    for copy in (alone, together):
        # TensorFlow's own verb, applied directly to the copy.
        copy.train(input_fn, steps=STEPS)
        # This package's verb, applied to a copy of the copy.
        model = as_model(copy, calls_r=calls_r)
        train(model, RunSettings(), source(label_of(name)), steps=STEPS)
    assert originals[1].config.train_distribute is None
    assert together.model_dir == originals[1].model_dir
    expected, got = (variables(tmp_path / folder) for folder in ("one", "two"))
    assert got["global_step"] == 2 * STEPS
    assert any(name.endswith(("kernel", "weights")) for name in got.keys() & expected.keys())
    for variable in expected.keys() & got.keys():
        np.testing.assert_allclose(
            got[variable], expected[variable], rtol=1e-5, atol=1e-6, err_msg=variable
        )


@sampled("name", MAKERS, check=["v1 classifier"])
def test_every_verb_takes_an_estimator_as_it_is(tensorflow: Any, tmp_path: Path, name: str) -> None:
    tf, label = tensorflow, label_of(name)
    made = MAKERS[name](tf, tmp_path / "model")
    model, nothing = as_model(made), RunSettings()
    history = train(model, nothing, source(label), steps=STEPS)
    assert history.steps[-1] == STEPS
    metrics = evaluate(model, nothing, source(label, 1))
    assert metrics == pytest.approx(made.evaluate(source(label, 1).input_fn("evaluate")), rel=1e-5)
    outputs = concatenate(predict(model, nothing, source(label, 1)))
    assert all(len(values) == ROWS for values in outputs.values())
    spec = TrainSpec(source(label), max_steps=STEPS + 2)
    both = train_and_evaluate(model, nothing, spec, EvalSpec(source(label, 1)))
    assert both.evaluations[-1]["global_step"] == STEPS + 2
    path = export_savedmodel(model, nothing, str(tmp_path / "export"))
    answer = tf.saved_model.load(path).signatures["serving_default"](x=tf.constant(X))
    again = concatenate(predict(model, nothing, source(label, 1)))
    common = [key for key in answer if key in again and again[key].dtype != object]
    assert common
    for key in common:
        np.testing.assert_allclose(answer[key].numpy(), again[key], rtol=1e-6)


def test_an_own_mirrored_strategy_trains_instead_of_waiting_for_ever(
    run_python: Callable[..., Any], tmp_path: Path
) -> None:
    # In a separate process: without the repair it would never end.
    finished = run_python(
        f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import numpy as np
from tfdistribute.engine import tf
from pathlib import Path
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import training.test_distribute as shared
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
config = tf.estimator.RunConfig(train_distribute=strategy, tf_random_seed=2)
columns = [tf.feature_column.numeric_column("x")]
made = tf.estimator.DNNRegressor([4], columns, {str(tmp_path)!r}, config=config)
history = shared.train(shared.as_model(made), shared.RunSettings(), shared.source(), steps=3)
print(history.steps[-1])
""",
        timeout_s=100,
    )
    assert finished.stdout.split()[-1] == "3"


def test_an_estimator_of_tensorflow_1_is_evaluated_on_one_device(
    tensorflow: Any, tmp_path: Path
) -> None:
    strategy = tensorflow.distribute.OneDeviceStrategy("/cpu:0")
    config = tensorflow.estimator.RunConfig(eval_distribute=strategy)
    columns = [tensorflow.feature_column.numeric_column("x")]
    library = tensorflow.compat.v1.estimator
    made = library.LinearClassifier(columns, str(tmp_path), config=config)
    assert engine.existing_estimators.own_config(made).eval_distribute is None
    train(as_model(made), RunSettings(), source(CLASS), steps=2)
    assert evaluate(as_model(made), RunSettings(), source(CLASS, 1))["global_step"] == 2
    with pytest.raises(RunConfigError, match=r"tf\.compat\.v1\.estimator"):
        distribute(made, settings(eval_distribute={"kind": "mirrored", "devices": 2}))


@pytest.mark.parametrize("every", [2, None])
def test_an_estimator_keeps_its_intervals_of_summaries_and_speed(
    tensorflow: Any, tmp_path: Path, every: int | None
) -> None:
    config = tensorflow.estimator.RunConfig(save_summary_steps=every, log_step_count_steps=every)
    columns = [tensorflow.feature_column.numeric_column("x")]
    made = tensorflow.estimator.LinearRegressor(columns, str(tmp_path), config=config)
    train(as_model(made), RunSettings(), source(), steps=6)
    noted = {"loss": [1, 3, 5], "global_step/sec": [3, 5]}
    for tag, steps in noted.items():
        assert summary_steps(tmp_path, tag) == (steps if every else [])


def test_a_model_to_estimator_is_not_distributed(tensorflow: Any, tmp_path: Path) -> None:
    keras = tensorflow.keras
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(1,), name="x")])
    model.compile(keras.optimizers.legacy.SGD(0.1), "mse")
    made = keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
    with pytest.raises(UnsupportedError, match="model_to_estimator"):
        distribute(made, settings(MIRRORED))
    assert distribute(made, settings()).model_dir == str(tmp_path)


def test_what_is_no_estimator_is_refused(tensorflow: Any) -> None:
    with pytest.raises(ArgumentError, match="must be a tf.estimator.Estimator, not int"):
        distribute(3, settings())


def test_a_copy_reads_the_codes_that_the_estimator_reads(tensorflow: Any, tmp_path: Path) -> None:
    made = distribute(canned(tensorflow, tmp_path / "first"), settings())
    engine.estimator.set_options(made, factor_levels={"f": ("a", "b")}, label_levels=("no", "yes"))
    copy = distribute(made, settings(model_dir=str(tmp_path / "second")))
    assert copy.options.factor_levels == {"f": ("a", "b")}
    assert copy.options.label_levels == ("no", "yes")


def test_losses_of_a_copy_are_means_over_devices(tensorflow: Any, tmp_path: Path) -> None:
    losses = []
    for folder, strategy in (("one", None), ("two", MIRRORED)):
        made = canned(tensorflow, tmp_path / folder)
        model = as_model(made, keeps_config=False)
        losses.append(train(model, settings(strategy), source(), steps=3).losses)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


NAMES = ["linear", "deep", "combined"]


def canned_models(tf: Any, folder: Path, optimizer: str = "SGD", rate: float = 0.1) -> list[Any]:
    def new() -> Any:
        return getattr(tf.keras.optimizers.legacy, optimizer)(rate)

    columns = [tf.feature_column.numeric_column("x")]
    library = tf.estimator
    return [
        library.LinearRegressor(columns, str(folder / "linear"), optimizer=new()),
        library.DNNRegressor([4], columns, str(folder / "deep"), optimizer=new()),
        library.DNNLinearCombinedRegressor(
            str(folder / "combined"), columns, new(), columns, new(), dnn_hidden_units=[4]
        ),
    ]


WITH = {"SGD": None, "Adam": None, "Ftrl": MIRRORED}


@sampled(
    ("name", "optimizer"),
    itertools.product(NAMES, WITH),
    check=[("linear", "SGD"), ("deep", "Ftrl"), ("combined", "Adam")],
    versions=[("combined", "Adam")],
)
def test_tensorflow_continues_from_the_checkpoints_of_a_copy(
    tensorflow: Any, tmp_path: Path, name: str, optimizer: str
) -> None:
    input_fn, chosen = source().input_fn("train", 1), settings(WITH[optimizer])

    def made(folder: str) -> Any:
        return canned_models(tensorflow, tmp_path / folder, optimizer)[NAMES.index(name)]

    distribute(made("both"), chosen).train(input_fn, steps=STEPS)
    made("both").train(input_fn, steps=STEPS)
    distribute(made("both"), chosen).train(input_fn, steps=STEPS)
    for _ in range(3):
        distribute(made("alone"), settings()).train(input_fn, steps=STEPS)
    found, expected = (variables(tmp_path / which / name) for which in ("both", "alone"))
    assert found["global_step"] == 3 * STEPS
    assert_alike(found, expected, rtol=1e-5, atol=1e-6)


def test_a_copy_trains_with_its_own_learning_rate(tensorflow: Any, tmp_path: Path) -> None:
    first, second = (canned_models(tensorflow, tmp_path, rate=rate)[0] for rate in (0.1, 0.0))
    train(as_model(first), settings(), source(), steps=STEPS)
    before = variables(tmp_path / "linear")
    train(as_model(second), settings(), source(), steps=STEPS)
    after = variables(tmp_path / "linear")
    weights = [name for name in after if name.startswith("linear/")]
    assert weights
    for name in weights:
        np.testing.assert_array_equal(after[name], before[name])


def test_a_checkpoint_of_weights_and_step_is_continued_evaluated_and_predicted(
    tensorflow: Any, tmp_path: Path
) -> None:
    for each in canned_models(tensorflow, tmp_path / "source"):
        folder = tmp_path / "older" / Path(each.model_dir).name
        train(as_model(each), settings(), source(), steps=STEPS)
        _write_without_settings(each.model_dir, folder)
    olders = [canned_models(tensorflow, tmp_path / "older") for _ in range(2)]
    originals = canned_models(tensorflow, tmp_path / "source")
    for original, older, again in zip(originals, *olders, strict=True):
        results = [
            (
                evaluate(as_model(each), settings(), source(epochs=1)),
                concatenate(predict(as_model(each), settings(), source(epochs=1))),
            )
            for each in (original, older)
        ]
        assert results[0][0] == results[1][0]
        np.testing.assert_array_equal(*(each["predictions"] for _, each in results))
        if older.model_dir.endswith("combined"):
            # TensorFlow counts the steps of its second optimizer in a variable.
            continue
        train(as_model(older), settings(), source(), steps=STEPS)
        train(as_model(again), settings(), source(), steps=STEPS)
        train(as_model(original), settings(), source(), steps=2 * STEPS)
        found, expected = variables(older.model_dir), variables(original.model_dir)
        assert found["global_step"] == 3 * STEPS
        for name, value in found.items():
            np.testing.assert_array_equal(value, expected[name], err_msg=name)


def _write_without_settings(model_dir: str, folder: Path) -> None:
    v1 = importlib.import_module("tensorflow").compat.v1
    folder.mkdir(parents=True)
    kept = {k: v for k, v in variables(model_dir).items() if not k.startswith("training")}
    with v1.Graph().as_default(), v1.Session() as session:
        made = [v1.get_variable(name, initializer=value) for name, value in kept.items()]
        session.run(v1.global_variables_initializer())
        v1.train.Saver(made, save_relative_paths=True).save(
            session, str(folder / "model.ckpt"), int(kept["global_step"])
        )


def test_a_copy_that_would_write_into_a_bucket_is_refused(tensorflow: Any, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"gs://bucket/m.* is in a bucket"):
        distribute(canned(tensorflow, tmp_path), settings(model_dir="gs://bucket/m"))
