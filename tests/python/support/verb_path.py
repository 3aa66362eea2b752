"""The path through the package's files on which a verb reaches TensorFlow's Estimator, as its reader follows it.

The path goes from the bridge down to the Estimator's own verb, and does not count the way back. Its stations are the
files of the layers that perform: bridge, launch, training, run_config. What lower layers answer is read there.

- A hop is a call into another file. Each call of one function by another counts once, and consecutive hops into the
  same file are one.
- A return is a hop into a file that the path has left before.

Methods that dataclasses generate have no place in a file, and imports are no calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import tfdistribute

ROOT = f"{Path(tfdistribute.__file__).parent}/"
PERFORMING = ("bridge/", "launch/", "training/", "run_config/")


@dataclass
class VerbPath:
    """Calls between files of the package, in order: the function that calls, and the file and function called."""

    calls: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    @property
    def stations(self) -> list[str]:
        hops = [file for _, file, _ in self.calls if file.startswith(PERFORMING)]
        return [file for last, file in zip(["", *hops], hops, strict=False) if file != last]

    @property
    def files(self) -> set[str]:
        """All files of the package that are entered, also of lower layers."""
        return {file for _, file, _ in self.calls}

    @property
    def size(self) -> dict[str, int]:
        stations = self.stations
        files = len(set(stations))
        return {"files": files, "hops": len(stations) - 1, "returns": len(stations) - files}

    def __str__(self) -> str:
        shown = [call for call in self.calls if call[1].startswith(PERFORMING)]
        return "\n".join(f"{caller} -> {file} {function}" for caller, file, function in shown)


def trace(verb: Callable[[], Any], reached: str) -> VerbPath:
    """Trace a call of a verb until the method ``reached`` of ``engine.estimator.estimator`` begins."""
    path, is_down = VerbPath(), [True]

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        file = _file(frame)
        if event != "call" or file is None or not is_down[0] or _imports(frame):
            return
        caller = frame.f_back
        while caller is not None and _file(caller) is None:
            caller = caller.f_back
        name = frame.f_code.co_name
        source = "" if caller is None else f"{_file(caller)} {caller.f_code.co_name}"
        call = (source, file, name)
        if (caller is None or _file(caller) != file) and call not in path.calls:
            path.calls.append(call)
        is_down[0] = (file, name) != ("engine/estimator/estimator.py", reached)

    sys.setprofile(note)
    try:
        verb()
    finally:
        sys.setprofile(None)
    assert not is_down[0], f"The verb has not reached Estimator.{reached}()."
    return path


def _file(frame: FrameType) -> str | None:
    name = frame.f_code.co_filename
    return name.removeprefix(ROOT) if name.startswith(ROOT) else None


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
