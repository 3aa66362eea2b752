"""Strategies: descriptions, devices, and results equal to those of one device."""

from __future__ import annotations

import dataclasses
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import tpu
from support.sampling import sampled

from tfdistribute import engine
from tfdistribute.descriptions import read
from tfdistribute.errors import ArgumentError, StrategyError
from tfdistribute.run_config import Devices, RunSettings, build, resolve_devices, session_hooks
from tfdistribute.strategies import (
    CentralStorage,
    Mirrored,
    ModelParallel,
    MultiWorker,
    OneDevice,
    ParameterServer,
    Strategy,
    Tpu,
)
from tfdistribute.strategies.device_names import canonical_device, cpus_named, short_device

EXAMPLES = {
    "one_device": OneDevice("cpu:1"),
    "mirrored": Mirrored(2),
    "central_storage": CentralStorage(("CPU:0", "CPU:1")),
    "model_parallel": ModelParallel(2),
    "multi_worker": MultiWorker("ring", 30),
    "parameter_server": ParameterServer(),
    "tpu": Tpu(steps_per_run=5),
}

CPU = tuple(f"/device:CPU:{index}" for index in range(4))


def test_every_strategy_has_an_example_in_the_contract_test():
    assert set(EXAMPLES) == set(Strategy.kinds)


@pytest.mark.smoke
@pytest.mark.versions
@pytest.mark.oldest
@pytest.mark.parametrize("kind", Strategy.kinds)
def test_contract_of_every_strategy(kind: str, tensorflow: Any, monkeypatch: pytest.MonkeyPatch):
    """Guarantees of every strategy that the package relies on."""
    tpu.describe(monkeypatch, cores=4)
    strategy = EXAMPLES[kind]
    fields = {field.name: getattr(strategy, field.name) for field in dataclasses.fields(strategy)}
    assert read(Strategy, {"kind": kind, **fields}) == strategy
    assert pickle.loads(pickle.dumps(strategy)) == strategy
    assert hash(strategy) == hash(EXAMPLES[kind])
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(strategy, "kind", "other")  # noqa: B010
    devices = strategy.resolve(4, 0)
    if kind != "tpu":
        assert all(canonical_device(device) == device for device in devices)
    rows = strategy.replica_devices(devices)
    assert tuple(name for row in rows for name in row) == devices
    first = tuple(row[0] for row in rows)
    built = strategy.build(first)
    if kind == "parameter_server":
        # Workers with one device share their variables without a TensorFlow strategy.
        assert built is None
        return
    assert isinstance(built.extended, tensorflow.distribute.StrategyExtended)
    assert built.num_replicas_in_sync == len(rows)
    hooks, others = strategy.session_hooks(first), strategy.session_hooks(first)
    assert all(isinstance(hook, tensorflow.estimator.SessionRunHook) for hook in hooks)
    assert not {id(hook) for hook in hooks} & {id(hook) for hook in others}


@pytest.mark.parametrize(
    "name",
    [
        "GPU:1",
        "gpu:1",
        "/gpu:1",
        "/GPU:1",
        "device:GPU:1",
        "/device:gpu:1",
        "/job:localhost/replica:0/task:0/device:GPU:1",
        " GPU:1 ",
    ],
)
def test_names_are_read_in_all_of_tensorflows_spellings(name: str):
    assert canonical_device(name) == "/device:GPU:1"


@pytest.mark.parametrize(
    "name", ["GPU", "TPU:0", "CPU:-1", "gpu:x", "/job:worker/task:1/gpu:0", "0"]
)
def test_a_name_that_means_no_device_of_this_machine_is_refused(name: str):
    with pytest.raises(StrategyError, match="does not name a CPU or GPU") as caught:
        OneDevice(name)
    assert caught.value.argument == "device"
    assert caught.value.value == name


@pytest.mark.parametrize("make", [Mirrored, CentralStorage, ModelParallel])
def test_a_device_named_twice_is_refused(make: Callable[..., Strategy]):
    with pytest.raises(StrategyError, match="`devices` names CPU:1 twice: CPU:1, /device:cpu:1"):
        make(("CPU:1", "/device:cpu:1"))


@pytest.mark.parametrize("make", [Mirrored, CentralStorage, ModelParallel])
@pytest.mark.parametrize("devices", [0, -1, ()])
def test_no_device_is_refused(make: Callable[..., Strategy], devices: Any):
    with pytest.raises(StrategyError) as caught:
        make(devices)
    assert caught.value.argument == "devices"


