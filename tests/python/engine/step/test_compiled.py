"""Steps compiled by XLA: the numbers of steps that are not, and the trainings that are compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import equality_models as models
from support.checkpoints import assert_alike, assert_identical
from support.inputs import Factor, in_memory
from support.many_steps import BATCH, LOOP, MODELS, ROWS, X, Y, custom, descent, source, trained
from support.sampling import sampled
from support.strategies import STRATEGIES

from tfdistribute import engine
from tfdistribute.errors import TfdistributeError, TrainingError, UnsupportedError
from tfdistribute.inputs import Input

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")

# Until here, steps that differ in the last digits have not moved apart.
EPOCHS = 20


def assert_equal(
    model: Any, directory: Path, data: Input | None = None, **fields: Any
) -> dict[str, Any]:
    """Compare a training that is compiled with one that is not, and return its variables."""
    expected, plain = trained(model, directory / "plain", 7, data=data, compile=False, **fields)
    found, compiled = trained(model, directory / "compiled", 7, data=data, compile=True, **fields)
    assert (plain.compiled, compiled.compiled) == (False, True)
    assert compiled.steps == plain.steps
    np.testing.assert_allclose(compiled.losses, plain.losses, rtol=1e-6, atol=1e-6)
    assert_alike(found, expected, 1e-6, 1e-6)
    return found


@sampled(
    "model",
    {**MODELS, "training_loop()": LOOP},
    check=["words and dropout", "embedding", "keras"],
    versions=["words and dropout", "keras"],
)
def test_weights_and_losses_are_those_of_steps_that_are_not_compiled(tmp_path: Path, model: Any):
    assert_equal({**MODELS, "training_loop()": LOOP}[model], tmp_path)


def test_a_hundred_steps_differ_by_less_than_a_millionth_and_not_at_all_if_repeated(
    tmp_path: Path,
):
    model = custom(models.dense_with_sgd)
    found = assert_equal(model, tmp_path, source(EPOCHS))
    assert found["global_step"] >= 100
    again, _ = trained(model, tmp_path / "again", 7, data=source(EPOCHS), compile=True)
    assert_identical(again, found)


LEVEL = {"kind": "categorical_with_identity", "key": "level", "num_buckets": 5}
WIDE_AND_DEEP = {
    "kind": "dnn_linear_combined_classifier",
    "linear_feature_columns": [
        {"kind": "crossed", "keys": ["word", LEVEL], "hash_bucket_size": 50},
        {"kind": "categorical_with_hash_bucket", "key": "word", "hash_bucket_size": 20},
    ],
    "dnn_feature_columns": [{"kind": "embedding", "categorical_column": LEVEL, "dimension": 3}],
    "dnn_hidden_units": [4],
}


def table(classes: int = 2) -> Input:
    numbers = np.random.default_rng(7)
    columns = {
        "word": Factor(numbers.integers(0, 3, ROWS), np.array(["red", "green", "blue"], object)),
        "level": numbers.integers(0, 5, ROWS).astype(np.int32),
        "y": numbers.integers(0, classes, ROWS).astype(np.int32),
    }
    return in_memory(columns, batch_size=BATCH, epochs=5)


@pytest.mark.versions
@sampled("optimizer", ["Adagrad", "Ftrl", "SGD", "Adam"], check=["Ftrl", "Adam"])
def test_rows_of_tables_are_updated_as_without_it(tmp_path: Path, optimizer: str):
    named = {"kind": "named", "name": optimizer, "settings": {"learning_rate": 0.05}}
    both = {"linear_optimizer": named, "dnn_optimizer": named}
    assert_equal({**WIDE_AND_DEEP, **both}, tmp_path, table())


def test_a_table_whose_places_would_take_long_is_not_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(engine.step.compiled.rows, "MOST_ROWS", 60)
    with pytest.raises(UnsupportedError, match="its tables have more than 60 rows"):
        trained(WIDE_AND_DEEP, tmp_path, 7, data=table(), compile=True)


def noted(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Record why trainings are not compiled, or None."""
    reasons: list[str | None] = []
    decide = engine.step.compiled.Compilation.reason_against

    def reason_against(self: Any, program: Any) -> str | None:
        reasons.append(decide(self, program))
        return reasons[-1]

    monkeypatch.setattr(engine.step.compiled.Compilation, "reason_against", reason_against)
    return reasons


def test_on_a_machine_with_a_gpu_only_trainings_on_a_cpu_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda *_: ["GPU"])
    reasons = noted(monkeypatch)
    monkeypatch.setitem(STRATEGIES, "CPU", {"kind": "one_device", "device": "CPU:0"})
    options: dict[str, Any] = {"data": source(EPOCHS), "compile": True}
    trained("words and dropout", tmp_path / "cpu", 7, "CPU", **options)
    assert reasons == [None]
    with pytest.raises(UnsupportedError, match="may use the GPU of this machine"):
        trained("words and dropout", tmp_path / "any", 7, **options)


