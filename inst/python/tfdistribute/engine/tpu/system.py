"""The TPU of this machine, and TensorFlow's strategy for it.

Estimators train in graphs and sessions, so the TPU is also looked for in a graph: an R session that has used TensorFlow
keeps its eager devices. TensorFlow initialises the TPU before it makes the session of a training
(``SessionManager._restore_checkpoint``).
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import tpu_strategy
from tensorflow.python.framework import kernels

from tfdistribute.errors import StrategyError

_RESOLVER = tf.distribute.cluster_resolver.TPUClusterResolver


def has_kernels() -> bool:
    """Return whether this TensorFlow was built for TPUs; that of PyPI knows their operations only."""
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
            argument="train_distribute",
            value="strategy_tpu()",
        )
    return tuple(f"/device:TPU:{index}" for index in indices)


def strategy(steps_per_run: int) -> Any:
    """Make TensorFlow's strategy, which takes some steps in one ``session.run``."""
    with tf.Graph().as_default():
        return tf.compat.v1.distribute.experimental.TPUStrategy(
            _RESOLVER("local"), steps_per_run=steps_per_run
        )


def is_tpu(strategy: Any) -> bool:
    return isinstance(getattr(strategy, "extended", None), tpu_strategy.TPUExtended)


def steps_per_run(strategy: Any) -> int:
    """Return the steps that a strategy takes in one ``session.run``: 1, except on a TPU."""
    return strategy.extended.steps_per_run if is_tpu(strategy) else 1