@pytest.mark.parametrize("make", [Mirrored, CentralStorage, ModelParallel])
@pytest.mark.parametrize(
    ("devices", "gpus", "expected"),
    [
        (None, 0, ("/device:CPU:0",)),
        (None, 2, ("/device:GPU:0", "/device:GPU:1")),
        (2, 0, ("/device:CPU:0", "/device:CPU:1")),
        (1, 2, ("/device:GPU:0",)),
        (("gpu:1", "GPU:0"), 2, ("/device:GPU:1", "/device:GPU:0")),
        (("CPU:2",), 2, ("/device:CPU:2",)),
        (("GPU:0", "CPU:0"), 1, ("/device:GPU:0", "/device:CPU:0")),
    ],
)
def test_devices_are_chosen_from_what_the_machine_has(
    make: Callable[..., Strategy], devices: Any, gpus: int, expected: tuple[str, ...]
):
    assert make(devices).resolve(4, gpus) == expected


@pytest.mark.parametrize(
    ("strategy", "gpus", "message"),
    [
        (
            Mirrored(2),
            1,
            "`devices = 2` asks for GPU:1, but TensorFlow sees 1 GPU on this machine.",
        ),
        (Mirrored(("GPU:0",)), 0, "`devices` asks for GPU:0, but TensorFlow sees no GPU"),
        (CentralStorage(4), 3, "`devices = 4` asks for GPU:3, but TensorFlow sees 3 GPUs"),
        (OneDevice("GPU:2"), 1, "`device` asks for GPU:2, but TensorFlow sees 1 GPU"),
        (Mirrored(5), 0, "`devices = 5` asks for 5 CPU devices, but a session can have at most 4"),
        (CentralStorage(("CPU:7",)), 0, "`devices` asks for 8 CPU devices"),
    ],
)
def test_more_devices_than_there_are_is_refused_with_their_number(
    strategy: Strategy, gpus: int, message: str
):
    with pytest.raises(StrategyError) as caught:
        strategy.resolve(4, gpus)
    assert message in caught.value.problem
    assert caught.value.argument in ("devices", "device")
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("strategy", "gpus", "expected"),
    [
        (Mirrored(4, devices_per_replica=2), 0, [("CPU:0", "CPU:1"), ("CPU:2", "CPU:3")]),
        (Mirrored(devices_per_replica=2), 0, [("CPU:0", "CPU:1")]),
        (Mirrored(devices_per_replica=2), 4, [("GPU:0", "GPU:1"), ("GPU:2", "GPU:3")]),
        (Mirrored(("GPU:1", "CPU:0"), devices_per_replica=2), 2, [("GPU:1", "CPU:0")]),
        (MultiWorker(devices_per_replica=2), 0, [("CPU:0", "CPU:1")]),
        (MultiWorker(devices_per_replica=2), 4, [("GPU:0", "GPU:1"), ("GPU:2", "GPU:3")]),
        (ModelParallel(3), 0, [("CPU:0", "CPU:1", "CPU:2")]),
        (ModelParallel(), 2, [("GPU:0", "GPU:1")]),
        (Mirrored(2), 0, [("CPU:0",), ("CPU:1",)]),
    ],
)
def test_devices_are_divided_into_replicas(strategy: Strategy, gpus: int, expected: Any):
    rows = strategy.replica_devices(strategy.resolve(4, gpus))
    assert [tuple(short_device(name) for name in row) for row in rows] == expected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Mirrored(3, devices_per_replica=2),
            "3 devices cannot be divided into replicas of",
        ),
        (lambda: Mirrored(("GPU:0",), devices_per_replica=2), "1 device cannot be divided into"),
        (lambda: Mirrored(devices_per_replica=2).resolve(4, 3), "3 devices cannot be divided"),
        (lambda: MultiWorker(devices_per_replica=2).resolve(4, 1), "1 device cannot be divided"),
    ],
)
def test_replicas_of_unequal_size_are_refused(make: Callable[[], Any], message: str):
    with pytest.raises(StrategyError) as caught:
        make()
    assert message in caught.value.problem
    assert caught.value.argument == "devices_per_replica"


