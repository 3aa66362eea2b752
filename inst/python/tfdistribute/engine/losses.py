"""Checks of the loss that a user's model function returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tfdistribute.engine.graph import effects, walk
from tfdistribute.errors import ModelError

# Operations that combine two tensors element by element. They broadcast (n, 1) and (n) to (n, n).
_ELEMENTWISE = frozenset(
    {
        *("Add", "AddV2", "Sub", "Mul", "MulNoNan", "Div", "RealDiv", "DivNoNan", "Pow"),
        *("Maximum", "Minimum", "SquaredDifference", "Xlogy", "Xlog1py"),
    }
)
# Operations that pass a tensor on, and those that may add a dimension.
_PASSING = frozenset({"Identity", "Cast", "StopGradient"})
_EXPANDING = frozenset({"ExpandDims", "Reshape", "StridedSlice"})


def check_one_number(loss: Any) -> None:
    """Check that a loss is one number; ModelError if its shape says that it has several values."""
    shape = getattr(loss, "shape", None)
    if shape is not None and tf.TensorShape(shape).rank and any(size != 1 for size in shape):
        raise ModelError(
            f"`loss` has the shape {_format(shape)}, and must be one number.",
            "Return its mean: tf$reduce_mean(loss).",
            argument="loss",
            value=_format(shape),
        )


def check_rows_apart(loss: Any, features: Any, labels: Any) -> None:
    """Check that a loss does not combine each row's prediction with every other row's label.

    That happens, without an error, where predictions of shape (n, 1), as a Keras layer makes them, meet labels of shape
    (n): TensorFlow broadcasts both to (n, n). A tensor that the model function itself has expanded from (n) to (n, 1)
    pairs rows on purpose, and so do two tensors of two dimensions. ModelError names the operation and both shapes.
    """
    if labels is None or not isinstance(loss, tf.Tensor):
        return
    inputs = _InputNames(_names(features), _names(labels))
    for operation in walk.ancestors([loss], control=False):
        for column, row in _broadcast(operation):
            if not inputs.is_expanded(column) and inputs.are_mixed_up(column, row):
                raise _refusal(operation, column, row, inputs.origin(column))


@dataclass(frozen=True)
class _Origin:
    """What a tensor is computed from."""

    features: bool
    labels: bool
    variables: bool


class _InputNames:
    """The names of the tensors that a model function was given."""

    def __init__(self, features: frozenset[str], labels: frozenset[str]) -> None:
        self._features = features
        self._labels = labels

    def origin(self, tensor: Any) -> _Origin:
        names = self._features | self._labels

        def follow(operation: Any) -> list[Any]:
            return [read.op for read in operation.inputs if read.name not in names]

        operations = list(walk.reach([] if tensor.name in names else [tensor.op], follow))
        read = {tensor.name, *(each.name for one in operations for each in one.inputs)}
        variables = any(operation.type in effects.VARIABLES for operation in operations)
        return _Origin(bool(read & self._features), bool(read & self._labels), variables)

    def is_expanded(self, column: Any) -> bool:
        """Return whether the model function made (n, 1) of (n)."""
        passed = list(walk.chain(column, _PASSING))
        if any(each.name in self._features | self._labels for each in passed):
            return False
        operation = passed[-1].op
        return operation.type in _EXPANDING and operation.inputs[0].shape.rank == 1

    def are_mixed_up(self, column: Any, row: Any) -> bool:
        """Return whether one tensor is data, and the other what the model makes of data."""
        origins = self.origin(column), self.origin(row)
        data = [each for each in origins if not each.variables]
        predictions = [each for each in origins if each.variables and each.features]
        if len(data) != 1 or len(predictions) != 1 or not (data[0].labels or predictions[0].labels):
            return False
        # A size that is known may be another than the batch's, except that of labels without a further dimension.
        return row.shape[0] is None or (data[0] is origins[1] and row.name in self._labels)


def _names(values: Any) -> frozenset[str]:
    tensors = tf.nest.flatten(values, expand_composites=True)
    return frozenset(tensor.name for tensor in tensors if isinstance(tensor, tf.Tensor))


def _broadcast(operation: Any) -> Iterator[tuple[Any, Any]]:
    """Iterate over the inputs of shapes (n, 1) and (n) that an operation broadcasts to (n, n): none or one pair."""
    if operation.type not in _ELEMENTWISE:
        return
    left, right = operation.inputs
    for column, row in ((left, right), (right, left)):
        if (column.shape.rank, row.shape.rank) == (2, 1) and column.shape[1] == 1:
            rows = column.shape[0]
            if rows == row.shape[0] and rows != 1:
                yield column, row


def _refusal(operation: Any, column: Any, row: Any, origin: _Origin) -> ModelError:
    shapes = ", ".join(map(_format, (column.shape, row.shape)))
    what = "labels" if not origin.variables else "predictions"
    return ModelError(
        f"The loss combines each row with every other row: operation {operation.name!r} ({operation.type}) has inputs "
        f"of the shapes {_format(column.shape)} and {_format(row.shape)}, and its result has "
        f"{_format(operation.outputs[0].shape)}.",
        f"Drop the last dimension of the {what}: tf$squeeze({what}, 1L). If rows are paired on purpose, expand the "
        "other input with tf$expand_dims(x, 0L).",
        argument="loss",
        value=shapes,
    )


def _format(shape: Any) -> str:
    return f"({', '.join('batch' if size is None else str(size) for size in shape)})"
