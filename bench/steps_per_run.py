"""Examples per second by steps per run, and the cost of the loop at the start.

One process, alternating runs, medians: ``tools/env python bench/steps_per_run.py [seconds]``. The small model of
``bench/small-model``: 20 floats, hidden layers of 64 and 32 units, batches of 128. CPU time is that of all threads; a
busy machine affects it less than the elapsed time.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from typing import Any

import numpy as np

from tfdistribute import engine
from tfdistribute.inputs import Column, InMemory
from tfdistribute.models.canned.dnn import DNNClassifier
from tfdistribute.models.feature_columns.numeric import Numeric
from tfdistribute.run_config import RunSettings
from tfdistribute.training.train import train

ROWS, WIDTH, BATCH, TURNS = 200_000, 20, 128, 5
X = np.random.default_rng(1).random((ROWS, WIDTH), np.float32)
Y = (X[:, 0] + X[:, 1] > 1).astype(np.int32)


class Clock(engine.tf.estimator.SessionRunHook):
    """Stop a training after some seconds, and measure its second half."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.made = self.first = self.half = 0.0

    def required_steps(self, loss: Any) -> Any:
        del loss
        return engine.hooks.step_requirements.NO_STEPS

    def begin(self) -> None:
        self.step = engine.tf.compat.v1.train.get_global_step()
        self.made = time.perf_counter()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        del run_values
        now = time.perf_counter()
        self.first = self.first or now
        if not self.half and now - self.first > self._seconds / 2:
            self.half, self.cpu = now, time.process_time()
            self.half_step = run_context.session.run(self.step)
        if now - self.first > self._seconds:
            run_context.request_stop()
            steps = run_context.session.run(self.step) - self.half_step
            self.rate = steps * BATCH / (now - self.half)
            self.cpu_us = 1e6 * (time.process_time() - self.cpu) / steps


def measure(steps_per_run: int | str, seconds: float) -> dict[str, float]:
    source = InMemory(
        (Column("x", "float", lambda: X, (WIDTH,)), Column("y", "integer", lambda: Y)),
        response="y",
        batch_size=BATCH,
        epochs=None,
    )
    clock = Clock(seconds)
    with tempfile.TemporaryDirectory() as directory:
        model = DNNClassifier(
            directory, feature_columns=(Numeric("x", (WIDTH,)),), hidden_units=(64, 32)
        )
        train(model, RunSettings(steps_per_run=steps_per_run), source, hooks=[clock])
    return {
        "examples_per_second": clock.rate,
        "cpu_us_per_step": clock.cpu_us,
        "first_step_s": clock.first - clock.made,
    }


def main() -> None:
    """Let the ways take turns, and print one line of JSON for each."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    ways: tuple[int | str, ...] = (1, 10, 100, "auto")
    taken: dict[int | str, list[dict[str, float]]] = {way: [] for way in ways}
    for _ in range(TURNS):
        for way in ways:
            taken[way].append(measure(way, seconds))
    for way in ways:
        medians = {
            name: statistics.median(each[name] for each in taken[way]) for name in taken[way][0]
        }
        ratio = statistics.median(
            one["examples_per_second"] / alone["examples_per_second"]
            for one, alone in zip(taken[way], taken[1], strict=True)
        )
        print(json.dumps({"steps_per_run": way, **medians, "ratio": round(ratio, 2)}))


if __name__ == "__main__":
    main()
