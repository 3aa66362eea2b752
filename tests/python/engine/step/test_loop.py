"""The loop around a step, as a graph."""

from __future__ import annotations

import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.step.loop import StepLoop
from tfdistribute.engine.step.program import StepProgram

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")


def test_operations_in_the_loop_keep_their_device_or_have_none():
    with tf.Graph().as_default() as graph:
        global_step = v1.train.get_or_create_global_step()
        with tf.name_scope("model"):
            weight = v1.get_variable("weight", initializer=tf.constant(1.0), use_resource=True)
            with tf.device("CPU:1"):
                loss = tf.square(weight - 3.0)
            train_op = tf.group(weight.assign_sub(0.1 * loss), global_step.assign_add(1))
        StepLoop(StepProgram(train_op, loss), global_step)
    devices = {operation.name: operation.device for operation in graph.get_operations()}
    copies = {name.partition("/steps/")[2]: name for name in devices if "/steps/" in name}
    placed = {original: devices[copy] for original, copy in copies.items() if original in devices}
    assert placed == {original: devices[original] for original in placed}
    assert {"", "/device:CPU:1"} <= set(placed.values())
