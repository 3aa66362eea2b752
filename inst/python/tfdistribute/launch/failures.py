"""Why a task or a job failed, as plain values that every reader shows alike. Plain Python."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from tfdistribute import errors
from tfdistribute.errors import TfdistributeError, error_kinds
from tfdistribute.launch.task_view import TaskView

FIELDS = ("kind", "kinds", "problem", "remedy", "argument", "value", "traceback", "r_traceback")

# Shells give the signal that ended a program as an exit code above this.
_SHELL_SIGNAL = 128

_NO_NETWORK = ("resolve host", "name resolution", "Network is unreachable", "No route to host")


def of_task(view: TaskView, log: str) -> dict[str, Any]:
    """Describe why a task ended.

    Args:
        view: What is known of it.
        log: Its log.

    Returns:
        The fields of a failure; those that the task told itself, where it did.
    """
    if view.failed is not None:
        told = {name: view.failed.get(name) for name in FIELDS}
        return {**_described("training", "It failed."), **_without_none(told), **_where(view)}
    number = ended_by_signal(view.exit)
    name = f"{view.task} (pid {view.pid})"
    if number is not None:
        return {
            **_described(
                "training",
                f"{name} was ended by {_signal_name(number)}.",
                "See whether the machine ran out of memory, which ends programs in this way, and its log "
                f"{log}; train again: it goes on from the last checkpoint."
                if number == signal.SIGKILL
                else f"See its log {log}.",
            ),
            **_where(view),
        }
    how = "ended without having done its work" if view.exit == 0 else f"ended with {view.exit}"
    before = "" if view.is_up else ", before it could say that it runs"
    return {
        **_described("training", f"{name} {how}{before}.", f"See its log {log}."),
        **_where(view),
    }


def of_error(error: TfdistributeError, task: str | None = None) -> dict[str, Any]:
    """Describe an error of the tree, which may be of no task."""
    return {
        "task": task,
        "host": "localhost",
        "kind": error.kind,
        "kinds": error_kinds(type(error)),
        "problem": error.problem,
        "remedy": error.remedy,
        "argument": error.argument,
        "value": error.value,
        "traceback": None,
        "r_traceback": None,
        "exit": None,
    }


def as_error(failure: Mapping[str, Any]) -> TfdistributeError:
    """Make the error again that a failure describes.

    Args:
        failure: As the state of a job holds it.

    Returns:
        An error of the kind that the failure names; a TrainingError for a kind that is not known.
    """
    kinds = {each.kind: each for each in vars(errors).values() if _is_error(each)}
    member = kinds.get(str(failure.get("kind")), errors.TrainingError)
    return member(
        str(failure.get("problem")),
        failure.get("remedy"),
        argument=failure.get("argument"),
        value=failure.get("value"),
    )


def is_clash(view: TaskView) -> bool:
    """Whether a task failed because another program listens on its port."""
    return view.failed is not None and view.failed.get("kind") == "port"


def lacks_network(failure: Mapping[str, Any]) -> bool:
    """Whether the words of a failure are those of programs that look for a network where there is none."""
    text = f"{failure.get('problem')} {failure.get('traceback')} {failure.get('log_tail')}"
    return any(words in text for words in _NO_NETWORK)


def ended_by_signal(code: int | None) -> int | None:
    """Say which signal ended a process; None where it ended itself."""
    if code is None or 0 <= code <= _SHELL_SIGNAL:
        return None
    return -code if code < 0 else code - _SHELL_SIGNAL


def _described(kind: str, problem: str, remedy: str | None = None) -> dict[str, Any]:
    kinds = [kind, "error"]
    return {
        **dict.fromkeys(FIELDS),
        "kind": kind,
        "kinds": kinds,
        "problem": problem,
        "remedy": remedy,
    }


def _where(view: TaskView) -> dict[str, Any]:
    return {"task": str(view.task), "host": "localhost", "exit": view.exit}


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, TfdistributeError)
