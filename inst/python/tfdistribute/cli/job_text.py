"""A job as text: its table of tasks, its progress, and why it failed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

_HEADER = ("task", "pid", "state", "step", "examples/s")


def table(state: Mapping[str, Any]) -> list[str]:
    """Lay out the tasks of a job.

    Args:
        state: The job's state.

    Returns:
        Lines, the first with the names of the columns.
    """
    rows = [_HEADER, *(_cells(task) for task in state["tasks"])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _cells(task: Mapping[str, Any]) -> tuple[str, ...]:
    waits = f" for {task['waiting_for']}" if task["waiting_for"] else ""
    numbers = (task["step"], task["examples_per_second"])
    return (
        str(task["task"]),
        str(task["pid"] or ""),
        f"{task['state']}{waits}",
        *("" if number is None else f"{number:.0f}" for number in numbers),
    )


def progress(state: Mapping[str, Any]) -> str:
    """Say in one line how far a job has come; "" before its first step."""
    if state["global_step"] is None:
        return ""
    last = "" if state["max_steps"] is None else f" of {state['max_steps']}"
    loss = "" if state["loss"] is None else f", loss {state['loss']:.6g}"
    speed = state["examples_per_second"]
    return (
        f"step {state['global_step']}{last}{loss}"
        f"{'' if speed is None else f', {speed:.0f} examples/s'}"
    )


def failure(state: Mapping[str, Any]) -> list[str]:
    """Say why a job failed: the cause, what to do, and where in the code it was."""
    told = state["failure"]
    where = f"{told['task']} on {told['host']}" if told["task"] else "The job"
    lines = [f"{where} failed: {told['problem']}"]
    if told["remedy"]:
        lines.append(f"-> {told['remedy']}")
    # The calls of R first: where they are known, the fault is in R's code.
    for title, name in (("R", "r_traceback"), ("Python", "traceback"), ("Its log", "log_tail")):
        if told.get(name):
            lines += [f"{title}:", *(f"  {line}" for line in str(told[name]).splitlines())]
    return lines


def as_json(value: Any) -> str:
    """Write JSON that every reader takes: numbers that are none become null."""
    return json.dumps(_finite(value), indent=2)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {str(name): _finite(each) for name, each in items}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(each) for each in cast("Sequence[Any]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value
