"""Sums of a training step in memory that workers share: when parts are computed, written and read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfdistribute.engine.collectives.step_sums import StepSum, beside, needed


def share(
    sums: Sequence[StepSum],
    write: Callable[..., Any],
    read: Callable[[int], Any],
    one_core: bool,
) -> None:
    """Let a step sum in memory that workers share.

    Parts are written as soon as they are known, while others are still being computed. Only one sum at a time waits for
    other workers, because it occupies a thread. The order of the graph is one in which no sum waits for a later one.

    Args:
        sums: The sums.
        write: Called with the number of a sum and this worker's parts.
        read: Called with the number of a sum; returns flat arrays.
        one_core: Whether this worker has one core. It then computes the parts in turn, and reads sums after all parts
            are written. Its threads would otherwise compute several at a time, each more slowly: parts would be written
            late, and at other times in each worker, so that workers would wait for each other several times in a step.
    """
    writes = [_written(number, each, write) for number, each in enumerate(sums)]
    in_turn = _compute_in_turn(sums, writes) if one_core else []
    last: list[Any] = []
    for number, each in enumerate(sums):
        with beside(each), tf.control_dependencies([writes[number], *in_turn, *last]):
            values = tf.numpy_function(
                functools.partial(read, number), [], [part.dtype for part in each.inputs]
            )
            last = [values[0].op]
            each.replace(
                tf.reshape(value, part.shape)
                for value, part in zip(values, each.inputs, strict=True)
            )


def _written(number: int, each: StepSum, write: Callable[..., Any]) -> Any:
    def written(*parts: Any) -> list[Any]:
        write(number, parts)
        return []

    with beside(each):
        return tf.numpy_function(written, list(each.inputs), [])


def _compute_in_turn(sums: Sequence[StepSum], writes: Sequence[Any]) -> list[Any]:
    """Let what only later sums need wait until the parts of those before are written.

    Returns:
        The writes of the sums whose parts depend on no sum. The parts of others are computed after those are read.
    """
    outputs = {output.op for each in sums for output in each.outputs}
    before: set[Any] = set()
    in_turn: list[Any] = []
    for each, write in zip(sums, writes, strict=True):
        operations = needed((part.op for part in each.inputs), before)
        if not outputs & operations:
            for operation in operations:
                if any(given.op in before for given in operation.inputs):
                    operation._add_control_input(in_turn[-1])
            before |= operations
            in_turn.append(write)
    return in_turn
