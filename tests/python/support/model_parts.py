"""Models in parts, and the devices on which they really run."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

import tfdistribute
from support.custom_models import mean_square

v1 = tf.compat.v1
Stage = Callable[[Any], Any]

UNITS = (8, 6, 1)


class Placement(tf.estimator.SessionRunHook):
    """Record where the operations of the last step ran, as "CPU:1"."""

    def __init__(self) -> None:
        self.ran: dict[str, str] = {}
        self.kinds: dict[str, str] = {}

    def before_run(self, run_context: Any) -> Any:
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        return tf.estimator.SessionRunArgs([], options=options)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        operations = run_context.session.graph.get_operations()
        self.kinds = {operation.name: operation.type for operation in operations}
        self.ran = {
            node.node_name: device.device.rpartition("device:")[2]
            for device in run_values.run_metadata.step_stats.dev_stats
            for node in device.node_stats
        }

    def of_variables(self) -> dict[str, str]:
        """Return the device of each variable and slot that a step used, without the counters of steps."""
        return {
            name: device
            for name, device in self.ran.items()
            if self.kinds.get(name) == "VarHandleOp" and "step" not in name and "iter" not in name
        }

    def of_products(self, backward: bool) -> dict[str, int]:
        """Count the matrix products of the forward or the backward pass by device."""
        return collections.Counter(
            device
            for name, device in self.ran.items()
            if self.kinds.get(name) == "MatMul" and ("grad" in name.lower()) == backward
        )


def dense_stages(units: Sequence[int] = UNITS, layers: str = "v1") -> list[Stage]:
    """Make the stages of a network, one layer each."""

    def stage(width: int) -> Stage:
        activation = None if width == units[-1] else tf.nn.tanh
        if layers == "keras":
            return lambda x: tf.keras.layers.Dense(width, activation)(x)
        return lambda x: v1.layers.dense(x, width, activation)

    return [stage(width) for width in units]


def in_pipeline(
    stages: Callable[[], list[Stage]] = dense_stages, micro_batches: int = 1, **fields: Any
) -> Any:
    """Make a model function whose layers are a pipeline."""

    def forward(x: Any) -> Any:
        return tfdistribute.pipeline(x, stages(), micro_batches)

    return model_fn(forward, **fields)


def placed(stages: Callable[[], list[Stage]] = dense_stages, **fields: Any) -> Any:
    """Make a model function whose layers are placed by hand."""

    def forward(x: Any) -> Any:
        layers = stages()
        for index, layer in enumerate(layers):
            with tfdistribute.logical_device(index * tfdistribute.logical_devices() // len(layers)):
                x = layer(x)
        return x

    return model_fn(forward, **fields)


def model_fn(forward: Stage, optimizer: Any = "adam", train: Any = None) -> Any:
    """Make a model function of a forward pass."""

    def call(features: Any, labels: Any, mode: str) -> Any:
        if train is not None and mode == "train":
            return train(forward, features["x"], labels)
        output = forward(features["x"])
        loss = None if labels is None else mean_square(labels, output)
        return {"loss": loss, "predictions": {"y": output}, "optimizer": optimizer}

    return call