def test_nccl_on_cpus_is_refused_as_soon_as_it_is_known():
    with pytest.raises(StrategyError, match="GPUs only, and CPU:0 is a CPU"):
        Mirrored(("CPU:0",), "nccl")
    unknown = Mirrored(2, "nccl")
    assert len(unknown.resolve(4, 2)) == 2
    with pytest.raises(StrategyError) as caught:
        unknown.resolve(4, 0)
    assert caught.value.argument == "cross_device"
    assert caught.value.remedy == 'Use `cross_device = "auto"`.'


def test_shared_memory_on_gpus_is_refused_as_soon_as_they_are_known():
    strategy = MultiWorker("shared_memory")
    assert len(strategy.resolve(4, 0)) == 1
    with pytest.raises(StrategyError, match="sums over CPUs only, and this process sees 2 GPUs"):
        strategy.resolve(4, 2)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: Mirrored(2, "ring"), "cross_device"),
        (lambda: MultiWorker("tcp"), "communication"),
        (lambda: MultiWorker(compression="gzip"), "compression"),
        (lambda: MultiWorker("shared_memory", compression="bfloat16"), "compression"),
        (lambda: MultiWorker("ring", 0), "timeout_s"),
        (lambda: MultiWorker(devices_per_replica=0), "devices_per_replica"),
        (lambda: Mirrored(devices_per_replica=-1), "devices_per_replica"),
        (lambda: Tpu(""), "address"),
        (lambda: Tpu(steps_per_run=0), "steps_per_run"),
        (lambda: Tpu(steps_per_run="many"), "steps_per_run"),
    ],
)
def test_an_unknown_choice_is_refused_by_its_argument(make: Callable[[], Strategy], argument: str):
    with pytest.raises(ArgumentError) as caught:
        make()
    assert caught.value.argument == argument


def test_the_cpus_that_must_exist_follow_from_the_highest_name():
    assert cpus_named(("/device:GPU:3", "/device:CPU:2")) == 3
    assert cpus_named(("/device:GPU:3",)) == 0


def test_workers_split_gradients_of_cpus_and_leave_those_of_gpus_whole(
    tensorflow: Any, monkeypatch: pytest.MonkeyPatch
):
    made: list[Any] = []
    monkeypatch.setattr(engine.multi_worker, "MultiWorkerMirroredStrategy", made.append)
    MultiWorker().build(("/device:CPU:0",))
    MultiWorker().build(("/device:GPU:0", "/device:GPU:1"))
    assert [options.bytes_per_pack for options in made] == [2**20, 0]
    default = tensorflow.distribute.experimental.CommunicationOptions()
    assert default.bytes_per_pack == 0


def test_describing_and_resolving_strategies_does_not_import_tensorflow(
    run_python: Callable[..., Any],
):
    code = (
        "import sys\n"
        "from tfdistribute.run_config import RunContext, RunSettings, preflight\n"
        "from tfdistribute.strategies import Mirrored\n"
        "Mirrored(2).resolve(4, 0)\n"
        "preflight(RunContext(RunSettings(strategy=Mirrored(2)), 'train'))\n"
        "print('tensorflow' in sys.modules)\n"
    )
    assert run_python(code, timeout_s=30).stdout.strip() == "False"


# Training --------------------------------------------------------------------------------------

ROWS, GLOBAL_BATCH = 48, 12


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    """Linear regression with Adam, whose slots are variables too."""
    import tensorflow as tf

    weights = tf.compat.v1.get_variable("weights", [2, 1], initializer=tf.zeros_initializer())
    error = tf.matmul(features["x"], weights) - labels
    loss = tf.reduce_mean(tf.square(error))
    optimizer = tf.compat.v1.train.AdamOptimizer(0.1)
    step = tf.compat.v1.train.get_global_step()
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, step))


def rows(batch_size: int) -> Callable[[], Any]:
    """An input_fn with fixed numbers."""

    def input_fn() -> Any:
        import tensorflow as tf

        x = tf.reshape(tf.sin(tf.range(2.0 * ROWS)), [ROWS, 2])
        labels = tf.reduce_sum(x * [[1.0, -2.0]], axis=1, keepdims=True)
        return tf.data.Dataset.from_tensor_slices(({"x": x}, labels)).batch(batch_size)

    return input_fn


