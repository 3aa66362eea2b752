"""Checks of TensorFlow that XLA drops, which end a compiled training as they end another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.step.compiled import operations, rows

pytestmark = pytest.mark.usefixtures("tensorflow")

v1, raw = tf.compat.v1, tf.raw_ops
COUNT = 4

# An operation of a table, whole numbers, and numbers.
Compute = Callable[[Any, Any, Any], Any]


def scatter(kind: str) -> Compute:
    def compute(table: Any, number: Any, _value: Any) -> Any:
        indices, updates = number, tf.ones([1, 2])
        if "Nd" in kind:
            indices = number[:, None]
            return getattr(raw, kind)(ref=table.handle, indices=indices, updates=updates)
        return getattr(raw, kind)(resource=table.handle, indices=indices, updates=updates)

    return compute


def tensor_scatter(kind: str) -> Compute:
    def compute(table: Any, number: Any, _value: Any) -> Any:
        add, updates = getattr(raw, kind), tf.ones([1, 2])
        return add(tensor=table + 0.0, indices=number[:, None], updates=updates)

    return compute


def binary(kind: str) -> Compute:
    return lambda table, number, value: getattr(raw, kind)(x=tf.constant([7]), y=number)


RESOURCES = ("Add", "Sub", "Update", "Min", "Max", "NdAdd", "NdSub", "NdUpdate")
# The operation, a number that is right, and numbers that are wrong.
CASES: dict[str, tuple[Compute, float, tuple[float, ...]]] = {
    **{f"ResourceScatter{x}": (scatter(f"ResourceScatter{x}"), 3, (-1, 4)) for x in RESOURCES},
    **{
        f"TensorScatter{x}": (tensor_scatter(f"TensorScatter{x}"), 3, (-1, 4))
        for x in ("Add", "Sub", "Update", "Min", "Max")
    },
    "ScatterNd": (
        lambda t, n, v: raw.ScatterNd(indices=n[:, None], updates=tf.ones([1, 2]), shape=[4, 2]),
        3,
        (-1, 4),
    ),
    "GatherNd": (lambda t, n, v: raw.GatherNd(params=t + 0.0, indices=n[:, None]), 3, (-1, 4)),
    "GatherV2": (lambda t, n, v: raw.GatherV2(params=t + 0.0, indices=n, axis=0), 3, (-1, 4)),
    "ResourceGather": (
        lambda t, n, v: raw.ResourceGather(resource=t.handle, indices=n, dtype=tf.float32),
        3,
        (-1, 4),
    ),
    **{
        f"UnsortedSegment{x}": (
            lambda t, n, v, x=x: getattr(raw, f"UnsortedSegment{x}")(
                data=tf.ones([1]), segment_ids=n, num_segments=4
            ),
            -1,
            (4,),
        )
        for x in ("Sum", "Min", "Max")
    },
    **{x: (binary(x), 2, (0,)) for x in ("FloorDiv", "FloorMod", "TruncateDiv")},
    **{x: (binary(x), 2, (0,)) for x in ("Div", "Mod", "TruncateMod")},
    "Pow": (binary("Pow"), 0, (-1,)),
    "Cast": (lambda t, n, v: raw.Cast(x=v, DstT=tf.int32), 2147483520.0, (3e9, -3e9, np.nan)),
    "CheckNumerics": (
        lambda t, n, v: raw.CheckNumerics(tensor=v, message=""),
        1.5,
        (np.inf, np.nan),
    ),
    "SparseSoftmaxCrossEntropyWithLogits": (
        lambda t, n, v: raw.SparseSoftmaxCrossEntropyWithLogits(
            features=tf.zeros([1, COUNT]), labels=n
        ),
        3,
        (-1, 4),
    ),
}


def passes(kind: str, compute: Compute, numbers: tuple[float, ...]) -> list[bool]:
    """Return whether the compiled step's checks of an operation accept each number."""
    with tf.Graph().as_default() as graph:
        table = v1.get_variable("table", [COUNT, 2], use_resource=True)
        number, value = v1.placeholder(tf.int32, [1]), v1.placeholder(tf.float32, [1])
        before = len(graph.get_operations())
        compute(table, number, value)
        (operation,) = (each for each in graph.get_operations()[before:] if each.type == kind)
        replacements = operations.Replacements(rows.Rows({}))
        replacements.replace(operation, list(operation.inputs))
        passed = replacements.passed()
        with v1.Session(graph=graph) as session:
            session.run(table.initializer)
            return [
                bool(session.run(passed, {number: [0 if is_real(x) else x], value: [x]}))
                for x in numbers
            ]


def is_real(number: float) -> bool:
    return not float(number).is_integer() or abs(number) > 1e6


@pytest.mark.versions
def test_each_check_accepts_what_tensorflow_computes_and_nothing_else() -> None:
    known = operations._CHECKS.keys() - {"Assert", "Gather", "CheckNumericsV2"}
    assert known == CASES.keys()
    for kind, (compute, right, wrong) in CASES.items():
        found = passes(kind, compute, (right, *wrong))
        assert found == [True, *(False for _ in wrong)], kind
