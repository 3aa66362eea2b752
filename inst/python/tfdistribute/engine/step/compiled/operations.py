"""Operations that a compiled step computes by other ones, which XLA can compile or which give TensorFlow's numbers.

XLA draws other random numbers, has no results of unknown size, and drops checks. A failed check ends the loop.
"""

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import tensor_util

from tfdistribute.engine.graph import rebuild
from tfdistribute.engine.step.compiled import rows as table_rows
from tfdistribute.engine.step.compiled import supported
from tfdistribute.engine.step.compiled.lookups import NotCompilableError

raw = tf.raw_ops

_PHILOX = 1  # TensorFlow's own generator.
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


class Replacements:
    """Replaces operations of one step; see ``graph.rebuild``."""

    def __init__(self, rows: table_rows.Rows) -> None:
        self._checks: list[Any] = []
        self._rows = rows

    def replace(self, operation: Any, inputs: list[Any]) -> list[Any] | None:
        """Return the results of an operation; None if XLA computes it as TensorFlow does."""
        if is_assertion(operation):
            self._checks.append(inputs[0])
            return [tf.identity(inputs[0]) for _ in operation.outputs]
        known = supported.known_results(operation, inputs)
        if known is not None:
            return known
        if operation.type in _CALLS:
            return rebuild.rebuild_called(
                operation, inputs, self._replace_in_function, supported.check_results
            )
        supported.check_operation(operation, inputs, operation.type in _CHANGED)
        check = _CHECKS.get(operation.type)
        passed = None if check is None else check(operation, inputs)
        if passed is not None:
            self._checks.append(tf.reduce_all(passed))
        new = _REPLACEMENTS.get(operation.type)
        return self._rows.replace(operation, inputs) if new is None else new(operation, inputs)

    def _replace_in_function(self, operation: Any, inputs: list[Any]) -> list[Any] | None:
        if operation.type in table_rows.CHANGED:
            raise NotCompilableError(f"{operation.type} {operation.name!r} is inside of a function")
        return self.replace(operation, inputs)

    def passed(self) -> Any:
        return tf.reduce_all(tf.stack([tf.constant(True), *self._checks]))


def is_assertion(operation: Any) -> bool:
    """Return whether an operation does nothing but call ``Assert`` unless its condition holds."""
    return operation.type in ("If", "StatelessIf") and "AssertGuard" in operation.name


def _within(indices: Any, count: Any) -> Any:
    return (indices >= 0) & (indices < tf.cast(count, indices.dtype))


def _shape(tensor: Any) -> Any:
    return raw.VariableShape(input=tensor) if tensor.dtype == tf.resource else tf.shape(tensor)


def _rows_exist(operation: Any, inputs: list[Any]) -> Any:
    names = operation.node_def.attr
    axis = int(tf.get_static_value(inputs[2])) if operation.type == "GatherV2" else 0
    if operation.type == "ResourceGather":
        axis = names["batch_dims"].i
    return _within(inputs[1], _shape(inputs[0])[axis])


def _places_exist(operation: Any, inputs: list[Any]) -> Any:
    """Check places with an index for each of the first dimensions."""
    if operation.node_def.attr["bad_indices_policy"].s not in (b"", b"DEFAULT", b"ERROR"):
        raise NotCompilableError(f"{operation.type} {operation.name!r} leaves out wrong indices")
    indices, shape = inputs[1], _shape(inputs[0])
    if operation.type == "ScatterNd":
        indices, shape = inputs[0], inputs[2]
    return _within(indices, shape[: indices.shape[-1]])


def _segments_exist(_operation: Any, inputs: list[Any]) -> Any:
    # Negative ones are left out.
    return inputs[1] < tf.cast(inputs[2], inputs[1].dtype)


def _classes_exist(_operation: Any, inputs: list[Any]) -> Any:
    return _within(inputs[1], tf.shape(inputs[0])[1])


def _can_divide(_operation: Any, inputs: list[Any]) -> Any:
    # `!=` compares objects in TensorFlow 1 mode.
    return tf.not_equal(inputs[1], tf.zeros_like(inputs[1])) if inputs[1].dtype.is_integer else None


def _has_power(_operation: Any, inputs: list[Any]) -> Any:
    return inputs[1] >= 0 if inputs[1].dtype.is_integer else None


def _fits(operation: Any, inputs: list[Any]) -> Any:
    """Check that a number has a whole one, which processors and XLA choose differently otherwise."""
    to = operation.outputs[0].dtype
    if not (inputs[0].dtype.is_floating and to.is_integer):
        return None
    number = tf.cast(inputs[0], tf.float64)
    return (number > float(to.min) - 1.0) & (number < float(to.max) + 1.0)


def _is_finite(_operation: Any, inputs: list[Any]) -> Any:
    return tf.math.is_finite(inputs[0])


