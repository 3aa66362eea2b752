"""Text output of a job: table of tasks, progress, failure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tfdistribute.files import json_values

_HEADER = ("task", "pid", "state", "step", "examples/s")


def table(state: Mapping[str, Any]) -> list[str]:
    return columns([_HEADER, *(_cells(task) for task in state["tasks"])])


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _cells(task: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = (task["step"], task["examples_per_second"])
    return (
        str(task["task"]),
        str(task["pid"] or ""),
        str(task["activity"]),
        *("" if number is None else f"{number:.0f}" for number in numbers),
    )


def progress(state: Mapping[str, Any]) -> str:
    """Return the progress of a job as one line; "" before its first step."""
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
    values = state["failure"]
    where = f"{values['task']} on {values['host']}" if values["task"] else "The job"
    lines = [f"{where} failed: {values['problem']}"]
    if values["remedy"]:
        lines.append(f"-> {values['remedy']}")
    # R's calls first: if they are known, the error is in R code.
    for title, name in (("R", "r_traceback"), ("Python", "traceback"), ("Its log", "log_tail")):
        if values.get(name):
            lines += [f"{title}:", *(f"  {line}" for line in str(values[name]).splitlines())]
    return lines


def as_json(value: Any) -> str:
    """Return valid JSON: numbers that are not finite become null."""
    return json.dumps(json_values(value), indent=2)
