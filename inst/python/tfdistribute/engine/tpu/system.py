"""The TPU of this machine, and TensorFlow's strategy for it.

Estimators look for the TPU in a graph, because an R session that has used TensorFlow keeps its eager devices.
TensorFlow initializes the TPU before the session of a training (``SessionManager._restore_checkpoint``).
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import tpu_strategy
from tensorflow.python.framework import kernels

from tfdistribute.errors import StrategyError

# Marks of operations in a program for TPUs, and in one for XLA on another device.
PROGRAM_MARKS = ("_tpu_replicate", "_xla_compile_id")

_RESOLVER = tf.distribute.cluster_resolver.TPUClusterResolver


def has_kernels() -> bool:
    """Return whether this TensorFlow was built for TPUs. The packages on PyPI have only their operations."""
    return bool(kernels.get_registered_kernels_for_op("ConfigureDistributedTPU").kernel)


def cores() -> tuple[str, ...]:
    """Return the names of the TPU's cores; StrategyError if TensorFlow sees no TPU."""
    with tf.Graph().as_default():
        metadata = _RESOLVER("local").get_tpu_system_metadata()
    names = [tf.DeviceSpec.from_string(device.name) for device in metadata.devices]
    indices = sorted(name.device_index for name in names if name.device_type == "TPU")
    if not indices:
        raise StrategyError(
            "strategy_tpu() trains on the TPU of this machine, and TensorFlow finds none.",
            "Another process may use it: `sudo lsof /dev/accel* /dev/vfio/*` lists them.",
            argument="strategy",
            value="strategy_tpu()",
        )
    return tuple(f"/device:TPU:{index}" for index in indices)


def strategy(steps_per_run: int) -> Any:
    with tf.Graph().as_default():
        return tf.compat.v1.distribute.experimental.TPUStrategy(
            _RESOLVER("local"), steps_per_run=steps_per_run
        )


def is_tpu(strategy: Any) -> bool:
    return isinstance(getattr(strategy, "extended", None), tpu_strategy.TPUExtended)


def steps_per_run(strategy: Any) -> int:
    """Return the steps that a strategy takes in one ``session.run``: 1, except on a TPU."""
    return strategy.extended.steps_per_run if is_tpu(strategy) else 1


def note_on_hooks(strategy: Any) -> str | None:
    """Return a sentence about when hooks are called, or None if they are called after each step."""
    steps = steps_per_run(strategy)
    if steps == 1:
        return None
    return f"Hooks are called after {steps} steps at a time, when the TPU returns to the host (`steps_per_run`)."


@contextlib.contextmanager
def program() -> Iterator[None]:
    """Call a model function inside the block; on a TPU, it makes a part of a program.

    Values never leave a program, so a session that writes summaries would fail.

    Source:
        ``_UNSUPPORTED_OPS`` in tensorflow/python/tpu/tpu_replication.py.
    """
    v1 = tf.compat.v1
    summaries = v1.get_default_graph().get_collection_ref(v1.GraphKeys.SUMMARIES)
    before = len(summaries)
    yield
    if is_tpu(tf.distribute.get_strategy()):
        del summaries[before:]
