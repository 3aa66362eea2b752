"""Trainings on one device, compared with the same on the first CPU; also the script of a process that performs one.

Each function takes a directory and the name of a device, and returns plain values. Run as ``python device_trainings.py
FUNCTION ARGUMENTS``, it performs one in a process of its own, which leaves a GPU and its memory free for others.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tfdistribute import engine  # isort: skip - a newer TensorFlow has Estimators once the engine is started

tf = engine.tf

from support import checkpoints, cluster_task, custom_models, inputs, model_parts, models
from support.callbacks import as_model_fn
from tfdistribute.descriptions import read
from tfdistribute.errors import TfdistributeError
from tfdistribute.inputs import Input
from tfdistribute.models import Model
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train

v1 = tf.compat.v1

STEPS, ROWS, FEATURES = 100, 96, 4
CPU = "CPU:0"
FIELDS = {"seed": 3, "save_summary_steps": None}

numbers = np.random.default_rng(8)
X = numbers.normal(size=(ROWS, FEATURES)).astype("float32")
Y = np.tanh(X @ np.array([1.0, -2.0, 0.5, 0.25])).astype("float32").reshape(-1, 1)


def source(batch_size: int = 24) -> Input:
    return inputs.in_memory({"x": X, "y": Y}, batch_size=batch_size, epochs=None, shuffle=False)


def on(device: str, **fields: Any) -> RunSettings:
    strategy = {"kind": "one_device", "device": device}
    return read(RunSettings, {**FIELDS, "strategy": strategy, **fields})


# Models ---------------------------------------------------------------------------------------------------------------


def canned(directory: Path) -> Model:
    return models.model(
        "dnn_regressor",
        directory,
        feature_columns=[{"kind": "numeric", "key": "x", "shape": [FEATURES]}],
        hidden_units=[16, 8],
        activation_fn="tanh",
        optimizer=models.sgd(0.05),
    )


def custom(directory: Path, units: int = 16, loss_factor: float = 1.0) -> Model:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        hidden = v1.layers.dense(features["x"], units, tf.nn.tanh)
        output = v1.layers.dense(v1.layers.dense(hidden, units, tf.nn.tanh), 1)
        loss = loss_factor * custom_models.mean_square(labels, output)
        step = v1.train.get_global_step()
        optimizer = v1.train.GradientDescentOptimizer(0.05 / loss_factor)
        return {
            "loss": loss,
            "train_op": optimizer.minimize(loss, step) if mode == "train" else None,
        }

    return custom_models.described(as_model_fn(model_fn), directory)


def keras_3(directory: Path) -> Model:
    from support import keras3_models

    layers, keras = keras3_models.layers, keras3_models.keras
    dense = [layers.Dense(16, "tanh", name="hidden"), layers.Dense(1, name="price")]
    model = keras.Sequential([keras.Input((FEATURES,), name="x"), *dense])
    model.compile(keras.optimizers.SGD(0.05), "mse")
    return keras3_models.described(directory, model)


MODELS: dict[str, Callable[[Path], Model]] = {
    "canned": canned,
    "custom": custom,
    "keras 3": keras_3,
}


# Where operations run -------------------------------------------------------------------------------------------------


class Traced:
    """A session that records where its matrix products ran, as "GPU:0"."""

    def __init__(self, session: Any, devices: set[str]) -> None:
        self._session, self._devices = session, devices

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None) -> Any:
        options = v1.RunOptions() if options is None else options
        options.output_partition_graphs, metadata = True, v1.RunMetadata()
        values = self._session.run(fetches, feed_dict, options=options, run_metadata=metadata)
        self._devices.update(products(metadata))
        return values


def products(metadata: Any) -> set[str]:
    return {
        node.device.rpartition("device:")[2]
        for graph in metadata.partition_graphs
        for node in graph.node
        if "MatMul" in node.op
    }


class Products(tf.estimator.SessionRunHook):
    """Record where the matrix products of single steps ran."""

    def __init__(self, devices: set[str]) -> None:
        self._devices = devices

    def before_run(self, run_context: Any) -> Any:
        options = v1.RunOptions(output_partition_graphs=True)
        return tf.estimator.SessionRunArgs([], options=options)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._devices.update(products(run_values.run_metadata))


def traced(model: Model, settings: RunSettings, steps: int, in_loop: bool) -> set[str]:
    """Train, and return where matrix products ran in a loop of many steps, or in single steps."""
    devices: set[str] = set()
    if not in_loop:
        train(model, settings, source(), steps=steps, hooks=[Products(devices)])
        return devices
    plain, engine.step.loop.StepLoop.run = (
        engine.step.loop.StepLoop.run,
        lambda self, session, *rest: plain(self, Traced(session, devices), *rest),
    )
    try:
        train(model, settings, source(), steps=steps)
    finally:
        engine.step.loop.StepLoop.run = plain
    return devices


# Scenarios ------------------------------------------------------------------------------------------------------------


def difference(directory: Path, other: Path) -> float:
    """Return the largest difference between the weights of two trainings."""
    found, expected = checkpoints.variables(directory), checkpoints.variables(other)
    assert found.keys() == expected.keys()
    assert found["global_step"] > STEPS
    return max(float(np.max(np.abs(found[name] - value))) for name, value in expected.items())


def begun(
    make: Callable[[Path], Model], directory: Path, *copies: str, **fields: Any
) -> list[Model]:
    """Take the first step on a CPU, and return models that continue from it: all have the same first weights."""
    start = directory / "start"
    train(make(start), on(CPU, **fields), source(), steps=1)
    for name in copies:
        shutil.copytree(start, directory / name)
    return [make(directory / name) for name in copies]


def one_device(directory: Path, device: str, model: str, in_loop: bool) -> dict[str, Any]:
    """Train on a device and on the first CPU."""
    here, there = begun(MODELS[model], directory, "here", "there")
    train(here, on(CPU, steps_per_run=1), source(), steps=STEPS)
    settings = on(device, steps_per_run=50 if in_loop else 1)
    devices = traced(there, settings, STEPS, in_loop)
    away = difference(directory / "there", directory / "here")
    return {"devices": sorted(devices), "difference": away}


def half_precision(directory: Path, device: str, loss_factor: float = 1.0) -> dict[str, Any]:
    """Train in float32 and in mixed_float16, with a loss whose gradients may overflow."""
    full, half = begun(lambda path: custom(path, 64, loss_factor), directory, "full", "half")
    histories = [
        train(model, on(device, precision=precision), source(), steps=2 * STEPS)
        for model, precision in ((full, "float32"), (half, "mixed_float16"))
    ]
    assert all(history.steps[-1] == 2 * STEPS + 1 for history in histories)
    losses = [np.array(history.losses) for history in histories]
    return {
        "relative": float(np.max(np.abs(losses[1] - losses[0]) / losses[0][0])),
        "finite": bool(np.all(np.isfinite(losses[1]))),
        "notes": list(histories[1].notes),
    }


def speeds(directory: Path, device: str, units: int, rows: int, steps: int) -> dict[str, float]:
    """Train on rows in memory, on the same in a file, and in mixed_float16; return steps per second."""
    columns = {
        f"x{index}": numbers.normal(size=rows).astype("float32") for index in range(FEATURES)
    }
    columns["y"] = columns["x0"] - columns["x1"]
    parquet.write_table(pa.table(columns), directory / "rows.parquet")
    fields = {"response": "y", "batch_size": 512, "epochs": None}
    paths = [str(directory / "rows.parquet")]
    memory = inputs.in_memory(columns, **fields)
    file = read(Input, {"kind": "parquet", "paths": paths, **fields})
    ways = {
        "memory": (memory, {}),
        "file": (file, {}),
        "float16": (memory, {"precision": "mixed_float16"}),
    }
    found: dict[str, float] = {}
    for name, (data, settings) in ways.items():
        model = models.model(
            "dnn_regressor",
            directory / name,
            feature_columns=[{"kind": "numeric", "key": f"x{index}"} for index in range(FEATURES)],
            hidden_units=[units] * 3,
            optimizer=models.sgd(0.001),
        )
        history = train(model, on(device, **settings), data, steps=steps)
        assert checkpoints.variables(directory / name)["global_step"] == steps
        found[name] = without_start(history)
    return found


def without_start(history: Any) -> float:
    """Return the steps per second of a training after its first fifth, in which TensorFlow starts."""
    first = next(at for at, step in enumerate(history.steps) if step > history.steps[-1] / 5)
    seconds = history.seconds[-1] - history.seconds[first]
    return (history.steps[-1] - history.steps[first]) / seconds


def out_of_memory(
    directory: Path, device: str, gigabytes: int, memory_limit_mb: int | None = None
) -> dict[str, Any]:
    """Train a model that needs a tensor of this size."""

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        output, _ = custom_models.line(features)
        rows = tf.cast(tf.shape(features["x"])[0], tf.int64)
        # The size is not known while the graph is optimised.
        large = tf.ones(tf.stack([rows, gigabytes, 2**28 // 24]))
        return {
            "loss": custom_models.mean_square(labels, output * tf.reduce_mean(large)),
            "optimizer": "sgd",
        }

    model = custom_models.described(as_model_fn(model_fn), directory)
    settings = on(device)
    if memory_limit_mb is not None:
        engine.devices.limit_gpu_memory(memory_limit_mb)
        limits = {"experimental": {"virtual_devices": [{"memory_limit_mb": [memory_limit_mb]}]}}
        settings = on(device, session_config={"gpu_options": limits})
    try:
        train(model, settings, source(), steps=1)
    except TfdistributeError as error:
        return {"kind": error.kind, "problem": error.problem, "remedy": error.remedy}
    return {"kind": None}


def several_devices(
    directory: Path, device: str, count: int, strategy: dict[str, Any], in_parts: bool = False
) -> dict[str, Any]:
    """Train on logical devices made of one, and on the first of them."""
    kind = device.partition(":")[0]
    names = [f"{kind}:{index}" for index in range(count)]
    fields: dict[str, Any] = {}
    if kind == "GPU":
        megabytes = [1024.0] * count
        limits = [tf.config.LogicalDeviceConfiguration(memory_limit=each) for each in megabytes]
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("GPU")[0], limits
        )
        # Products of shortened numbers differ more than the order of sums.
        tf.config.experimental.enable_tensor_float_32_execution(False)
        # The function counts physical devices.
        engine.devices.gpu_count = lambda: count
        virtual = {"virtual_devices": [{"memory_limit_mb": megabytes}]}
        fields = {"session_config": {"gpu_options": {"experimental": virtual}}}
    function = model_parts.in_pipeline(
        lambda: model_parts.dense_stages((8, 1)), micro_batches=2, optimizer="sgd"
    )
    parts = lambda path: custom_models.described(as_model_fn(function), path)  # noqa: E731
    # The first session sets the memory of a GPU.
    make = parts if in_parts else custom
    alone, together = begun(make, directory, "alone", "together", **fields)
    train(alone, on(names[0], **fields), source(), steps=STEPS)
    described = {**strategy, "devices": names}
    settings = read(RunSettings, {**FIELDS, **fields, "strategy": described})
    try:
        devices = traced(together, settings, STEPS, in_loop=False)
    except TfdistributeError as error:
        return {"kind": error.kind, "problem": error.problem}
    away = difference(directory / "together", directory / "alone")
    return {"kind": None, "devices": sorted(devices), "difference": away}


def cluster_model(directory: Path, device: str) -> dict[str, Any]:
    """Train the model of ``fault_task`` in one process."""
    found = cluster_task.train(directory, "custom", {"max_steps": 30})
    return {"error": found.get("error")}


def interrupted(directory: Path, device: str) -> dict[str, Any]:
    """Train until a Ctrl-C; the file "trains" says that steps are taken."""
    function = lambda event: (directory / "trains").touch()  # noqa: E731
    try:
        train(custom(directory / "model"), on(device), source(), steps=10**8, listener=function)
    except KeyboardInterrupt:
        return {"step": int(checkpoints.variables(directory / "model")["global_step"])}
    return {}


def hold_memory(directory: Path, device: str, gigabytes: int) -> dict[str, Any]:
    """Be another program: hold memory of a device until the file "go" exists."""
    with tf.device(device):
        held = [tf.ones([2**28]) for _ in range(gigabytes)]
    (directory / "held").touch()
    while not (directory / "go").exists():
        time.sleep(0.05)
    return {"held": len(held), "pid": os.getpid()}


if __name__ == "__main__":
    arguments = json.loads(sys.argv[2])
    arguments["directory"] = Path(arguments["directory"])
    sys.stdout.write(f"\n{json.dumps(globals()[sys.argv[1]](**arguments))}\n")
