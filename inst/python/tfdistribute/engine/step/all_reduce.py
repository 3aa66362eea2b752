"""The pass `all_reduce`: sums over all workers in memory that they share, or compressed.

It finds all-reduce operations in the complete graph, whichever optimizer or layer has made them.
"""

import contextlib
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tfdistribute.engine.collectives.connections import Connections, Listener, shared_memory_domain
from tfdistribute.engine.collectives.shared_memory import Layout, NoSharedMemoryError, SharedSums
from tfdistribute.engine.graph import edit, walk
from tfdistribute.engine.step import passes
from tfdistribute.engine.step.program import StepProgram

_SUM = "CollectiveReduceV2"
# Numbers that NumPy adds as TensorFlow does.
_DTYPES = (tf.float32, tf.float64, tf.int32, tf.int64)
# Smaller sums, such as losses and statistics, are not compressed: the time is that of a message.
_LEAST_COMPRESSED = 2**14
_MOST_JOINED_BYTES = 2**16
# Time in which another worker, which has just agreed to share memory, must connect.
_CONNECT_S = 30.0


class AllReduce:
    """The pass as one worker performs it: the worker ``rank`` of ``tasks``.

    ``shares`` if it may share memory, ``compresses`` if sums through a network are compressed.
    """

    def __init__(self, rank: int, tasks: int, shares: bool, compresses: bool) -> None:
        self._rank = rank
        self._tasks = tasks
        is_on = passes.is_on("all_reduce")
        self._compresses = compresses and is_on
        self.domain = shared_memory_domain() if shares and is_on else None
        self._listener = None if self.domain is None else Listener()
        self._connections: Connections | None = None
        self._has_run = False

    @property
    def socket(self) -> str | None:
        return None if self._listener is None else self._listener.name

    def run(self, program: StepProgram, sockets: Sequence[str]) -> str | None:
        """Replace the sums in the graph of a step, before its first session.

        ``sockets`` are all workers' names by rank, empty if they do not share memory. Return why memory cannot be
        shared after all, so that TensorFlow's sums stay, in one sentence; or None.

        BrokenExchangeError if another worker has ended or does not come, and ClusterError if it sums other tensors.
        """
        if self._has_run or not (sockets or self._compresses):
            return None
        self._has_run = True
        sums, note = sums_of_step(program.targets, self._tasks), None
        if sockets and sums:
            try:
                self._share(join(sums), sockets)
                return None
            except NoSharedMemoryError as error:
                note = error.note
        if self._compresses:
            compress(sums)
        return note

    def _share(self, sums: Sequence[Any], sockets: Sequence[str]) -> None:
        assert self._listener is not None
        self._connections = Connections(self._listener, self._rank, sockets, _CONNECT_S)
        shared = SharedSums(self._connections, self._rank, [each.layout for each in sums])
        share(sums, shared.write, shared.read)

    def close(self) -> None:
        """End all waits of this worker and of the others. Idempotent."""
        if self._listener is not None:
            self._listener.close()
        if self._connections is not None:
            self._connections.close()


@dataclass(frozen=True)
class StepSum:
    """A sum over all workers: ``inputs`` are this worker's tensors of one type, ``outputs`` the sums."""

    operation: Any
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]

    @classmethod
    def of(cls, operation: Any) -> "StepSum":
        """Return the tensors that an operation sums; TensorFlow joins and splits several flat ones around it."""
        before = operation.inputs[0].op
        (value,) = operation.outputs
        after = walk.users(operation)
        parts = (operation.inputs[0],)
        if len(after) == 1 and after[0].type == "SplitV":
            flat = tuple(before.inputs)[:-1] if before.type == "ConcatV2" else parts
            sizes = [each.shape.num_elements() for each in flat if each.shape.rank == 1]
            if sizes == _split_sizes(after[0]):
                return cls(operation, flat, tuple(after[0].outputs))
        return cls(operation, parts, (value,))

    @property
    def layout(self) -> Layout:
        sizes = tuple(each.shape.num_elements() for each in self.inputs)
        return Layout(self.inputs[0].dtype.name, sizes)

    def replace(self, sums: Iterable[Any]) -> None:
        for old, new in zip(self.outputs, sums, strict=True):
            edit.redirect(old, new)


def sums_of_step(targets: Iterable[Any], tasks: int) -> list[StepSum]:
    """List the sums over all tasks that a step's ``targets`` need, in the order of the graph.

    Only sums on CPUs of a known shape, outside loops and conditions, are listed.
    """
    operations = walk.in_order(walk.ancestors(targets))
    sums = (each for each in operations if each.type == _SUM and _is_replaceable(each, tasks))
    return [StepSum.of(each) for each in sums]


def join(sums: Iterable[StepSum]) -> list[StepSum]:
    """Join each small sum to the one before it, unless it needs that one, because each takes a message."""
    result: list[StepSum] = []
    for each in sums:
        before = result[-1] if result else None
        if (
            before is not None
            and each.layout.size_bytes <= _MOST_JOINED_BYTES
            and each.layout.dtype == before.layout.dtype
            and not {output.op for output in before.outputs} & set(walk.ancestors([each.operation]))
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


def share(sums: Sequence[StepSum], write: Callable[..., Any], read: Callable[[int], Any]) -> None:
    """Let a step sum in memory that workers share.

    Parts are written as soon as they are known. Only one sum at a time waits for other workers, because it occupies a
    thread, in an order in which no sum waits for a later one. ``write`` gets the number of a sum and this worker's
    parts, and ``read`` returns flat arrays.
    """
    writes = [_add_write(number, each, write) for number, each in enumerate(sums)]
    last: list[Any] = []
    for number, each in enumerate(sums):
        with beside(each), tf.control_dependencies([writes[number], *last]):
            values = tf.numpy_function(
                functools.partial(read, number), [], [part.dtype for part in each.inputs]
            )
            last = [values[0].op]
            each.replace(
                tf.reshape(value, part.shape)
                for value, part in zip(values, each.inputs, strict=True)
            )


def _add_write(number: int, each: StepSum, write: Callable[..., Any]) -> Any:
    def write_parts(*parts: Any) -> list[Any]:
        write(number, parts)
        return []

    with beside(each):
        return tf.numpy_function(write_parts, list(each.inputs), [])


def _split_sizes(split: Any) -> list[int | None]:
    size_tensor = split.inputs[1]
    sizes = tf.get_static_value(size_tensor)
    if sizes is not None:
        return [int(size) for size in sizes]
    if size_tensor.op.type != "Pack":
        return [None]
    # TensorFlow multiplies the sizes of a shape that is known.
    shapes = [
        tf.get_static_value(each.op.inputs[0]) if each.op.type == "Prod" else None
        for each in size_tensor.op.inputs
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
