"""Sums over all workers in the graph of a training step.

TensorFlow makes them for gradients, losses and statistics of batches alike. They are found in the complete graph, so it
does not matter which optimizer or layer has made them. All workers build the same graph, and so replace the same sums.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tfdistribute.engine.collectives.shared_memory import Layout

_SUM = "CollectiveReduceV2"
# Numbers that NumPy adds as TensorFlow does.
_DTYPES = (tf.float32, tf.float64, tf.int32, tf.int64)
# Smaller sums, such as losses and statistics, are not compressed: the time is that of a message.
_LEAST_COMPRESSED = 2**14
_MOST_JOINED_BYTES = 2**16


@dataclass(frozen=True)
class StepSum:
    """A sum over all workers.

    Args:
        operation: TensorFlow's operation.
        inputs: This worker's part: one tensor or several of the same type.
        outputs: The sums, with the numbers of the inputs.
    """

    operation: Any
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]

    @classmethod
    def of(cls, operation: Any) -> StepSum:
        """Return the tensors that an operation sums; TensorFlow joins and splits several flat ones around it."""
        before = operation.inputs[0].op
        (value,) = operation.outputs
        after = value.consumers()
        parts = (operation.inputs[0],)
        if len(after) == 1 and after[0].type == "SplitV":
            flat = tuple(before.inputs)[:-1] if before.type == "ConcatV2" else parts
            sizes = [each.shape.num_elements() for each in flat if each.shape.rank == 1]
            if sizes == _split_sizes(after[0]):
                return cls(operation, flat, tuple(after[0].outputs))
        return cls(operation, parts, (value,))

    @property
    def layout(self) -> Layout:
        """The type and the sizes of the tensors."""
        sizes = tuple(each.shape.num_elements() for each in self.inputs)
        return Layout(self.inputs[0].dtype.name, sizes)

    def replace(self, sums: Iterable[Any]) -> None:
        """Let the operations that use the sums use these tensors instead."""
        for old, new in zip(self.outputs, sums, strict=True):
            for consumer in old.consumers():
                for index, tensor in enumerate(consumer.inputs):
                    if tensor is old:
                        consumer._update_input(index, new)


def sums_of_step(targets: Iterable[Any], tasks: int) -> list[StepSum]:
    """List the sums over all tasks that a step needs, in the order in which they were added to the graph.

    Args:
        targets: What a step computes: its training operation and its loss.
        tasks: Number of tasks.

    Returns:
        Sums on CPUs of a shape that is known, outside loops and conditions.
    """
    found = needed([getattr(each, "op", each) for each in targets])
    sums = [each for each in found if each.type == _SUM and _is_replaceable(each, tasks)]
    return [StepSum.of(each) for each in sorted(sums, key=lambda each: each._id)]


def joined(sums: Iterable[StepSum]) -> list[StepSum]:
    """Join each small sum to the one before it, unless it needs that one: a sum takes the time of a message."""
    result: list[StepSum] = []
    for each in sums:
        before = result[-1] if result else None
        if (
            before is not None
            and each.layout.size_bytes <= _MOST_JOINED_BYTES
            and each.layout.dtype == before.layout.dtype
            and not {output.op for output in before.outputs} & needed([each.operation])
        ):
            inputs, outputs = before.inputs + each.inputs, before.outputs + each.outputs
            result[-1] = StepSum(before.operation, inputs, outputs)
        else:
            result.append(each)
    return result


def compress(sums: Iterable[StepSum]) -> None:
    """Let a step send large sums as bfloat16: half of the bytes, and two to three digits."""
    for each in sums:
        operation = each.operation
        value = operation.inputs[0]
        if value.dtype != tf.float32 or sum(each.layout.sizes) < _LEAST_COMPRESSED:
            continue
        with beside(each):
            attributes = {
                name: operation.get_attr(name)
                for name in ("merge_op", "final_op", "communication_hint", "timeout_seconds")
            }
            _, *keys = operation.inputs
            summed = tf.raw_ops.CollectiveReduceV2(
                input=tf.cast(value, tf.bfloat16),
                group_size=keys[0],
                group_key=keys[1],
                instance_key=keys[2],
                ordering_token=keys[3:],
                **attributes,
            )
            total = tf.cast(summed, tf.float32)
        StepSum(operation, (value,), tuple(operation.outputs)).replace([total])


def needed(operations: Iterable[Any], known: Collection[Any] = ()) -> set[Any]:
    """Return these operations, and all that they need, except known ones and what only those need."""
    found: set[Any] = set()
    waiting = list(operations)
    while waiting:
        operation = waiting.pop()
        if operation not in found and operation not in known:
            found.add(operation)
            waiting += [*(each.op for each in operation.inputs), *operation.control_inputs]
    return found


def _split_sizes(split: Any) -> list[int | None]:
    """Return the sizes into which an operation splits a tensor, None for one that is not known."""
    given = split.inputs[1]
    sizes = tf.get_static_value(given)
    if sizes is not None:
        return [int(size) for size in sizes]
    if given.op.type != "Pack":
        return [None]
    # TensorFlow multiplies the sizes of a shape that is known.
    shapes = [
        tf.get_static_value(each.op.inputs[0]) if each.op.type == "Prod" else None
        for each in given.op.inputs
    ]
    return [None if shape is None else math.prod(shape.tolist()) for shape in shapes]


@contextlib.contextmanager
def beside(each: StepSum) -> Iterator[None]:
    """Add operations beside a sum: on its device, and independent of anything else."""
    operation = each.operation
    with (
        operation.graph.as_default(),
        tf.device(operation.device),
        tf.control_dependencies(None),
        tf.name_scope(f"{operation.name}/shared/"),
    ):
        yield


def _is_replaceable(operation: Any, tasks: int) -> bool:
    value = operation.inputs[0]
    parts = StepSum.of(operation).inputs
    return (
        operation.get_attr("merge_op") == b"Add"
        and operation.get_attr("final_op") == b"Id"
        and tf.get_static_value(operation.inputs[1]) == tasks
        and value.dtype in _DTYPES
        and all(each.shape.is_fully_defined() for each in parts)
        and tf.DeviceSpec.from_string(operation.device).device_type in (None, "CPU")
        and operation._get_control_flow_context() is None
    )
