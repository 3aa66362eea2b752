"""Share of a step in which both threads compute, for a model in two stages: its ways are those of ``speed.py``.

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
    """Make a hook that records when operations ran, at every step."""
    tf = engine.tf
    v1 = tf.compat.v1

    class Trace(tf.estimator.SessionRunHook):
        def __init__(self) -> None:
            self.steps: list[list[tuple[int, int]]] = []

        def before_run(self, run_context: Any) -> Any:
            options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
            return tf.estimator.SessionRunArgs([], options=options)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            self.steps.append(
                [
                    (node.all_start_micros, node.all_start_micros + node.all_end_rel_micros)
                    for device in run_values.run_metadata.step_stats.dev_stats
                    for node in device.node_stats
                    if node.all_end_rel_micros > LEAST_US
                ]
            )

    return Trace()


def overlap(spans: list[tuple[int, int]]) -> float:
    """Return the share of the time of at least one operation in which there are two."""
    any_us = two_us = end_of_any = end_of_two = 0
    for begin, end in sorted(spans):
        any_us += max(0, end - max(begin, end_of_any))
        both = min(end, end_of_any)
        two_us += max(0, both - max(begin, end_of_two))
        end_of_two = max(end_of_two, both)
        end_of_any = max(end_of_any, end)
    return two_us / max(any_us, 1)


def measure(steps: int) -> float:
    trace = trace_hook()
    with tempfile.TemporaryDirectory() as directory:
        train(model(WAY, directory), settings(WAY), SOURCE, steps=steps, hooks=[trace])
    return statistics.median(map(overlap, trace.steps[2:]))


take_turns(measure, warm_up=4)