def test_auto_compiles_small_steps_of_long_trainings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    reasons, compiled = noted(monkeypatch), engine.step.compiled

    def is_compiled(name: str) -> bool:
        return trained(custom(models.dense_with_sgd), tmp_path / name, "auto")[1].compiled

    assert not is_compiled("short")
    monkeypatch.setattr(compiled, "WORTH_STEPS", 17)
    assert is_compiled("long")
    monkeypatch.setattr(compiled, "MOST_MULTIPLICATIONS", 8 * (4 * 8 + 8))
    assert not is_compiled("large")
    assert reasons == ["it is not known to have 20000 steps", None, "its products are large"]


def test_auto_starts_at_once_and_takes_as_many_steps_whatever_the_clock_shows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    taken: list[int] = []
    run = engine.step.compiled.CompiledLoop.run

    def noted_run(self: Any, session: Any, steps: int) -> Any:
        taken.append(steps)
        return run(self, session, steps)

    monkeypatch.setattr(engine.step.compiled.CompiledLoop, "run", noted_run)
    monkeypatch.setattr(engine.step.compiled, "WORTH_STEPS", 1)
    hook = {"kind": "session_run", "after_run": lambda *_: None, "every_n_steps": 10}
    model = custom(models.dense_with_sgd)
    data = in_memory({"x": X[:40], "y": Y[:40]}, batch_size=BATCH, epochs=6)
    trained(model, tmp_path, "auto", data=data, hooks=[hook])
    assert taken == [8, 9, 9]


def checked(features: Any, labels: Any, mode: str) -> Any:
    kernel = v1.get_variable("kernel", [4, 1])
    with tf.control_dependencies([tf.debugging.assert_less(labels, 100.0, "too far")]):
        return descent(mode, tf.reduce_mean(tf.square(features["x"] @ kernel - labels)))


def classified(features: Any, labels: Any, mode: str) -> Any:
    logits = v1.layers.dense(features["x"], 3)
    classes = tf.cast(labels[:, 0], tf.int32)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(classes, logits)
    return descent(mode, tf.reduce_mean(losses))


def looked_up(features: Any, labels: Any, mode: str) -> Any:
    table = v1.get_variable("table", [3, 1])
    rows = tf.nn.embedding_lookup(table, tf.cast(labels[:, 0], tf.int32))
    return descent(mode, tf.reduce_mean(tf.square(features["x"][:, :1] - rows)))


@pytest.mark.parametrize(
    ("model_fn", "error"),
    [
        (checked, "too far"),
        (classified, "Received a label value of 200"),
        (looked_up, "indices.* = 200 is not in"),
    ],
)
def test_a_step_that_tensorflow_would_end_with_an_error_ends_with_it(
    tmp_path: Path, model_fn: Any, error: str
):
    labels = np.ones_like(Y)
    # In the third epoch, whatever the order, every row was read.
    labels[17] = 200
    with pytest.raises(TfdistributeError, match=error):
        trained(custom(model_fn), tmp_path, 7, data=source(label=labels), compile=True)


