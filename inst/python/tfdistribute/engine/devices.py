"""The CPUs and GPUs of this process, and logical CPUs made before TensorFlow starts."""

from __future__ import annotations

import os

import tensorflow as tf
from tensorflow.python.eager import context

from tfdistribute.errors import ArgumentError, StrategyError

# Logical CPUs can be made only before TensorFlow starts, so that a session which began without a strategy could
# not go on with strategy_mirrored(devices = 2). Spare ones cost nothing that can be measured: with 1, 4 and 16
# of them TensorFlow starts in 18 to 21 ms and holds 390 MB and 7 threads alike.
DEFAULT_CPUS = 4
MOST_CPUS = 128


def counts() -> tuple[int, int]:
    """Count the devices that can be had in this process. Does not start TensorFlow's devices.

    Returns:
        Logical CPUs and GPUs. Before the start any number of logical CPUs up to 128 can be had.
    """
    cpus = len(tf.config.list_logical_devices("CPU")) if _is_started() else MOST_CPUS
    return cpus, len(tf.config.list_physical_devices("GPU"))


def prepare(cpus: int) -> None:
    """Make logical CPUs, as long as TensorFlow has not started its devices.

    More are made than asked for (``TFDISTRIBUTE_CPU_DEVICES``, 4 by default), so that later trainings
    in the same process can use several.

    Args:
        cpus: Logical CPUs that are needed.

    Raises:
        ArgumentError: TFDISTRIBUTE_CPU_DEVICES is not a number.
        StrategyError: TensorFlow was already started with fewer.

    Source:
        https://www.tensorflow.org/api_docs/python/tf/config/set_logical_device_configuration
    """
    if _is_started():
        there = len(tf.config.list_logical_devices("CPU"))
        if there < cpus:
            raise StrategyError(
                f"TensorFlow was already started with {there} CPU device{'s' if there > 1 else ''}, "
                f"and {cpus} are needed.",
                f"Restart R, or set options(tfdistribute.cpu_devices = {cpus}) before the first training.",
                argument="devices",
                value=str(cpus),
            )
        return
    physical = tf.config.list_physical_devices("CPU")[0]
    configured = len(tf.config.get_logical_device_configuration(physical) or ())
    # A number that somebody else has set stays unless it is too small.
    if configured >= max(cpus, 1):
        return
    wanted = max(cpus, _default_cpus())
    tf.config.set_logical_device_configuration(physical, [tf.config.LogicalDeviceConfiguration()] * wanted)


def _is_started() -> bool:
    return bool(context.context()._initialized)


def _default_cpus() -> int:
    text = os.environ.get("TFDISTRIBUTE_CPU_DEVICES", str(DEFAULT_CPUS))
    if not text.isdecimal() or not 1 <= int(text) <= MOST_CPUS:
        raise ArgumentError(
            f'The environment variable TFDISTRIBUTE_CPU_DEVICES must be a number from 1 to {MOST_CPUS}, not "{text}".',
            "Unset it, or set it to the number of logical CPU devices.",
            argument="TFDISTRIBUTE_CPU_DEVICES",
            value=text,
        )
    return int(text)
