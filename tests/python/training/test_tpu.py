"""Training on a TPU that is only described: its graphs, and their programs computed by XLA on the CPU."""

from __future__ import annotations

import collections
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from support import custom_models, equality_models, keras_models, model_parts, models, tpu
from support.callbacks import as_model_fn
from support.checkpoints import assert_alike, variables
from support.inputs import in_memory
from support.sampling import sampled

from tfdistribute import engine
from tfdistribute.checkpoints.newest import newest_checkpoint
from tfdistribute.descriptions import read
from tfdistribute.errors import InputError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.history import History
from tfdistribute.training.hooks import read_hooks
from tfdistribute.training.predict import concatenate, predict
from tfdistribute.training.train import train

v1 = tf.compat.v1
pytestmark = [pytest.mark.full, pytest.mark.usefixtures("tensorflow")]

STEPS = 30


def settings(tpu_fields: dict[str, Any] | None = None, **fields: Any) -> RunSettings:
    """Make settings that train on a TPU; on one device without its fields."""
    strategy = None if tpu_fields is None else {"kind": "tpu", **tpu_fields}
    return read(RunSettings, {"strategy": strategy, "seed": 3, **fields})


@pytest.fixture
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """A TPU of one core, whose programs XLA compiles for the CPU."""
    tpu.describe(monkeypatch, cores=1)
    tpu.compile_for_cpu(monkeypatch)


def columns(*names: str) -> list[dict[str, Any]]:
    return [{"kind": "numeric", "key": name} for name in names]


X, Y = custom_models.X, custom_models.Y[:, 0]


def numbers(**fields: Any) -> Input:
    data = {"wide": X[:, 0], "high": X[:, 1], "y": Y}
    return in_memory(data, **{"batch_size": 12, "epochs": None, "shuffle": False, **fields})


def loop(directory: Path) -> Model:
    def build(params: Any) -> Any:
        layers = tf.keras.layers
        return {
            "net": tf.keras.Sequential([layers.Dense(4, "tanh"), layers.Dense(1)]),
            "optimizer": tf.keras.optimizers.legacy.Adam(0.01),
        }

    def train_step(parts: Any, features: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = custom_models.mean_square(labels, parts["net"](features["x"]))
        variables = parts["net"].trainable_variables
        pairs = zip(tape.gradient(loss, variables), variables, strict=True)
        return {"loss": loss, "train_op": parts["optimizer"].apply_gradients(pairs)}

    return models.model("training_loop", directory, build_parts=build, train_step=train_step)


def canned(kind: str, **fields: Any) -> Callable[[Path], Model]:
    described = {"optimizer": models.sgd(0.05), "feature_columns": columns("wide", "high")}
    return lambda directory: models.model(kind, directory, **described, **fields)


def custom(model_fn: Any) -> Callable[[Path], Model]:
    return lambda directory: custom_models.described(model_fn, directory)


# A model and its data, by name.
CASES: dict[str, tuple[Callable[[Path], Model], Callable[[], Input]]] = {
    "linear": (canned("linear_regressor"), numbers),
    "deep": (canned("dnn_regressor", hidden_units=[4]), numbers),
    "loop": (loop, custom_models.source),
    "pipeline": (custom(model_parts.in_pipeline(micro_batches=3)), custom_models.source),
    "keras": (keras_models.described, keras_models.source),
    "of R": (custom(as_model_fn(equality_models.dense_with_sgd)), custom_models.source),
    **{
        name: (custom(model_fn), custom_models.source)
        for name, model_fn in equality_models.MODELS.items()
    },
}


@sampled("case", CASES, check=["deep", "keras", "loop", "two_optimizers"])
def test_a_program_for_a_tpu_trains_to_the_numbers_of_one_device(
    one_core: None, tmp_path: Path, case: str
):
    described, source = CASES[case]
    chosen = {"save_summary_steps": 10, "save_checkpoints_steps": 10}
    train(described(tmp_path / "a"), settings(None, **chosen), source(), steps=STEPS)
    fields = {"steps_per_run": 5}
    train(described(tmp_path / "b"), settings(fields, **chosen), source(), steps=STEPS)
    assert_alike(variables(tmp_path / "b"), variables(tmp_path / "a"), rtol=2e-5, atol=2e-6)


def twice(batches: Any) -> Any:
    """Give two replicas the same rows."""
    return batches.flat_map(lambda *batch: tf.data.Dataset.from_tensors(batch).repeat(2))


# TensorFlow refuses a loss scale on a TPU, which has no use for it.
OPTIMIZERS = sorted(set(custom_models.TRAIN_OPS) - {"loss scaling"})


@sampled("how", OPTIMIZERS, check=["get_updates", "v1"])
def test_gradients_are_averaged_over_the_cores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
):
    def function(copies: Callable[[Any], Any]) -> Input:
        return read(
            Input,
            {"kind": "dataset_function", "function": lambda: copies(equality_models.batches())},
        )

    model_fn = custom_models.with_optimizer(how)
    one = custom_models.described(model_fn, tmp_path / "a")
    alone = train(one, settings(), function(lambda batches: batches), steps=10)
    tpu.describe(monkeypatch, cores=2)
    tpu.compile_for_cpu(monkeypatch)
    two = custom_models.described(model_fn, tmp_path / "b")
    shared = train(two, settings({"steps_per_run": 5}), function(twice), steps=10)
    assert_alike(variables(tmp_path / "b"), variables(tmp_path / "a"), rtol=1e-5, atol=1e-6)
    # A mean over replicas, not their sum.
    assert shared.losses[-1] == pytest.approx(alone.losses[-1], rel=1e-5)


