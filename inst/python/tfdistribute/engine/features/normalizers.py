"""Normalizer functions of numeric columns, vectorised over the columns.

Applying ``function(x) (x - 3.2) / 1.5`` to twenty columns with different constants takes forty operations. Two are
enough: the same operations on a matrix of all columns, with a row of constants for each constant. The result is exact
if each output value depends on a single input value, which the function's graph shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tfdistribute.errors import CallbackError

_NAMES = (
    "Abs Add AddV2 Cast Ceil Div DivNoNan Elu Equal Exp Expm1 Floor Greater GreaterEqual Identity IsFinite "
    "IsInf IsNan Less LessEqual Log Log1p LogicalAnd LogicalNot LogicalOr Maximum Minimum Mul MulNoNan Neg NotEqual "
    "OnesLike Pow RealDiv Reciprocal Relu Rint Round Rsqrt SelectV2 Sigmoid Sign Softplus Sqrt Square "
    "SquaredDifference Sub Tanh ZerosLike"
)
# Operations that compute each value from one value of each input; inputs may be rows of constants.
_ELEMENTWISE = frozenset(_NAMES.split())
_INPUT = "x"


@dataclass(frozen=True)
class Normalizer:
    """An elementwise function, as a graph and its constants.

    Args:
        structure: Its graph without floating point constants; functions that differ only in these share it.
        output: Name of the result in that graph.
        constants: The floating point constants by name.
    """

    structure: bytes
    output: str
    constants: tuple[tuple[str, float], ...]


def recognize(function: Callable[[Any], Any], shape: Sequence[int]) -> Normalizer | None:
    """Trace the normalizer function of a column; None if it is not elementwise."""
    graph = tf.Graph()
    try:
        with graph.as_default():
            column = tf.compat.v1.placeholder(tf.float32, [None, *shape], name=_INPUT)
            result = function(column)
    except (CallbackError, AttributeError, TypeError, ValueError, tf.errors.OpError):
        # It may need something that only the model's graph has. A real error recurs when the model is built.
        return None
    if not isinstance(result, tf.Tensor) or getattr(result, "graph", None) is not graph:
        return None
    if result.dtype != tf.float32 or result.shape.rank is None:
        return None
    if result.shape.as_list() != [None, *shape]:
        return None
    return _of_graph(graph.as_graph_def(), result.name)


def _of_graph(graph: Any, output: str) -> Normalizer | None:
    constants: list[tuple[str, float]] = []
    for node in graph.node:
        if node.op == "Const":
            value = tf.make_ndarray(node.attr["value"].tensor)
            if value.size != 1:
                return None
            if value.dtype == np.float32:
                constants.append((node.name, float(value.reshape(()))))
                # The value is kept in `constants`; its shape does not affect the result.
                node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.float32(0)))
        elif node.op not in _ELEMENTWISE and node.name != _INPUT:
            return None
    return Normalizer(graph.SerializeToString(deterministic=True), output, tuple(constants))


def apply(values: Any, normalizers: Sequence[Normalizer], widths: Sequence[int]) -> Any:
    """Apply the normalizers of several columns to a matrix of their values."""
    first = normalizers[0]
    inputs = {f"{_INPUT}:0": values}
    for index, (name, _) in enumerate(first.constants):
        numbers = [each.constants[index][1] for each in normalizers]
        row = np.repeat(np.array(numbers, np.float32), widths)
        inputs[f"{name}:0"] = tf.constant(row[0] if len(set(numbers)) == 1 else row)
    graph = tf.compat.v1.GraphDef.FromString(first.structure)
    (result,) = tf.import_graph_def(
        graph, input_map=inputs, return_elements=[first.output], name="normalized"
    )
    return result
