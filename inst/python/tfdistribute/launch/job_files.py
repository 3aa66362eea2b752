"""The files by which a job reports to other processes.

Any user who may write to their directories can plant or damage one, so its content is data. ``read`` checks the types
of values, and makes control characters in texts, such as escape sequences of a terminal, visible.
"""

import os
from typing import Any, cast

from tfdistribute import files, storage
from tfdistribute.errors import TrainingError
from tfdistribute.history_file import COLUMNS
from tfdistribute.launch.reports.goodput import CAUSES
from tfdistribute.launch.schedulers.registry import SCHEDULERS
from tfdistribute.task_events import UTILIZATION

STATE_FILE = "state.json"
RESULT_FILE = "result.json"
SUBMISSION_FILE = "submission.json"
PROGRESS_FILE = "progress.json"
# The failure of the task of a container.
FAILURE_FILE = "failure.json"

# The end of a supervisor that will be started again.
QUEUED = "queued"
ENDED = ("done", "failed", "stopped", QUEUED)
_STATES = (
    *("starting", "training", "evaluating", "predicting", "restarting", "stopping", *ENDED),
    "refused",
)

# Kinds of values: a type, the whole numbers of a range, the texts of a set, a tuple of alternatives, a list of one
# kind, or an object with the kinds of its fields, where ``...`` stands for any field. A field with "!" must be there.
# Others may be null, as may numbers in a list, and become null if they are missing, except one with "?".
_COUNT = range(2**53)  # Larger ones are not exact in R, whose own whole numbers have 31 bits.
_PID = range(1, 2**31)
_METRICS = {...: (float, [float])}
_LOSSES = dict.fromkeys(COLUMNS, float)
_HANDLE = {
    **dict.fromkeys(("id!", "directory?", "verb", "scheduler", "key", "logs", "model_dir"), str),
    "pid": _PID,
    "max_steps": _COUNT,
}
_FAILURE = {
    **dict.fromkeys(("problem!", "kind", "remedy", "argument", "task", "host"), str),
    **dict.fromkeys(("traceback", "r_traceback", "log_tail"), str),
    "kinds": [str],
    "transient": bool,
    "exit": int,
}
_TASK = {
    **dict.fromkeys(("task!", "state!", "activity!", "host", "log"), str),
    **dict.fromkeys(("port", "step", "log_start"), _COUNT),
    "pid": _PID,
    **dict.fromkeys(("examples_per_second", "seconds_since_step", *UTILIZATION), float),
}
_HISTORY = {
    "training!": {**{name: [float] for name in COLUMNS}, "step": [range(2**31)]},
    "evaluation": [_METRICS],
    "examples_per_second": float,
    "stopped_by": str,
    "workers": [{"first_step": _COUNT, "last_step": _COUNT, "workers": _COUNT, "hosts": str}],
}
_LOSS = {"why!": str, "seconds!": float, "steps!": _COUNT}
_GOODPUT = {
    **dict.fromkeys(("share", "seconds", "rows_per_second"), float),
    "lost": dict.fromkeys(CAUSES, float),
    "restarts": [_LOSS],
    "text": str,
}
_SUMS = {
    **dict.fromkeys(("began!", "since!", "useful_s!", "ended"), float),
    "step!": _COUNT,
    "is_resumed!": bool,
    "cause": str,
    "losses": [_LOSS],
    "lost_s!": dict.fromkeys((f"{each}!" for each in CAUSES), float),
    "points": [{"step!": _COUNT, "useful_s!": float}],
}
_STATE = {
    **_HANDLE,
    "state!": {*_STATES},
    **dict.fromkeys(("message", "host", "network"), str),
    **dict.fromkeys(("started", "ended", "loss", "examples_per_second"), float),
    **dict.fromkeys(("global_step", "checkpoint", "restarts", "steps_lost"), _COUNT),
    "notes": [str],
    "tasks": [_TASK],
    "evaluations": [_METRICS],
    "failure": _FAILURE,
    "goodput": _GOODPUT,
    "history": _HISTORY,
}
_KINDS: dict[str, Any] = {
    STATE_FILE: _STATE,
    RESULT_FILE: _STATE,
    SUBMISSION_FILE: _HANDLE,
    PROGRESS_FILE: {
        **dict.fromkeys(("global_step", "last_step", "checkpoint", "rows_per_step"), _COUNT),
        "sums": _SUMS,
        "losses": {"rows": [_LOSSES]},
        "evaluations": [_METRICS],
        "starts": [list],
    },
    FAILURE_FILE: _FAILURE,
}
_WORDS = {str: "text", bool: "true or false", list: "a list", dict: "an object", float: "a number"}
_LONGEST = 80