def test_tensorflows_own_loop_takes_the_steps_and_hooks_see_the_last_of_each_run(
    one_core: None, runs: list[int], tmp_path: Path
):
    seen: list[int] = []

    class Look(tf.estimator.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.append(int(run_context.session.run(v1.train.get_global_step())))

    model = custom_models.described(equality_models.dense_with_sgd, tmp_path)
    chosen = settings({}, save_checkpoints_steps=6, keep_checkpoint_max=None)
    speed = tf.estimator.StepCounterHook(every_n_steps=6, output_dir=str(tmp_path))
    history = train(model, chosen, custom_models.source(), steps=15, hooks=[Look(), speed])
    # Not this package's.
    assert runs == []
    assert seen == [6, 12, 15]
    saved = sorted(int(path.suffixes[0][6:]) for path in tmp_path.glob("model.ckpt-*.index"))
    assert saved == [0, 6, 12, 15]
    # TensorFlow's hooks may read the step before a run has ended.
    assert speed._steps_per_run == 6
    assert history.steps == [6, 12, 15]
    assert history.notes == [
        "Hooks are called after 6 steps at a time, when the TPU returns to the host (`steps_per_run`)."
    ]


def test_training_ends_where_the_data_does_and_goes_on_elsewhere(one_core: None, tmp_path: Path):
    model = canned("linear_regressor")(tmp_path / "a")
    history = train(model, settings({}), numbers(epochs=4))
    # In one run: the number of steps was known.
    assert history.steps == [16]
    checkpoint = newest_checkpoint(str(tmp_path / "a"))
    assert checkpoint is not None
    # Four steps are an epoch, so the rows are the same.
    train(model, settings(), numbers(), steps=4)
    train(canned("linear_regressor")(tmp_path / "b"), settings(), numbers(), steps=20)
    assert_alike(variables(tmp_path / "a"), variables(tmp_path / "b"), rtol=1e-5, atol=1e-6)


def test_evaluation_and_prediction_run_on_the_host(one_core: None, tmp_path: Path):
    model = canned("dnn_regressor", hidden_units=[4])(tmp_path)
    train(model, settings({}), numbers(), steps=10)
    # A batch of another size and a string are nothing to a CPU.
    rows = numbers(epochs=1, batch_size=31)
    predicted = concatenate(predict(model, settings({}), rows))["predictions"]
    loss = evaluate(model, settings({}), rows)["average_loss"]
    assert loss == pytest.approx(float(np.mean((predicted[:, 0] - Y) ** 2)), rel=1e-5)


class Built(BaseException):
    """The graph is complete."""


def graph_on_tpu(
    patch: pytest.MonkeyPatch, model: Model, source: Input, cores: int = 4, **fields: Any
) -> Any:
    """Return the graph of a training on a described TPU."""
    graphs: list[Any] = []

    def stop(*arguments: Any) -> None:
        graphs.append(v1.get_default_graph())
        raise Built

    tpu.describe(patch, cores)
    patch.setattr(engine.estimator.DistributedEstimator, "_train_with_estimator_spec", stop)
    with pytest.raises(Built):
        train(model, settings(fields), source, steps=STEPS)
    return graphs[0]


def devices_of(graph: Any, kind: str) -> dict[str, int]:
    """Count operations of a type by device, those in the body of the loop included."""
    nodes = [(operation.type, operation.device) for operation in graph.get_operations()]
    for function in graph._functions.values():
        nodes += [(node.op, node.device) for node in function.cached_definition.node_def]
    names = [device.rpartition("device:")[2] for each, device in nodes if each == kind]
    return collections.Counter(names)


def test_every_core_has_a_copy_of_the_model_and_one_program_trains_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    model = custom_models.described(equality_models.dense_with_sgd, tmp_path)
    graph = graph_on_tpu(monkeypatch, model, custom_models.source())
    there = devices_of(graph, "VarHandleOp")
    # Two layers and the global step; TensorFlow's count of the steps of a run is on the host.
    assert there == {"": 1, **{f"TPU:{core}": 5 for core in range(4)}}
    assert sum(devices_of(graph, "TPUReplicateMetadata").values()) == 1
    assert sum(devices_of(graph, "While").values()) == 1
    assert sum(devices_of(graph, "CrossReplicaSum").values()) >= 4


@pytest.mark.parametrize("counts", [True, False])
def test_a_step_is_counted_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, counts: bool):
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        output, ours = custom_models.line(features)
        loss = custom_models.mean_square(labels, output)
        step = v1.train.get_or_create_global_step()
        # Reading a step is not counting it.
        rate = v1.train.exponential_decay(0.1, step, 10, 0.5)
        optimizer = v1.train.GradientDescentOptimizer(rate)
        return {"loss": loss, "train_op": optimizer.minimize(loss, step if counts else None, ours)}

    model = custom_models.described(model_fn, tmp_path)
    graph = graph_on_tpu(monkeypatch, model, custom_models.source())
    assert sum(devices_of(graph, "AssignAddVariableOp").values()) == 1


