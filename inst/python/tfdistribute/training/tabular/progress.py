"""One line of progress for the parts of a tabular model."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tfdistribute.training.history import Listener


class Progress:
    """Reports activities to a listener; None for no reports."""

    def __init__(self, listener: Listener | None) -> None:
        self._listener = listener

    def report(self, text: str) -> None:
        if self._listener is not None:
            self._listener({"event": "phase", "text": text})

    def of_layers(self, ends: Sequence[int]) -> Listener | None:
        """Return the listener of a training, which reports the cycle and the seconds to its end."""
        first: list[tuple[int, float]] = []

        def report(event: Mapping[str, Any]) -> None:
            if event["event"] != "step":
                return
            step, now = event["step"], time.monotonic()
            first.append((step, now))
            begun, began = first[0]
            del first[1:]
            cycle = min(sum(step > end for end in ends), len(ends) - 1)
            end, begin = ends[cycle], ends[cycle - 1] if cycle else 0
            text = f"layers, cycle {cycle + 1}" + f" of up to {len(ends)}" * (len(ends) > 1)
            text += f": {(step - begin) / (end - begin):.0%}"
            if step > begun:
                text += f", {(now - began) / (step - begun) * (end - step):.0f} s to its end"
            self.report(text)

        return None if self._listener is None else report
