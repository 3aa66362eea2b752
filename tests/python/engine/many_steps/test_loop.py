"""The loop around a step, as a graph."""

from __future__ import annotations

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.many_steps import calling_thread
from tfdistribute.engine.many_steps.calling_thread import ThreadChoice
from tfdistribute.engine.many_steps.loop import Step, StepLoop

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
        StepLoop(Step(train_op, loss), global_step)
    devices = {operation.name: operation.device for operation in graph.get_operations()}
    copies = {name.partition("/steps/")[2]: name for name in devices if "/steps/" in name}
    placed = {original: devices[copy] for original, copy in copies.items() if original in devices}
    assert placed == {original: devices[original] for original in placed}
    assert {"", "/device:CPU:1"} <= set(placed.values())


@pytest.mark.skipif(not calling_thread.is_possible(), reason="Only on Linux, on x86-64.")
def test_the_calling_thread_computes_the_bits_of_tensorflows_threads():
    with tf.Graph().as_default(), v1.Session() as session:
        small = v1.placeholder(tf.float32, [2])
        smaller = small * 1e-3
        # The product is too small for full precision.
        fed = {small: [1e-37, 1.0]}
        there = session.run(smaller, fed)
        with calling_thread.run_options() as options:
            here = session.run(smaller, fed, options=options)
        assert here.tobytes() == there.tobytes()
        assert there[0] == 0
    assert np.float32(1e-37) * np.float32(1e-3) > 0


@pytest.mark.parametrize(
    ("here_s", "there_s", "stays_here"), [(10, 20, True), (10.3, 10, True), (11, 10, False)]
)
def test_the_calling_thread_is_kept_unless_others_are_clearly_faster(
    here_s: float, there_s: float, stays_here: bool
):
    choice, chosen = ThreadChoice(), list[bool]()
    seconds = {True: here_s, False: there_s}
    for _ in range(20):
        chosen.append(choice.next_in_this_thread())
        choice.note_run(chosen[-1], seconds[chosen[-1]])
    assert chosen.count(not stays_here) == 5
    assert set(chosen[-8:]) == {stays_here}


def test_a_processor_that_becomes_faster_does_not_decide_the_comparison():
    choice, chosen = ThreadChoice(), list[bool]()
    for run in range(20):
        chosen.append(choice.next_in_this_thread())
        # The last run that is compared is one on TensorFlow's threads.
        choice.note_run(chosen[-1], 10 if run < 9 else 6)
    assert chosen[:10].count(False) == 5
    assert all(chosen[10:])


def test_threads_are_compared_again_when_the_processor_may_be_free():
    """Another program uses it during the first comparison, so TensorFlow's threads gain nothing."""
    choice, chosen = ThreadChoice(), list[bool]()
    for run in range(1000):
        chosen.append(choice.next_in_this_thread())
        choice.note_run(chosen[-1], 10 if chosen[-1] or run < 20 else 6)
    assert all(chosen[20:100])
    assert chosen[200:].count(True) < 20