def test_summaries_of_a_program_are_forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    graph = graph_on_tpu(monkeypatch, CASES["deep"][0](tmp_path), numbers())
    bodies = [function.cached_definition.node_def for function in graph._functions.values()]
    assert any(node.op == "ScalarSummary" for body in bodies for node in body)
    assert graph.get_collection(v1.GraphKeys.SUMMARIES) == []


def _dataset(batches: Callable[[], Any]) -> Input:
    return read(Input, {"kind": "dataset_function", "function": batches})


ROWS = {"x": np.zeros((10, 2), "float32")}
LABELS = np.zeros((10, 1), "float32")


@pytest.mark.parametrize(
    ("batches", "problem"),
    [
        (
            lambda: tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).batch(4),
            'The feature "x" has the shape (?, 2), and a TPU needs batches of one known size.',
        ),
        (
            lambda: tf.data.Dataset.from_tensors(({"x": tf.constant([["a"]])}, LABELS)),
            'The feature "x" holds strings, which a TPU cannot compute with.',
        ),
        (
            lambda: tf.data.Dataset.from_tensors((ROWS, tf.constant(["a"]))),
            "The label holds strings, which a TPU cannot compute with.",
        ),
        (
            lambda: tf.data.Dataset.from_tensors(({"x": tf.sparse.eye(10, 2)}, LABELS)),
            'The feature "x" is a SparseTensor, and a TPU takes dense tensors only.',
        ),
    ],
)
def test_batches_that_a_tpu_cannot_take_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, batches: Callable[[], Any], problem: str
):
    tpu.describe(monkeypatch, cores=2)
    model = custom_models.described(equality_models.dense_with_sgd, tmp_path)
    with pytest.raises(InputError) as caught:
        train(model, settings({}), _dataset(batches), steps=1)
    assert problem in str(caught.value)


def test_a_history_of_a_tpu_is_that_of_its_runs(one_core: None, tmp_path: Path):
    model = custom_models.described(equality_models.dense_with_sgd, tmp_path)
    hooks = read_hooks([{"kind": "history_saver", "every_n_steps": 4}])
    history: History = train(
        model, settings({"steps_per_run": 6}), custom_models.source(), steps=24, hooks=hooks
    )
    # The first run, and each in which a step of the record was taken.
    assert history.steps == [6, 12, 18, 24]
