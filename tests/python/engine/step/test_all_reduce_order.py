"""When the parts of sums are computed, written and read, without other workers."""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.versions

# At most; it ends when all gradients are computed.
WRITE_S = 20.0


class Step:
    """Three gradients, each of which needs the one before, and a sum that needs the first sum."""

    def __init__(self, tensorflow: ModuleType) -> None:
        from tfdistribute.engine.step.all_reduce import StepSum

        self.tf, self.calls = tensorflow, list[str]()
        self._all_computed = threading.Event()
        self.parts: dict[int, Any] = {}
        gradient = tensorflow.constant([1.0, 2.0])
        self.sums = []
        for number in range(3):
            gradient = self._computed(f"compute {number}", gradient)
            total = tensorflow.identity(gradient)
            self.sums.append(StepSum(total.op, (gradient,), (total,)))
        norm = self._computed("compute 3", self.sums[0].outputs[0])
        total = tensorflow.identity(norm)
        self.sums.append(StepSum(total.op, (norm,), (total,)))
        self.results = [tensorflow.negative(each.outputs[0]) for each in self.sums]

    def _computed(self, name: str, value: Any) -> Any:
        def compute(given: Any) -> Any:
            self.calls.append(name)
            if name == "compute 2":
                self._all_computed.set()
            return given + np.float32(1)

        found = self.tf.numpy_function(compute, [value], self.tf.float32)
        found.set_shape([2])
        return found

    def write(self, number: int, arrays: Any) -> None:
        # What does not wait for this is computed meanwhile.
        self._all_computed.wait(WRITE_S)
        self.calls.append(f"write {number}")
        self.parts[number] = arrays[0]

    def read(self, number: int) -> list[Any]:
        self.calls.append(f"read {number}")
        return [2 * self.parts[number]]

    def run(self) -> list[Any]:
        from tfdistribute.engine.step import all_reduce

        all_reduce.share(self.sums, self.write, self.read)
        config = self.tf.compat.v1.ConfigProto(inter_op_parallelism_threads=4)
        with self.tf.compat.v1.Session(config=config) as session:
            return session.run(self.results)


@pytest.fixture
def step(tensorflow: ModuleType) -> Any:
    with tensorflow.Graph().as_default():
        yield Step(tensorflow)


def test_sums_replace_those_of_the_graph(step: Step) -> None:
    expected = [[-4, -6], [-6, -8], [-8, -10], [-10, -14]]
    np.testing.assert_array_equal(step.run(), expected)


def test_a_worker_computes_while_it_writes(step: Step) -> None:
    step.run()
    assert step.calls.index("compute 2") < step.calls.index("write 0")