def trained_loss(strategy: Strategy | None, model_dir: Path) -> tuple[float, dict[str, Any]]:
    """Train two epochs in two calls, then evaluate on one device."""
    import tensorflow as tf

    settings = RunSettings(strategy=strategy)
    devices = resolve_devices(settings)
    estimator = tf.estimator.Estimator(model_fn, str(model_dir), build(settings, devices))
    batch = GLOBAL_BATCH // devices.replicas("train")
    for _ in range(2):
        hooks = session_hooks(settings, devices, "train")
        estimator.train(rows(batch), hooks=hooks)
    metrics = estimator.evaluate(rows(GLOBAL_BATCH))
    return metrics["loss"], {
        n: estimator.get_variable_value(n) for n in estimator.get_variable_names()
    }


@sampled(
    "strategy",
    [
        OneDevice("CPU:0"),
        OneDevice("CPU:2"),
        Mirrored(2),
        Mirrored(3),
        Mirrored(2, "one_device"),
        Mirrored(2, "hierarchical_copy"),
        CentralStorage(1),
        CentralStorage(2),
        CentralStorage(3),
    ],
    check=[OneDevice("CPU:2"), Mirrored(3), Mirrored(2, "hierarchical_copy"), CentralStorage(2)],
    ids=str,
)
@pytest.mark.timeout(90)
def test_every_strategy_of_one_machine_gives_the_weights_of_one_device(
    strategy: Strategy, tensorflow: Any, tmp_path: Path
):
    loss, variables = trained_loss(None, tmp_path / "one")
    other_loss, other_variables = trained_loss(strategy, tmp_path / "many")
    assert other_loss == pytest.approx(loss, rel=1e-6)
    assert set(other_variables) == set(variables)
    assert variables["global_step"] == 2 * ROWS / GLOBAL_BATCH
    for name, value in variables.items():
        assert other_variables[name] == pytest.approx(value, rel=1e-5, abs=1e-7), name


def test_central_storage_fails_without_the_hook_that_keeps_one_of_each_variable(
    tensorflow: Any, tmp_path: Path
):
    settings = RunSettings(strategy=CentralStorage(2))
    config = build(settings, resolve_devices(settings))
    estimator = tensorflow.estimator.Estimator(_model_with_new_variables, str(tmp_path), config)
    with pytest.raises(ValueError, match="At least two variables have the same name"):
        estimator.train(rows(6))


def test_central_storage_trains_and_evaluates_with_the_hook(tensorflow: Any, tmp_path: Path):
    strategy = CentralStorage(2)
    settings = RunSettings(strategy=strategy, eval_distribute=strategy)
    devices = resolve_devices(settings)
    config = build(settings, devices)
    estimator = tensorflow.estimator.Estimator(_model_with_new_variables, str(tmp_path), config)
    estimator.train(rows(6), hooks=session_hooks(settings, devices, "train"))
    hooks = session_hooks(settings, devices, "evaluate")
    distributed = estimator.evaluate(rows(6), hooks=hooks)["loss"]
    alone = tensorflow.estimator.Estimator(_model_with_new_variables, str(tmp_path)).evaluate(
        rows(12)
    )
    assert distributed == pytest.approx(alone["loss"], rel=1e-6)
    assert alone["global_step"] == 4


@pytest.mark.parametrize("strategy", [Mirrored(2), CentralStorage(2)], ids=str)
def test_checkpoints_equal_those_of_one_device_and_training_continues(
    strategy: Strategy, tensorflow: Any, tmp_path: Path
):
    def train(strategy: Strategy | None, model_dir: Path, batch_size: int) -> set[str]:
        settings = RunSettings(strategy=strategy)
        devices = resolve_devices(settings)
        estimator = tensorflow.estimator.Estimator(
            _model_with_new_variables, str(model_dir), build(settings, devices)
        )
        hooks = session_hooks(settings, devices, "train")
        estimator.train(rows(batch_size), hooks=hooks)
        return set(estimator.get_variable_names())

    alone = train(None, tmp_path / "first", 12)
    assert train(strategy, tmp_path / "second", 6) == alone
    assert train(strategy, tmp_path / "first", 6) == alone
    assert train(None, tmp_path / "second", 12) == alone


