"""Checks of the loss that a user's model function returns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tfdistribute.engine.graph import effects, walk
from tfdistribute.errors import ModelError

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
    shape = getattr(loss, "shape", None)
    if shape is not None and tf.TensorShape(shape).rank and any(size != 1 for size in shape):
        raise ModelError(
            f"`loss` has the shape {_format(shape)}, and must be one number.",
            "Return its mean: tf$reduce_mean(loss).",
            value=_format(shape),
        )


def check_rows_apart(loss: Any, features: Any, labels: Any) -> None:
    """Check that a loss does not combine each row's prediction with every other row's label.

    TensorFlow broadcasts predictions of shape (n, 1), as a Keras layer makes them, and labels of shape (n) to (n, n).
    A tensor that the model function itself has expanded, and two tensors of two dimensions, pair rows on purpose.
    ModelError names the operation and both shapes.
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
    features: bool
    labels: bool
    variables: bool


class _InputNames:
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
        passed = list(walk.chain(column, _PASSING))
        if any(each.name in self._features | self._labels for each in passed):
            return False
        operation = passed[-1].op
        return operation.type in _EXPANDING and operation.inputs[0].shape.rank == 1

    def are_mixed_up(self, column: Any, row: Any) -> bool:
        origins = self.origin(column), self.origin(row)
        data = [each for each in origins if not each.variables]
        predictions = [each for each in origins if each.variables and each.features]
        if len(data) != 1 or len(predictions) != 1 or not (data[0].labels or predictions[0].labels):
            return False
        # A size that is known may be another than the batch's, except that of labels without a further dimension.
        return row.shape[0] is None or (data[0] is origins[1] and row.name in self._labels)


def _names(values: Any) -> frozenset[str]:
    return frozenset(tensor.name for tensor in walk.tensors_in(values))


def _broadcast(operation: Any) -> Iterator[tuple[Any, Any]]:
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