def test_a_check_that_fails_in_compiled_steps_only_ends_the_training(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    always = {"MatMul": lambda operation, inputs: tf.constant(False)}
    monkeypatch.setattr(engine.step.compiled.operations, "_CHECKS", always)
    with pytest.raises(UnsupportedError, match="only in a compiled step"):
        trained(custom(models.dense_with_sgd), tmp_path, 7, compile=True)


def test_a_loss_that_is_not_a_number_ends_the_training(tmp_path: Path):
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        kernel = v1.get_variable("kernel", [4, 1])
        step = tf.cast(v1.train.get_global_step(), tf.float32)
        loss = tf.reduce_mean(tf.square(features["x"] @ kernel - labels)) * tf.math.log(5.0 - step)
        return descent(mode, loss)

    with pytest.raises(TrainingError, match="NaN"):
        trained(custom(model_fn), tmp_path, 100, compile=True)


def calls_python(features: Any, labels: Any, mode: str) -> Any:
    kernel = v1.get_variable("kernel", [4, 1])
    product = tf.numpy_function(np.matmul, [features["x"], tf.stop_gradient(kernel)], tf.float32)
    return descent(mode, tf.reduce_mean(tf.square(product + kernel[0] - labels)))


def draws(features: Any, labels: Any, mode: str) -> Any:
    kernel = v1.get_variable("kernel", [4, 1])
    noise = tf.random.truncated_normal(tf.shape(labels), seed=3)
    return descent(mode, tf.reduce_mean(tf.square(features["x"] @ kernel - labels + noise)))


def prints(features: Any, labels: Any, mode: str) -> Any:
    kernel = v1.get_variable("kernel", [4, 1])
    with tf.control_dependencies([tf.print("a step")]):
        return descent(mode, tf.reduce_mean(tf.square(features["x"] @ kernel - labels)))


def distinct(use: Any = None, of_gradients: Any = None) -> Any:
    """Return a model function that uses the distinct numbers of the rows of a table, or gradients, in one more way."""

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        table = tf.Variable([[0.1], [0.2]], name="table")
        counts = tf.Variable([0.0, 0.0], trainable=False, name="counts")
        numbers, positions = tf.unique(tf.cast(features["x"][:, 0] > 0, tf.int32))
        rows = tf.gather(table, numbers)
        loss = tf.reduce_mean(tf.square(tf.gather(rows, positions) - labels))
        used = use(numbers, positions, rows, counts) if use else tf.no_op()
        if tf.is_tensor(used):
            loss *= tf.cast(used, tf.float32)
        (gradient,) = tf.gradients(loss, [table])
        values = of_gradients(gradient.values) if of_gradients else gradient.values
        updated = table.scatter_add(tf.IndexedSlices(-0.1 * values, gradient.indices))
        train_op = tf.group(updated, used, v1.train.get_global_step().assign_add(1))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    return model_fn


def add(counts: Any, numbers: Any, updates: Any) -> Any:
    return tf.raw_ops.ResourceScatterAdd(resource=counts.handle, indices=numbers, updates=updates)


USES = {
    "number of values": distinct(lambda numbers, *_: tf.size(numbers)),
    "number of rows": distinct(lambda numbers, positions, rows, _: tf.shape(rows)[0]),
    "last position": distinct(lambda numbers, positions, *_: tf.reduce_max(positions) + 1),
    "sum of rows": distinct(lambda numbers, positions, rows, _: tf.reduce_sum(rows)),
    "counts": distinct(
        lambda numbers, positions, rows, counts: add(counts, numbers, tf.ones([tf.size(numbers)]))
    ),
    "counts by one": distinct(lambda numbers, positions, rows, counts: add(counts, numbers, 1.0)),
    "mean of gradients": distinct(
        of_gradients=lambda values: values / tf.reduce_mean(tf.abs(values))
    ),
    "norms of rows": distinct(
        of_gradients=lambda values: values / tf.norm(values, axis=1, keepdims=True)
    ),
}


@pytest.mark.parametrize("use", USES)
def test_a_step_that_uses_distinct_values_otherwise_than_in_a_lookup_is_not_compiled(
    tmp_path: Path, use: str
):
    with pytest.raises(UnsupportedError, match="Unique .* has a result whose size depends on"):
        trained(custom(USES[use]), tmp_path, 7, compile=True)


def test_a_table_of_unknown_size_is_not_compiled(tmp_path: Path):
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        table = tf.Variable([[0.1], [0.2]], shape=tf.TensorShape(None), name="table")
        numbers, positions = tf.unique(tf.cast(features["x"][:, 0] > 0, tf.int32))
        rows = tf.gather(tf.gather(table, numbers), positions)
        return descent(mode, tf.reduce_mean(tf.square(tf.reshape(rows, [-1, 1]) - labels)))

    with pytest.raises(UnsupportedError, match="size of the table 'table' is not known"):
        trained(custom(model_fn), tmp_path, 7, compile=True)


def test_a_lookup_of_distinct_values_is_compiled(tmp_path: Path):
    assert_equal(custom(distinct()), tmp_path)


EVERY_STEP = {"kind": "session_run", "after_run": lambda context, values: None}


@pytest.mark.parametrize(
    ("model_fn", "strategy", "hooks", "reason"),
    [
        (calls_python, "none", [], "PyFunc .* is not known to give TensorFlow's numbers"),
        (draws, "none", [], "StatefulTruncatedNormal .* is not known"),
        (prints, "none", [], "StringFormat .* is not known"),
        (models.dense_with_sgd, "none", [EVERY_STEP], "looks at every step"),
        (models.dense_with_sgd, "mirrored", [], "more than one device"),
    ],
)
def test_what_cannot_be_compiled_is_named_and_auto_leaves_it(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    model_fn: Any,
    strategy: str,
    hooks: list[Any],
    reason: str,
):
    monkeypatch.setattr(engine.step.compiled, "WORTH_STEPS", 1)
    _, history = trained(custom(model_fn), tmp_path / "auto", 7, strategy, hooks)
    assert not history.compiled
    with pytest.raises(TfdistributeError, match=reason) as caught:
        trained(custom(model_fn), tmp_path / "required", 7, strategy, hooks, compile=True)
    assert caught.value.argument == "compile"
