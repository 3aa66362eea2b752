"""Protocol of measured Python scripts: wait for a turn, measure, print the number."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

# Prefix of the lines that the runner reads; it ignores other output.
MARK = "BENCH "


def take_turns(measure: Callable[[int], float]) -> None:
    """Measure once per line of standard input, which holds the amount of work.

    Args:
        measure: Function of the amount that returns the number, in the unit of the case.
    """
    print(MARK + json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        value = measure(int(line))
        seconds = round(time.perf_counter() - started, 2)
        print(MARK + json.dumps({"value": value, "seconds": seconds}), flush=True)
