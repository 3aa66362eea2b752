"""What every measured script in Python does: wait for its turn, measure, and say the number."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

# What the runner reads begins so; everything else that a script prints is passed over.
MARK = "BENCH "


def take_turns(measure: Callable[[int], float]) -> None:
    """Measure once for each line of the standard input: the amount of work, such as steps.

    Args:
        measure: Function of the amount that returns the number, in the unit of the case.
    """
    print(MARK + json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        value = measure(int(line))
        seconds = round(time.perf_counter() - started, 2)
        print(MARK + json.dumps({"value": value, "seconds": seconds}), flush=True)
