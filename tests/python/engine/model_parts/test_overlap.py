"""Pipelines on devices that do one thing at a time, as GPUs do; CPU devices share the threads of their process."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from tfdistribute.engine import model_parts as parts

v1 = tf.compat.v1

pytestmark = pytest.mark.usefixtures("tensorflow")

DEVICES = ("/device:CPU:0", "/device:CPU:1")
SECONDS, MICRO_BATCHES = 0.04, 4

Span = tuple[float, float]


class Device:
    """A device that is busy for a while with each micro-batch, and lets the others wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.spans: list[Span] = []

    def work(self, x: Any) -> Any:
        with self._lock:
            begin = time.perf_counter()
            time.sleep(SECONDS)
            self.spans.append((begin, time.perf_counter()))
        return x

    def forward(self, x: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(self.work, [x], tf.float32), x.shape)

    def forward_and_backward(self, x: Any) -> Any:
        return tf.custom_gradient(lambda value: (self.forward(value), self.forward))(x)


def overlap(devices: list[Device]) -> float:
    """Return the share of the time in which both devices are busy."""
    spans = [span for device in devices for span in device.spans]
    points = sorted({point for span in spans for point in span})
    busy = [
        (end - begin, sum(span[0] <= begin and end <= span[1] for span in spans))
        for begin, end in itertools.pairwise(points)
    ]
    return sum(s for s, count in busy if count > 1) / sum(s for s, _ in busy)


def stages(devices: list[Device], method: Callable[[Device, Any], Any]) -> list[Any]:
    def stage(device: Device) -> Any:
        return lambda x: method(device, tf.keras.layers.Dense(3)(x))

    return [stage(device) for device in devices]


@pytest.mark.parametrize("method", [Device.forward, Device.forward_and_backward])
def test_both_devices_work_for_at_least_half_of_a_step(method: Callable[[Device, Any], Any]):
    devices = [Device(), Device()]
    with tf.Graph().as_default():
        strategy = parts.adopt(tf.distribute.OneDeviceStrategy(DEVICES[0]), (DEVICES,))

        def step() -> Any:
            with parts.model_scope():
                x = tf.constant(np.ones((8, 3), "float32"))
                output = parts.pipeline(x, stages(devices, method), MICRO_BATCHES)
                if method is Device.forward:
                    return output
                return v1.gradients(tf.reduce_sum(tf.square(output)), v1.trainable_variables())

        with strategy.scope():
            result = strategy.extended.call_for_each_replica(step)
        # A device that waits keeps a thread.
        config = v1.ConfigProto(
            device_count={"CPU": 2}, inter_op_parallelism_threads=16, use_per_session_threads=True
        )
        with v1.Session(config=config) as session:
            session.run(v1.global_variables_initializer())
            # The first run makes the kernels.
            session.run(result)
            for device in devices:
                device.spans.clear()
            session.run(result)
    works = 1 if method is Device.forward else 2
    assert [len(device.spans) for device in devices] == [works * MICRO_BATCHES] * 2
    assert overlap(devices) >= 0.5
