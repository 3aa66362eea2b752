"""The memory of a training step that accumulates gradients, by what TensorFlow's allocator records."""

from __future__ import annotations

from typing import Any

import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine.step.accumulate import AccumulatedStep

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")

ROWS, WIDTH = 2048, 256


def built(micro_batches: int) -> Any:
    """Make the training operation of four layers, whose activations need more memory than their weights."""
    x = v1.placeholder_with_default(tf.ones([ROWS, WIDTH]), [None, WIDTH])
    step = AccumulatedStep(x, None, micro_batches)
    with step.recording():
        hidden = step.features
        for _ in range(4):
            hidden = tf.keras.layers.Dense(WIDTH, "tanh")(hidden)
        loss = tf.reduce_mean(tf.square(hidden))
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        spec = tf.estimator.EstimatorSpec("train", loss=loss, train_op=train_op)
    return step.accumulate(spec).train_op


def peak_bytes(micro_batches: int) -> int:
    """Return the most memory that was held at once in a step."""
    with tf.Graph().as_default(), v1.Session() as session:
        train_op = built(micro_batches)
        session.run(v1.global_variables_initializer())
        found = v1.RunMetadata()
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        session.run(train_op, options=options, run_metadata=found)
    # Sizes are negative where memory is freed.
    records = [
        (record.alloc_micros, record.alloc_bytes)
        for device in found.step_stats.dev_stats
        for node in device.node_stats
        for memory in node.memory
        for record in memory.allocation_records
    ]
    held = largest = 0
    for _, size in sorted(records):
        held += size
        largest = max(largest, held)
    return largest


def test_a_step_needs_the_memory_of_one_micro_batch():
    whole, eighth = peak_bytes(1), peak_bytes(8)
    # Four activations of the whole batch, and their gradients one by one.
    assert whole > 4 * ROWS * WIDTH * 4
    # The gradients of the weights are held in any case.
    assert eighth < whole / 8 + 3 * 4 * WIDTH * WIDTH * 4
