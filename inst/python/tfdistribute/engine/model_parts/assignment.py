"""Logical devices: a model function names the part of a model, and the run configuration says which device that is.

The word is TensorFlow's, which has logical devices for TPUs only.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import values_util
from tensorflow.python.framework import ops

from tfdistribute.engine import placement, tpu
from tfdistribute.errors import ModelError, StrategyError

# For each replica of this process, its devices.
ReplicaDevices = tuple[tuple[str, ...], ...]

_ROWS = "_tfdistribute_rows"


@dataclass
class ModelScope:
    """A model function that is building the graph of one replica.

    ``outer_devices`` counts the device scopes entered before the model function was called, and ``has_copies`` says
    whether the graph holds operations that no gradient tape has seen.
    """

    devices: tuple[str, ...]
    outer_devices: int
    has_copies: bool = False


class LogicalDeviceName(str):
    """Name of a device, with its index among the logical devices of its replica."""

    logical_index: int

    def __new__(cls, name: str, index: int) -> "LogicalDeviceName":
        """Make the name."""
        device_name = super().__new__(cls, name)
        device_name.logical_index = index
        return device_name


class _Here(threading.local):
    scope: ModelScope | None = None


_here = _Here()


def set_rows(extended: Any, rows: ReplicaDevices) -> None:
    """Give a strategy's ``extended`` the devices of its replicas."""
    setattr(extended, _ROWS, rows)


def rows_of(extended: Any) -> ReplicaDevices:
    """Return the devices of a strategy's replicas; empty if it has none of this package."""
    return getattr(extended, _ROWS, ())


@contextlib.contextmanager
def model_scope() -> Iterator[None]:
    """Allow logical devices inside the block, which calls a model function in one replica."""
    strategy = tf.distribute.get_strategy()
    rows = rows_of(strategy.extended)
    replica = values_util.get_current_replica_id_as_int() if rows else None
    devices = () if replica is None else rows[replica % len(rows)]
    before = _here.scope
    _here.scope = ModelScope(devices, len(_device_stack()))
    try:
        yield
    finally:
        _here.scope = before


def current_scope() -> ModelScope | None:
    """Return the scope of the model function that is being called on this thread."""
    return _here.scope


def required_scope(caller: str) -> ModelScope:
    """Return the current scope; ModelError if no model function is being called."""
    if _here.scope is None:
        raise ModelError(
            f"{caller} is called outside a model function, where no model is being built.",
            "Call it inside the model_fn of estimator(), or in a step of training_loop().",
        )
    return _here.scope


def logical_devices() -> int:
    """Count the devices of this replica: 1 without ``devices_per_replica`` or a model-parallel strategy.

    Raises ModelError if no model function is being called.
    """
    return max(1, len(required_scope("logical_devices()").devices))


def logical_device(index: int, first: int = 0) -> contextlib.AbstractContextManager[Any]:
    """Place operations and variables that are made in the context that this returns.

    The variables' optimizer slots and the operations' gradients follow. With one device, every index is that device,
    so that a model in parts also trains, evaluates and predicts on one.

    Args:
        index: Logical device of this replica.
        first: Index of the first device: 0 in Python, 1 in R.

    Raises:
        ModelError: if no model function is being called.
        StrategyError: if the replica has several devices, but not this one.

    Source:
        ``experimental_logical_device`` of https://www.tensorflow.org/api_docs/python/tf/distribute/TPUStrategy
    """
    devices = required_scope("logical_device()").devices
    several = len(devices) > 1
    last = len(devices) - 1 + first
    if index < first or (several and index > last):
        there = f"a replica has {len(devices)} devices, from {first} to {last}"
        raise StrategyError(
            f"logical_device({index}) does not exist: {there if several else f'the first is {first}'}.",
            "Give the strategy more devices, or use one of these." if several else None,
            argument="index",
            value=str(index),
        )
    if not several:
        return contextlib.nullcontext()
    position = index - first
    strategy = tf.distribute.get_strategy()
    if tpu.is_tpu(strategy):
        return strategy.extended.experimental_logical_device(position)
    return ops.device(LogicalDeviceName(devices[position], position))


def named_devices() -> list[Any]:
    """List the device scopes that the model function is in, outermost first; names or None.

    Functions of operations are left out.
    """
    scope = _here.scope
    if scope is None:
        return []
    entries = _device_stack()
    inner = entries[: max(0, len(entries) - scope.outer_devices)]
    names = [entry._device_name_or_function for entry in reversed(inner)]
    return [name for name in names if name is None or not callable(name)]


def device_of_copy(row: tuple[str, ...], own: str, names: list[Any]) -> str:
    """Return the device of one replica's copy of a variable.

    ``row`` has the replica's devices, of which ``own`` stands for it. ``names`` is the result of ``named_devices()``
    in the first replica.
    """
    device = own
    for name in names:
        there = row[name.logical_index] if isinstance(name, LogicalDeviceName) else name
        device = own if there is None else _merge(device, there)
    return device


def _merge(outer: str, inner: Any) -> str:
    specification = inner if isinstance(inner, tf.DeviceSpec) else tf.DeviceSpec.from_string(inner)
    return tf.DeviceSpec.from_string(outer).make_merged_spec(specification).to_string()


def _device_stack() -> list[Any]:
    # Innermost first.
    return list(ops.get_default_graph()._device_function_stack.peek_objs())


class NoteUnusedDevices(tf.estimator.SessionRunHook):
    """Notes devices of a replica that nothing of the graph is placed on."""

    def __init__(self, rows: ReplicaDevices, note: Callable[[str], Any]) -> None:
        self._rows = rows
        self._note = note

    def begin(self) -> None:
        """Look at the graph."""
        used = {
            placement.type_and_index(name)
            for name in set(placement.devices_of(tf.compat.v1.get_default_graph()))
        }
        unused = [
            name.removeprefix("/device:")
            for row in self._rows
            for name in row
            if placement.type_and_index(name) not in used
        ]
        if unused:
            self._note(
                f"Nothing of the model is on {', '.join(unused)}. Place layers there with pipeline() or "
                "logical_device()."
            )
