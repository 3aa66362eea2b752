"""Variables where the model function says, under strategies that would keep them on a replica's first device."""

import functools
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import (
    collective_all_reduce_strategy,
    cross_device_ops,
    mirrored_strategy,
    one_device_strategy,
    tpu_strategy,
)
from tensorflow.python.framework import ops

from tfdistribute.engine import patches
from tfdistribute.engine.model_parts import assignment
from tfdistribute.engine.model_parts.assignment import ReplicaDevices

_ONE_DEVICE = one_device_strategy.OneDeviceExtended
_MIRRORED = mirrored_strategy.MirroredExtended
_COLLECTIVE = collective_all_reduce_strategy.CollectiveAllReduceExtended


def adopt(strategy: Any, rows: ReplicaDevices) -> Any:
    """Make a strategy place variables on the devices that a model function names; return the same object.

    One device, mirrored and multi-worker mirrored strategies are changed in place, as are their deep copies. Others
    are not, because all their variables are in one place, or they have logical devices of their own (TPU).

    Args:
        strategy: A ``tf.distribute.Strategy``, or None.
        rows: For each replica of this process, its devices; the first stands for the replica.

    Source:
        ``MirroredExtended._create_variable`` in tensorflow/python/distribute/mirrored_strategy.py.
    """
    extended: Any = getattr(strategy, "extended", None)
    if isinstance(extended, tpu_strategy.TPUExtended):
        assignment.set_rows(extended, rows)
    if not isinstance(extended, (_ONE_DEVICE, _MIRRORED)):
        return strategy
    assignment.set_rows(extended, rows)
    patches.put("placed_variables", extended, "__class__", _placing_class(type(extended)))
    if isinstance(extended, _COLLECTIVE) and len(rows[0]) > 1:
        _initialize_again(extended)
    return strategy


def _initialize_again(extended: Any) -> None:
    with tf.Graph().as_default():
        extended._initialize_strategy(extended._cluster_resolver, devices=None)


@functools.cache
def _placing_class(extended: type) -> type:
    return type(f"Placing{extended.__name__}", (_PlacesVariables, extended), {})


class _PlacesVariables:
    def _create_variable(self: Any, next_creator: Any, **kwargs: Any) -> Any:
        create = super()._create_variable  # type: ignore[misc]
        # Slots are made beside their variable.
        beside = kwargs.get("colocate_with") is not None
        in_replica = tf.distribute.get_replica_context() is not None
        names = [] if beside or not in_replica else assignment.named_devices()
        if not names:
            return create(next_creator, **kwargs)

        def place(**kwargs: Any) -> Any:
            own = ops.get_default_graph()._device_function_stack.peek_top_obj().display_name
            row = assignment.rows_of(self)[self.worker_devices.index(own)]
            with ops.device(assignment.device_of_copy(row, own, names)):
                return next_creator(**kwargs)

        return create(place, **kwargs)

    def _update(self: Any, var: Any, fn: Any, args: Any, kwargs: Any, group: bool) -> Any:
        def beside(variable: Any, *args: Any, **kwargs: Any) -> Any:
            with ops.device(variable.device):
                return fn(variable, *args, **kwargs)

        return super()._update(var, beside, args, kwargs, group)  # type: ignore[misc]

    def _get_cross_device_ops(self: Any, value: Any) -> Any:
        device_ops = super()._get_cross_device_ops(value)  # type: ignore[misc]
        devices = getattr(value, "_devices", ())
        # These need a GPU of its own for each value, and a model function may name another device.
        on_gpus = isinstance(device_ops, cross_device_ops.AllReduceCrossDeviceOps)
        if on_gpus and (len(set(devices)) < len(devices) or any("CPU" in each for each in devices)):
            return _on_one_device()
        return device_ops

    def _batch_reduce_to(
        self: Any, reduce_op: Any, value_destination_pairs: Any, options: Any
    ) -> Any:
        # TensorFlow sums values in packs only if all of them lie on the same devices.
        pairs = list(value_destination_pairs)
        groups: dict[Any, list[int]] = {}
        for position, (value, _) in enumerate(pairs):
            groups.setdefault(getattr(value, "_devices", None), []).append(position)
        summed: dict[int, Any] = {}
        for positions in groups.values():
            results = super()._batch_reduce_to(  # type: ignore[misc]
                reduce_op, [pairs[position] for position in positions], options
            )
            summed.update(zip(positions, results, strict=True))
        return [summed[position] for position in range(len(pairs))]

    def _initialize_local_devices(self: Any, cluster_resolver: Any, worker_device: str) -> Any:
        rows = assignment.rows_of(self)
        if len(rows[0]) == 1:
            return super()._initialize_local_devices(cluster_resolver, worker_device)  # type: ignore[misc]
        first = [tf.DeviceSpec.from_string(row[0]) for row in rows]
        names = tuple(
            f"{worker_device}/device:{each.device_type}:{each.device_index}" for each in first
        )
        return names, first[0].device_type


@functools.cache
def _on_one_device() -> Any:
    return cross_device_ops.ReductionToOneDevice()