def _model_with_new_variables(features: Any, labels: Any, mode: str) -> Any:
    """A model that creates its variables the TensorFlow 2 way, as canned models do."""
    import tensorflow as tf

    optimizer = tf.keras.optimizers.legacy.Adagrad(0.1)
    step = tf.compat.v1.train.get_or_create_global_step()
    layer = tf.keras.layers.Dense(1, use_bias=False, name="dense")
    loss = tf.reduce_mean(tf.square(layer(features["x"]) - labels))
    optimizer.iterations = step
    train_op = None
    if mode == "train":
        train_op = optimizer.get_updates(loss, layer.trainable_weights)[0]
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


# Trap 1 -----------------------------------------------------------------------------------------

MIRRORED = """
import sys, tempfile
from tfdistribute.engine import tf
from tfdistribute.run_config import RunSettings, build, resolve_devices
from tfdistribute.strategies import Mirrored

{start}

def model_fn(features, labels, mode):
    weights = tf.compat.v1.get_variable("weights", [2, 1])
    loss = tf.reduce_mean(tf.square(tf.matmul(features, weights) - labels))
    step = tf.compat.v1.train.get_global_step()
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=tf.compat.v1.train.AdamOptimizer(0.1).minimize(loss, step)
    )

class Say(tf.estimator.SessionRunHook):
    def before_run(self, run_context):
        print("step begins", flush=True)
        options = tf.compat.v1.RunOptions(output_partition_graphs=True)
        return tf.estimator.SessionRunArgs([], options=options)
    def after_run(self, run_context, run_values):
        graphs = run_values.run_metadata.partition_graphs
        devices = {{node.device[-5:] for graph in graphs for node in graph.node}}
        print("step done on", *sorted(devices), flush=True)

settings = RunSettings(strategy=Mirrored(2))
config = build(settings, resolve_devices(settings))
{change}
def input_fn():
    return tf.data.Dataset.from_tensor_slices((tf.ones([16, 2]), tf.ones([16, 1]))).batch(4)
tf.estimator.Estimator(model_fn, tempfile.mkdtemp(), config).train(input_fn, hooks=[Say()])
"""
ENOUGH_CPUS = (
    "tf.config.set_logical_device_configuration("
    "tf.config.list_physical_devices('CPU')[0], [tf.config.LogicalDeviceConfiguration()] * 2)"
)


@pytest.mark.oldest
@sampled("start", ["", "tf.constant(1) + 1", ENOUGH_CPUS], check=["tf.constant(1) + 1"])
def test_mirrored_training_ends_however_tensorflow_was_started(
    run_python: Callable[..., Any], tmp_path: Path, start: str
):
    code = MIRRORED.format(start=start, change="")
    ended = run_python(code, timeout_s=90, env={"TMPDIR": str(tmp_path)})
    assert ended.stdout.count("step done on CPU:0 CPU:1") == 2


WITHOUT_DEVICE_COUNT = (
    "config.session_config.device_count.clear()\nassert not config.session_config.device_count\n"
)
MADE_OUTSIDE_OF_GRAPHS = (
    "config = config.replace(train_distribute=tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1']))\n"
)


def test_without_device_count_everything_runs_on_one_cpu(
    run_python: Callable[..., Any], tmp_path: Path
):
    code = MIRRORED.format(start=ENOUGH_CPUS, change=WITHOUT_DEVICE_COUNT)
    ended = run_python(code, timeout_s=90, env={"TMPDIR": str(tmp_path)})
    assert ended.stdout.count("step done on CPU:0\n") == 2


@pytest.mark.full
def test_without_its_repairs_mirrored_training_over_two_cpus_hangs(
    run_python: Callable[..., Any], tmp_path: Path
):
    change = MADE_OUTSIDE_OF_GRAPHS + WITHOUT_DEVICE_COUNT
    code = MIRRORED.format(start=ENOUGH_CPUS, change=change)
    with pytest.raises(pytest.fail.Exception, match="Not finished after") as caught:
        run_python(code, timeout_s=25, env={"TMPDIR": str(tmp_path)})
    assert "step begins" in str(caught.value)
    assert "step done" not in str(caught.value)


def test_devices_count_their_replicas():
    devices = Devices(train=((CPU[0],), (CPU[1],), (CPU[2],)), evaluate=((CPU[1],), (CPU[2],)))
    assert (devices.replicas("train"), devices.replicas("evaluate")) == (3, 2)
    assert devices.all == CPU[:3]
    assert Devices().replicas("train") == 1
    assert "TF_CONFIG" not in os.environ
