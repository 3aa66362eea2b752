"""Failures of tasks and jobs as plain values."""

import signal
from collections.abc import Mapping
from typing import Any

from tfdistribute import errors
from tfdistribute.errors import TfdistributeError, TrainingError
from tfdistribute.launch.task_view import TaskView

# Shells add the signal that ended a program to this exit code.
_SHELL_SIGNAL = 128

_NO_NETWORK = ("resolve host", "name resolution", "Network is unreachable", "No route to host")


def task_failure(view: TaskView, log: str) -> dict[str, Any]:
    if view.failed is not None:
        known = {
            name: view.failed[name] for name in errors.FIELDS if view.failed.get(name) is not None
        }
        return {**_failure(view, "It failed."), **known}
    if view.loss is not None:
        problem = f"{view.task} was lost with its host {view.host}: {view.loss}."
        return _failure(
            view,
            problem,
            "Check the host and the network; train again to continue from the last checkpoint.",
        )
    number = signal_of(view.exit)
    name = f"{view.task} (pid {view.pid})"
    if number == signal.SIGKILL:
        return _failure(
            view,
            f"{name} was ended by SIGKILL.",
            f"Check whether the machine ran out of memory, and the log {log}; train again to continue from the last "
            "checkpoint.",
        )
    if number is not None:
        return _failure(view, f"{name} was ended by {_signal_name(number)}.", f"See its log {log}.")
    how = "ended before its work was done" if view.exit == 0 else f"ended with {view.exit}"
    before = "" if view.is_up else ", before it was up"
    return _failure(view, f"{name} {how}{before}.", f"See its log {log}.")


def error_failure(error: TfdistributeError, view: TaskView | None = None) -> dict[str, Any]:
    where = (
        {"task": None, "host": "localhost", "exit": None}
        if view is None
        else {"task": str(view.task), "host": view.host, "exit": view.exit}
    )
    return {**errors.as_values(error), "traceback": None, **where}


def is_port_conflict(view: TaskView) -> bool:
    return view.failed is not None and view.failed.get("kind") == "port"


def lacks_network(failure: Mapping[str, Any]) -> bool:
    text = f"{failure.get('problem')} {failure.get('traceback')} {failure.get('log_tail')}"
    return any(words in text for words in _NO_NETWORK)


def was_refused(failure: Mapping[str, Any]) -> bool:
    """Return whether user code failed to connect. Connections between tasks do not count."""
    return failure.get("kind") == "callback" and "onnection refused" in str(failure.get("problem"))


def signal_of(code: int | None) -> int | None:
    """Return the signal in an exit code; None if the process exited on its own."""
    if code is None or 0 <= code <= _SHELL_SIGNAL:
        return None
    return -code if code < 0 else code - _SHELL_SIGNAL


def _failure(view: TaskView, problem: str, remedy: str | None = None) -> dict[str, Any]:
    return error_failure(TrainingError(problem, remedy), view)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
