"""What a task of a job tells the process that watches over it: JSON lines in a file. Plain Python.

Nothing is written unless TFDISTRIBUTE_EVENTS names the file, so a script behaves the same with and without a job.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import math
import os
import signal
import time
import traceback
from collections.abc import Mapping
from typing import Any, cast

from tfdistribute.errors import TfdistributeError, error_kinds

EVENTS = "TFDISTRIBUTE_EVENTS"
JOB = "TFDISTRIBUTE_JOB"
ATTEMPT = "TFDISTRIBUTE_ATTEMPT"

# A heartbeat more often than this tells nobody more.
STEP_EVERY_S = 0.1

_STDERR = 2

# When this process last told a step, which one that was, and when it told that it failed.
_told: dict[str, float] = {}


def are_wanted() -> bool:
    """Say whether somebody watches over this process."""
    return bool(os.environ.get(EVENTS))


def attempt() -> int:
    """Say how often the job was restarted before this process: 0 for the first time, and outside of a job."""
    text = os.environ.get(ATTEMPT, "")
    return int(text) if text.isdecimal() else 0


def begin() -> None:
    """Say that this process is up, and let SIGUSR1 write the stacks of all threads to standard error.

    Source:
        https://docs.python.org/3/library/faulthandler.html: written by C, so also while TensorFlow waits.
    """
    answer_to_signal()
    tell("started", pid=os.getpid())


def answer_to_signal() -> None:
    """Let SIGUSR1 write the stacks of all threads to standard error; a second call changes nothing."""
    # Embedded in R, sys.stderr is no file: the descriptor is.
    with contextlib.suppress(AttributeError, OSError):
        faulthandler.register(signal.SIGUSR1, file=_STDERR, all_threads=True)


def tell(event: str, **fields: Any) -> None:
    """Append one event, with the time.

    A job does not end because its events cannot be written: a full disk says so by its checkpoints.

    Args:
        event: Its name, such as "started", "waiting", "checkpoint", "note" or "finished".
        fields: What it tells; numbers that JSON does not have become null.
    """
    path = os.environ.get(EVENTS)
    if not path:
        return
    line = json.dumps(_plain({"event": event, "time": time.time(), **fields}), default=str) + "\n"
    with contextlib.suppress(OSError):
        # One write of one line: readers see whole lines, and so do several writers.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def tell_step(step: int, loss: float | None = None, speed: float | None = None) -> None:
    """Tell the step that was trained last: the first at once, then ten a second at most.

    A step that was trained before is told at once too: a new session has begun from a checkpoint.

    Args:
        step: The global step.
        loss: Loss of the step, where it is known.
        speed: Examples a second of this process, where they are known.
    """
    now = time.monotonic()
    is_soon = now - _told.get("step", -math.inf) < STEP_EVERY_S
    if not are_wanted() or (is_soon and step > _told["number"]):
        return
    _told["step"], _told["number"] = now, step
    known = {"loss": loss, "examples_per_second": speed}
    tell("step", step=step, **{name: value for name, value in known.items() if value is not None})


def tell_failure(error: BaseException) -> None:
    """Tell why this process ends without having done its work.

    Args:
        error: Of the package's tree, or any other.
    """
    _told["failed"] = time.monotonic()
    tell("failed", **failure(error))


def has_failed() -> bool:
    """Say whether this process has told why it fails."""
    return "failed" in _told


def failure(error: BaseException) -> dict[str, Any]:
    """Describe an error as plain values.

    Args:
        error: Of the package's tree, or any other.

    Returns:
        kind, kinds, problem, remedy, argument, value, traceback, r_traceback where R has one, and transient: whether
        another process or a lost connection was the reason, so that a restart may heal it.
    """
    ours = error if isinstance(error, TfdistributeError) else None
    described: dict[str, Any] = {
        "kind": ours.kind if ours else "training",
        "kinds": error_kinds(type(ours)) if ours else ["training", "error"],
        "problem": ours.problem if ours else f"{type(error).__name__}: {error}",
        "remedy": ours.remedy if ours else None,
        "argument": ours.argument if ours else None,
        "value": ours.value if ours else None,
        "traceback": "".join(traceback.format_exception(error)),
        "transient": bool(ours and ours.is_transient),
    }
    in_r = getattr(error, "r_traceback", None)
    return {**described, "r_traceback": in_r} if in_r else described


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {str(name): _plain(each) for name, each in items}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in cast("list[Any]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
