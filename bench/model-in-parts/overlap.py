"""Share of a step in which both devices of a model in two stages compute: its ways are those of ``speed.py``.

The share is the median of all steps but the first two, which allocate memory. Operations of less than 0.2 ms are left
out.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from typing import Any

from stages import SOURCE, model, settings
from way import take_turns

from tfdistribute import engine
from tfdistribute.training.train import train

WAY = sys.argv[1]
LEAST_US = 200


def trace_hook() -> Any:
    """Make a hook that records when each device computed, at every step."""
    tf = engine.tf
    v1 = tf.compat.v1

    class Trace(tf.estimator.SessionRunHook):
        def __init__(self) -> None:
            self.steps: list[dict[str, list[tuple[int, int]]]] = []

        def before_run(self, run_context: Any) -> Any:
            options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
            return tf.estimator.SessionRunArgs([], options=options)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.steps.append(
                {
                    device.device: [
                        (node.all_start_micros, node.all_start_micros + node.all_end_rel_micros)
                        for node in device.node_stats
                        if node.all_end_rel_micros > LEAST_US
                    ]
                    for device in run_values.run_metadata.step_stats.dev_stats
                }
            )

    return Trace()


def covered(spans: list[tuple[int, int]]) -> int:
    """Return the time in microseconds that at least one span covers."""
    total, end = 0, 0
    for begin, stop in sorted(spans):
        total += max(0, stop - max(begin, end))
        end = max(end, stop)
    return total


def measure(steps: int) -> float:
    trace = trace_hook()
    with tempfile.TemporaryDirectory() as directory:
        train(model(WAY, directory), settings(WAY), SOURCE, steps=steps, hooks=[trace])
    shares: list[float] = []
    for step in trace.steps[2:]:
        each = [covered(spans) for spans in step.values() if spans]
        either = covered([span for spans in step.values() for span in spans])
        shares.append((sum(each) - either) / max(either, 1))
    return statistics.median(shares)


take_turns(measure)