# What TensorFlow checks and XLA does not.
_CHECKS: dict[str, Callable[[Any, list[Any]], Any]] = {
    "Assert": lambda operation, inputs: inputs[0],
    "Cast": _fits,
    "Pow": _has_power,
    "SparseSoftmaxCrossEntropyWithLogits": _classes_exist,
    **dict.fromkeys(("CheckNumerics", "CheckNumericsV2"), _is_finite),
    **dict.fromkeys(("Gather", "GatherV2", "ResourceGather"), _rows_exist),
    **{f"ResourceScatter{each}": _rows_exist for each in ("Add", "Sub", "Update", "Min", "Max")},
    **{f"UnsortedSegment{each}": _segments_exist for each in ("Sum", "Min", "Max")},
    **dict.fromkeys(("GatherNd", "ScatterNd"), _places_exist),
    **{f"ResourceScatterNd{each}": _places_exist for each in ("Add", "Sub", "Update")},
    **{f"TensorScatter{each}": _places_exist for each in ("Add", "Sub", "Update", "Min", "Max")},
    **dict.fromkeys(("Div", "FloorDiv", "FloorMod", "Mod"), _can_divide),
    **dict.fromkeys(("TruncateDiv", "TruncateMod"), _can_divide),
}


def _draw_bits(counter: Any, key: Any, count: int, dtype: Any) -> Any:
    return raw.StatelessRandomUniformFullIntV2(
        shape=[count],
        key=tf.cast(tf.reshape(key, [1]), tf.uint64),
        counter=tf.cast(counter, tf.uint64),
        alg=_PHILOX,
        dtype=dtype,
    )


def _uniform(bits: Any) -> Any:
    """Return numbers from 0 to 1, as ``Uint32ToFloat`` in tensorflow/core/lib/random/random_distributions.h."""
    fraction = tf.bitwise.bitwise_and(bits, tf.constant(0x7FFFFF, tf.uint32))
    bits = tf.bitwise.bitwise_or(fraction, tf.constant(127 << 23, tf.uint32))
    return tf.bitcast(bits, tf.float32) - 1.0


def _normal(bits: Any) -> Any:
    """Return normal numbers, as ``BoxMullerFloat`` in the same file."""
    first, second = tf.unstack(tf.reshape(_uniform(bits), [-1, 2]), axis=1)
    distance = tf.sqrt(-2.0 * tf.math.log(tf.maximum(first, 1e-7)))
    angle = 2.0 * math.pi * second
    return tf.stack([tf.sin(angle) * distance, tf.cos(angle) * distance], 1)


def _draw(operation: Any, shape: Any, counter: Any, key: Any, distribution: Any) -> tuple[Any, int]:
    dimensions = tensor_util.constant_value_as_shape(shape)
    if not dimensions.is_fully_defined() or operation.outputs[0].dtype != tf.float32:
        raise NotCompilableError(
            f"{operation.type} {operation.name!r} draws numbers of an unknown form"
        )
    count = dimensions.num_elements()
    # Normal numbers come in pairs.
    numbers = distribution(_draw_bits(counter, key, count + count % 2, tf.uint32))
    return tf.reshape(tf.reshape(numbers, [-1])[:count], dimensions), count


def _from_variable(distribution: Any) -> Any:
    def replace(operation: Any, inputs: list[Any]) -> list[Any]:
        state = raw.ReadVariableOp(resource=inputs[0], dtype=tf.int64)
        numbers, count = _draw(operation, inputs[2], state[:2], state[2], distribution)
        # TensorFlow reserves as many.
        after = tf.stack([state[0] + 256 * count, state[1], state[2]])
        raw.AssignVariableOp(resource=inputs[0], value=after)
        return [numbers]

    return replace


def _from_counter(distribution: Any) -> Any:
    def replace(operation: Any, inputs: list[Any]) -> list[Any]:
        shape, key, counter = inputs[:3]
        return [_draw(operation, shape, counter, key[0], distribution)[0]]

    return replace


def _key_and_counter(_operation: Any, inputs: list[Any]) -> list[Any]:
    """Return the key and counter of a seed, as ``GenerateKey`` in tensorflow/core/kernels/stateless_random_ops.cc."""
    seed, scramble = tf.cast(inputs[0], tf.int64), tf.constant(0x02461E293EC8F720, tf.uint64)
    key, high = tf.unstack(_draw_bits(seed, scramble, 2, tf.uint64))
    return [tf.reshape(key, [1]), tf.stack([tf.constant(0, tf.uint64), high])]


_REPLACEMENTS: dict[str, Callable[[Any, list[Any]], list[Any] | None]] = {
    "Assert": lambda operation, inputs: [],
    "CheckNumerics": lambda operation, inputs: [tf.identity(inputs[0])],
    "CheckNumericsV2": lambda operation, inputs: [tf.identity(inputs[0])],
    "StatefulUniform": _from_variable(_uniform),
    "StatefulStandardNormalV2": _from_variable(_normal),
    "StatelessRandomGetKeyCounter": _key_and_counter,
    "StatelessRandomUniformV2": _from_counter(_uniform),
    "StatelessRandomNormalV2": _from_counter(_normal),
}
_CHANGED = table_rows.CHANGED | _REPLACEMENTS.keys()
