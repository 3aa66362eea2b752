"""Share of a step in which both devices of a model in two stages compute.

``tools/bench model-in-parts/overlap.py`` prints, for each way, the share as the median of ten steps, and the time that
each device computes. Operations of less than 0.2 ms are left out.
"""

from __future__ import annotations

import statistics
import tempfile
from typing import Any

from stages import SOURCE, WAYS, model, settings

from tfdistribute import engine
from tfdistribute.training.train import train

STEPS, LEAST_US = 12, 200


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


def report(way: str) -> str:
    """Train a way, and describe what its devices did."""
    trace = trace_hook()
    with tempfile.TemporaryDirectory() as directory:
        train(model(way, directory), settings(way), SOURCE, steps=STEPS, hooks=[trace])
    shares, busy = [], []
    # The first steps allocate memory.
    for step in trace.steps[2:]:
        each = [covered(spans) for spans in step.values() if spans]
        either = covered([span for spans in step.values() for span in spans])
        shares.append((sum(each) - either) / max(either, 1))
        busy.append(" + ".join(f"{time / 1000:.0f}" for time in each))
    return f"{way:12s} overlap {statistics.median(shares):4.2f}   {busy[-1]} ms"


for way in WAYS:
    print(report(way), flush=True)