def read(directory: str, name: str) -> dict[str, Any] | None:
    """Read a file of a job; None without one, TrainingError if its values do not fit."""
    path = os.path.join(directory, name)
    values = storage.read_object(path)
    if values is None:
        return None
    misfit = _misfit("", values, _KINDS[name]) or _contradiction(name, values)
    if misfit is not None:
        raise TrainingError(
            f'"{files.printable(path)}" is damaged, or another program wrote it: {misfit}.',
            "Find out who changed this file, and remove it.",
        )
    return _printable(values)


def _misfit(name: str, value: Any, kind: Any) -> str | None:
    """Return how a value does not fit, or None. Objects get the fields that they lack, as null or an empty list."""
    if isinstance(kind, tuple):
        misfits = [_misfit(name, value, each) for each in cast("tuple[Any, ...]", kind)]
        return None if None in misfits else misfits[0]
    if isinstance(kind, range):
        is_number = type(value) in (int, float) and kind.start <= value < kind.stop
        fits, words = is_number and value == int(value), "a whole number"
    elif isinstance(kind, set):
        fits, words = isinstance(value, str) and value in kind, "a state of a job"
    elif kind in (int, float):
        # JSON's numbers with and without fraction; true is none.
        fits, words = type(value) in (int, float), "a number"
    else:
        base = kind if isinstance(kind, type) else type(kind)
        fits, words = isinstance(value, base), _WORDS[base]
    if not fits:
        shown = files.printable(repr(value))
        shown = shown if len(shown) < _LONGEST else f"{shown[:_LONGEST]}..."
        return f"`{files.printable(name)}` must be {words}, not {shown}"
    content: Any = value
    parts: list[tuple[str, Any, Any]] = []
    if isinstance(kind, list):
        parts = [
            (f"{name}[{place}]", each, kind[0])
            for place, each in enumerate(content)
            if each is not None or kind[0] is not float
        ]
    elif isinstance(kind, dict):
        parts = _parts(name, content, cast("dict[Any, Any]", kind))
    return next(filter(None, (_misfit(*part) for part in parts)), None)


def _contradiction(name: str, values: dict[str, Any]) -> str | None:
    if name == SUBMISSION_FILE:
        for field in ("scheduler", "key"):
            if not values[field]:
                return f"`{field}` is missing"
    if values.get("scheduler") not in (None, *SCHEDULERS):
        return f"`scheduler` must be one of {', '.join(SCHEDULERS)}, not {values['scheduler']!r}"
    if values.get("state") == "failed" and values["failure"] is None:
        return "`failure` is missing"
    history: dict[str, Any] = values.get("history") or {"training": {}}
    columns: Any = history["training"].values()
    return (
        "`history.training` has unequal columns"
        if len({len(each or ()) for each in columns}) > 1
        else None
    )


def _parts(name: str, values: dict[str, Any], kinds: dict[Any, Any]) -> list[tuple[str, Any, Any]]:
    if ... in kinds:
        known = ((key, each) for key, each in values.items() if each is not None)
        return [(f"{name}.{key}", each, kinds[...]) for key, each in known]
    for key, kind in kinds.items():
        if key[-1:] not in ("?", "!"):
            values.setdefault(key, [] if isinstance(kind, list) else None)
    fields = [(key.rstrip("?!"), kind, key.endswith("!")) for key, kind in kinds.items()]
    return [
        (f"{name}.{key}".removeprefix("."), values.get(key), kind)
        for key, kind, is_required in fields
        if is_required or values.get(key) is not None
    ]


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return files.printable(value)
    if isinstance(value, list):
        return [_printable(each) for each in cast("list[Any]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {files.printable(name): _printable(each) for name, each in items}
    return value
