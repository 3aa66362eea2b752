"""Protocol of measured Python scripts: wait for a turn, measure, print the number."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

# Prefix of the lines that the runner reads; it ignores other output.
MARK = "BENCH "


def take_turns(measure: Callable[[int], float], warm_up: int = 0) -> None:
    """Measure once per line of standard input, which holds the amount of work.

    Args:
        measure: Function of the amount that returns the number, in the unit of the case.
        warm_up: Amount of work before the first turn, while the other ways start: what is imported and built only once.
    """
    if warm_up:
        measure(warm_up)
    print(MARK + json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        value = measure(int(line))
        seconds = round(time.perf_counter() - started, 2)
        print(MARK + json.dumps({"value": value, "seconds": seconds}), flush=True)


class Intervals:
    """Let one training last over all turns, and measure the fastest of many intervals, as ``train_in_turns`` in R.

    Args:
        steps: Steps of an interval; a turn has as many intervals as a line of standard input says.
        batch_size: Rows of a step.
        warm_up: Intervals before the first turn.
    """

    def __init__(self, steps: int, batch_size: int, warm_up: int) -> None:
        self._batch_rows = steps * batch_size
        self._left, self._amount = warm_up, 0

    def after_interval(self, context: Any, values: Any) -> None:
        """Note that an interval has ended: ``after_run`` of a hook every so many steps."""
        del values
        now = time.perf_counter()
        if self._amount:
            self._least_s = min(self._least_s, now - self._interval)
        self._left -= 1
        if self._left == 0:
            self._print(now)
            line = sys.stdin.readline()
            if not line:
                context.request_stop()
                return
            self._left = self._amount = int(line)
            self._least_s, self._began = float("inf"), time.perf_counter()
        self._interval = time.perf_counter()

    def _print(self, now: float) -> None:
        answer: dict[str, Any] = {"ready": True}
        if self._amount:
            seconds = round(now - self._began, 2)
            answer = {"value": self._batch_rows / self._least_s, "seconds": seconds}
        print(MARK + json.dumps(answer), flush=True)


def examples_per_second(history: Any, batch_size: int) -> float:
    """Return the speed of a training of this package, without the first tenth of its steps.

    In these, the first batches are read and the number of steps per run is chosen.
    """
    first = next(at for at, step in enumerate(history.steps) if step > history.steps[-1] / 10)
    seconds = history.seconds[-1] - history.seconds[first]
    # A warm-up may have a single run.
    return (history.steps[-1] - history.steps[first]) * batch_size / seconds if seconds else 0.0
