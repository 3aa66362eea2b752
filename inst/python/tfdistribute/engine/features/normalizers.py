"""Functions of one numeric column that can be evaluated for many columns at once.

``function(x) (x - 3.2) / 1.5`` with other numbers for each of twenty columns is forty operations, where two would do:
the same operations on all columns side by side, with a row of numbers in place of each number. That is exact where
each value of the result depends on one value of the column only, which the function's graph shows.
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
# Operations each of whose values depends on one value of each of their inputs, which may be rows of constants.
_ELEMENTWISE = frozenset(_NAMES.split())
_INPUT = "x"


@dataclass(frozen=True)
class Treatment:
    """What a function does to each value.

    Args:
        structure: Its graph without the values of its floating point constants; equal for functions that differ in
            these only.
        output: Name of its result there.
        constants: Those values, by the constants' names.
    """

    structure: bytes
    output: str
    constants: tuple[tuple[str, float], ...]


def treatment_of(function: Callable[[Any], Any], shape: Sequence[int]) -> Treatment | None:
    """Look at what a function does to a column.

    Args:
        function: Function of a tensor that returns a tensor; it is called once.
        shape: Shape of one row's value.

    Returns:
        What it does to each value; None where values meet, or something else happens.
    """
    graph = tf.Graph()
    try:
        with graph.as_default():
            column = tf.compat.v1.placeholder(tf.float32, [None, *shape], name=_INPUT)
            result = function(column)
    except (CallbackError, AttributeError, TypeError, ValueError, tf.errors.OpError):
        # It may need what only the model's graph has; where it is wrong, the model will say so.
        return None
    if not isinstance(result, tf.Tensor) or getattr(result, "graph", None) is not graph:
        return None
    if result.dtype != tf.float32 or result.shape.rank is None:
        return None
    if result.shape.as_list() != [None, *shape]:
        return None
    return _of_graph(graph.as_graph_def(), result.name)


def _of_graph(graph: Any, output: str) -> Treatment | None:
    constants: list[tuple[str, float]] = []
    for node in graph.node:
        if node.op == "Const":
            value = tf.make_ndarray(node.attr["value"].tensor)
            if value.size != 1:
                return None
            if value.dtype == np.float32:
                constants.append((node.name, float(value.reshape(()))))
                # The value is in `constants`; its shape would not matter to the result either.
                node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.float32(0)))
        elif node.op not in _ELEMENTWISE and node.name != _INPUT:
            return None
    return Treatment(graph.SerializeToString(deterministic=True), output, tuple(constants))


def treated(values: Any, treatments: Sequence[Treatment], widths: Sequence[int]) -> Any:
    """Evaluate functions for columns that stand side by side.

    Args:
        values: A float32 tensor of shape [examples, numbers].
        treatments: One for each column, all of one structure.
        widths: How many numbers each column has.

    Returns:
        A tensor of the same shape.
    """
    first = treatments[0]
    inputs = {f"{_INPUT}:0": values}
    for index, (name, _) in enumerate(first.constants):
        numbers = [each.constants[index][1] for each in treatments]
        row = np.repeat(np.array(numbers, np.float32), widths)
        inputs[f"{name}:0"] = tf.constant(row[0] if len(set(numbers)) == 1 else row)
    graph = tf.compat.v1.GraphDef.FromString(first.structure)
    (result,) = tf.import_graph_def(
        graph, input_map=inputs, return_elements=[first.output], name="treated"
    )
    return result
